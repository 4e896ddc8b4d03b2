// Inverses and the nullspace against their contracts, by brute force.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "strata/layout/layout_algebra.h"
#include "tests/layout/layout_oracle.h"

namespace strata::layout_oracle {
namespace {

// The longest right inverse: every sequence of leaves that leads to preimages is tried.
class Longest {
 public:
  explicit Longest(Table f) : f_(std::move(f)) {
    for (std::size_t i = 0; i < f_.size(); ++i) at_[f_[i]].push_back(static_cast<std::int64_t>(i));
    extend({0});
  }
  std::size_t size() const { return best_; }

 private:
  bool maps(std::int64_t index, std::int64_t to) const {
    return index < static_cast<std::int64_t>(f_.size()) && f_[static_cast<std::size_t>(index)] == to;
  }
  void extend(const Table& inverse) {
    best_ = std::max(best_, inverse.size());
    const auto q = static_cast<std::int64_t>(inverse.size());
    const auto preimages = at_.find(q);
    if (preimages == at_.end()) return;
    for (const std::int64_t stride : preimages->second) {
      Table longer = inverse;
      for (std::int64_t k = 1;; ++k) {
        for (std::size_t j = 0; j < inverse.size(); ++j) longer.push_back(inverse[j] + k * stride);
        bool fits = true;
        for (std::int64_t j = k * q; j < (k + 1) * q && fits; ++j) fits = maps(longer[static_cast<std::size_t>(j)], j);
        if (!fits) break;
        extend(longer);
      }
    }
  }

  Table f_;
  std::map<std::int64_t, Table> at_;
  std::size_t best_ = 0;
};

TEST(LayoutInverse, RightInverseIsTheLongest) {
  Random random(11);
  for (int round = 0; round < 8000; ++round) {
    const StaticLayout a = random.layout(24, true), r = right_inverse(a);
    const Table f = values(a), back = values(r);
    for (std::size_t i = 0; i < back.size(); ++i) {
      ASSERT_GE(back[i], 0) << render(a) << " -> " << render(r);
      ASSERT_LT(back[i], a.size()) << render(a) << " -> " << render(r);
      ASSERT_EQ(f[static_cast<std::size_t>(back[i])], static_cast<std::int64_t>(i)) << render(a) << " -> " << render(r);
    }
    ASSERT_EQ(back.size(), Longest(f).size()) << render(a) << " -> " << render(r);
    ASSERT_EQ(r, coalesce(r));
  }
}

TEST(LayoutInverse, RightInverseExamples) {
  EXPECT_EQ(right_inverse(parsed("(4,8):(1,4)")), parsed("32:1"));
  EXPECT_EQ(right_inverse(parsed("(4,8):(8,1)")), parsed("(8,4):(4,1)"));
  EXPECT_EQ(right_inverse(parsed("(2,(4,3)):(4,(1,16))")),
            parsed("(4,2):(2,1)"));  // up to the first hole
  EXPECT_EQ(right_inverse(parsed("4:2")), parsed("1:0"));
  EXPECT_EQ(right_inverse(parsed("(3,4):(0,1)")), parsed("4:3"));
  EXPECT_EQ(right_inverse(parsed("(3,4):(1,1)")).size(),
            6);  // 0, 1, 2 and 3, 4, 5 by way of overlaps
  EXPECT_EQ(right_inverse(parsed("(1048576,1048576):(1048576,1)")), parsed("(1048576,1048576):(1048576,1)"));
  EXPECT_EQ(refusal([] { right_inverse(parsed("(1048576,1048576):(1,1)")); }), "budget");
}

TEST(LayoutInverse, LeftInverseGivesEveryIndexBack) {
  Random random(12);
  int found = 0;
  for (int round = 0; round < 8000; ++round) {
    const StaticLayout a = random.layout(40, true);
    const Table f = values(a);
    const bool injective = std::set<std::int64_t>(f.begin(), f.end()).size() == f.size();
    const auto r = defined([&] { return left_inverse(a); });
    if (!r) continue;
    ++found;
    ASSERT_TRUE(injective);
    for (std::size_t i = 0; i < f.size(); ++i)
      ASSERT_EQ(value(*r, f[i]), static_cast<std::int64_t>(i)) << render(a) << " -> " << render(*r);
    ASSERT_EQ(*r, coalesce(*r));
  }
  EXPECT_GT(found, 2000);
}

// Is there a layout with l(f[i]) == i?  Over every chain of up to two inner moduli, with the
// strides' range given.
bool has_left_inverse(const Table& f, std::int64_t strides) {
  const std::int64_t top = *std::max_element(f.begin(), f.end()) + 1;
  for (std::int64_t first = 1; first <= top; ++first)
    for (std::int64_t second = first; second <= top; second += first)
      for (std::int64_t x = -strides; x <= (first == 1 ? -strides : strides); ++x)
        for (std::int64_t y = -strides; y <= (second == first ? -strides : strides); ++y)
          for (std::int64_t z = -strides; z <= strides; ++z) {
            bool fits = true;
            for (std::size_t i = 0; i < f.size() && fits; ++i)
              fits = f[i] % first * x + f[i] / first % (second / first) * y + f[i] / second * z ==
                     static_cast<std::int64_t>(i);
            if (fits) return true;
          }
  return false;
}

TEST(LayoutInverse, LeftInverseIsRefusedOnlyWhereThereIsNone) {
  int refused = 0;
  for (std::int64_t s0 = 2; s0 <= 4; ++s0)
    for (std::int64_t s1 = 2; s1 <= 3; ++s1)
      for (std::int64_t d0 = 0; d0 <= 5; ++d0)
        for (std::int64_t d1 = 0; d1 <= 5; ++d1) {
          const StaticLayout a = make_layout(StaticLayout(s0, d0), StaticLayout(s1, d1));
          if (defined([&] { return left_inverse(a); })) continue;
          ++refused;
          ASSERT_FALSE(has_left_inverse(values(a), 6)) << render(a);
        }
  EXPECT_GT(refused, 20);
}

TEST(LayoutInverse, LeftInverseExamples) {
  EXPECT_EQ(left_inverse(parsed("(4,8):(8,1)")), parsed("(8,4):(4,1)"));
  EXPECT_EQ(left_inverse(parsed("(4,2):(1,5)")), parsed("(5,2):(1,4)"));  // a hole
  EXPECT_EQ(left_inverse(parsed("4:2")), parsed("(2,4):(0,1)"));
  EXPECT_EQ(left_inverse(parsed("1:0")), parsed("1:0"));
  EXPECT_EQ(left_inverse(parsed("(2,2):(2,3)"))(5), 3);  // strides that do not divide one another
  for (const char* text : {"(2,3):(0,1)", "(3,3):(1,1)", "(2,2):(1,-4)"})
    EXPECT_EQ(refusal([&] { left_inverse(parsed(text)); }), "undefined") << text;
  EXPECT_EQ(refusal([] { left_inverse(parsed("(1048576,1024):(1,1048575)")); }), "budget");
  try {
    left_inverse(parsed("(3,3):(1,1)"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()), "[left_inverse] (3,3):(1,1) has the value 1 at 1 and at 3");
  }
}

TEST(LayoutInverse, NullspaceHoldsTheLeavesOfStrideZero) {
  Random random(13);
  for (int round = 0; round < 5000; ++round) {
    const StaticLayout a = random.layout(60, true), r = nullspace(a);
    std::int64_t size = 1;
    for (const StaticLayout::Leaf& l : a.leaves()) size *= l.stride == 0 ? l.size : 1;
    const Table kernel = values(r);
    ASSERT_EQ(r.size(), size) << render(a);
    ASSERT_EQ(std::set<std::int64_t>(kernel.begin(), kernel.end()).size(), kernel.size());
    for (const std::int64_t i : kernel) ASSERT_EQ(value(a, i), 0) << render(a) << " -> " << render(r);
  }
  EXPECT_EQ(nullspace(parsed("(2,3,(4,5)):(0,1,(0,3))")), parsed("(2,4):(1,6)"));
  EXPECT_EQ(nullspace(parsed("(2,3):(1,2)")), parsed("1:0"));
}

}  // namespace
}  // namespace strata::layout_oracle
