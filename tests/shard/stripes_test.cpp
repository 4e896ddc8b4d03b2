// Stripes: intersections, differences and sums of progressions beside the sets that they mean.
#include "strata/shard/stripes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/base/errors.h"
#include "tests/sample.h"
#include "tests/shard/random_sharding.h"

namespace strata::shard_oracle {
namespace {

using Elements = std::set<std::int64_t>;

Stripes random_stripes(Random& random) {
  Stripes out{random.pick(-5, 30), random.pick(1, 9), 0, random.pick(1, 7)};
  out.stride = out.length + (out.count > 1 ? random.pick(1, 12) : 0);
  return out;
}

/// The elements of disjoint Stripes. Fails where an element is there twice, or Stripes break their form.
Elements elements_of(const AxisPart& part) {
  Elements out;
  for (const Stripes& s : part) {
    EXPECT_TRUE(s.length >= 1 && s.count >= 1 && (s.count > 1 ? s.stride > s.length : s.stride == s.length))
        << render(s);
    for (std::int64_t k = 0; k < s.count; ++k)
      for (std::int64_t i = 0; i < s.length; ++i)
        EXPECT_TRUE(out.insert(s.begin + k * s.stride + i).second) << render(s);
  }
  EXPECT_EQ(static_cast<std::int64_t>(out.size()), elements_in(part));
  return out;
}

TEST(Stripes, SetsOfTwo) {
  Random random(1);
  for (int n = 0; n < test::sample(20000); ++n) {
    const Stripes a = random_stripes(random), b = random_stripes(random);
    const Elements of_a = elements_of({a}), of_b = elements_of({b});
    Elements both, without;
    for (const std::int64_t x : of_a) (of_b.contains(x) ? both : without).insert(x);
    const std::string what = render(a) + " and " + render(b);
    EXPECT_EQ(elements_of(*intersection(a, b, 100)), both) << what;
    EXPECT_EQ(elements_of(*difference(a, b, 100)), without) << what;
    const std::int64_t begin = random.pick(-10, 60), end = random.pick(-10, 90);
    Elements inside;
    for (const std::int64_t x : of_a)
      if (begin <= x && x < end) inside.insert(x);
    EXPECT_EQ(elements_of(clipped(a, begin, end)), inside) << render(a) << " from " << begin << " to " << end;
    EXPECT_LE(clipped(a, begin, end).size(), 3U);
    for (std::int64_t x = -10; x < 60; ++x) EXPECT_EQ(contains(a, x), of_a.contains(x)) << render(a) << x;
  }
}

TEST(Stripes, SumsOfProgressions) {
  Random random(2);
  for (int n = 0; n < test::sample(20000); ++n) {
    Progressions sums{random.pick(-20, 20), {}};
    Elements expected = {sums.base};
    for (std::int64_t levels = random.pick(0, 4); levels-- > 0;) {
      const Level l{random.pick(-12, 24), random.pick(1, 4)};
      sums.levels.push_back(l);
      Elements more;
      for (const std::int64_t x : expected)
        for (std::int64_t i = 0; i < l.count; ++i) more.insert(x + i * l.step);
      expected = more;
    }
    const auto part = stripes_of(sums, 300);
    ASSERT_TRUE(part);
    EXPECT_EQ(elements_of(*part), expected);
  }
}

TEST(Stripes, BoxesWithoutOverlap) {
  Random random(3);
  for (int n = 0; n < test::sample(2000); ++n) {
    std::vector<StridedBox> boxes(static_cast<std::size_t>(random.pick(1, 4)));
    const std::int64_t rank = random.pick(0, 2);
    for (StridedBox& box : boxes)
      for (std::int64_t j = 0; j < rank; ++j) {
        Stripes s = random_stripes(random);
        s.begin += 5;
        box.push_back(s);
      }
    const Index shape(static_cast<std::size_t>(rank), 200);
    std::vector<std::int64_t> all = listed(boxes, shape), apart = listed(*disjoint(boxes, 1000), shape);
    const Elements expected(all.begin(), all.end());
    EXPECT_EQ(Elements(apart.begin(), apart.end()), expected);
    EXPECT_EQ(apart.size(), expected.size());
  }
}

TEST(Stripes, LargeNumbers) {
  Random random(10);
  for (int n = 0; n < test::sample(5000); ++n) {
    const auto large = [&] {
      Stripes out{random.pick(-kPosInf / 4, kPosInf / 4), std::int64_t{1} << random.pick(0, 40), 0,
                  random.pick(1, 1000)};
      out.length += random.pick(0, out.length);
      out.stride = out.length + (out.count > 1 ? random.pick(1, std::int64_t{1} << random.pick(1, 45)) : 0);
      return out;
    };
    const Stripes a = large();
    Stripes b = large();
    b.begin = a.begin + random.pick(-b.stride * b.count, a.stride * a.count);
    const auto both = intersection(a, b, 5000), without = difference(a, b, 5000);
    ASSERT_TRUE(both && without) << render(a) << " and " << render(b);
    EXPECT_EQ(elements_in(*both) + elements_in(*without), a.size()) << render(a) << " and " << render(b);
    const auto in = [](const AxisPart& part, std::int64_t x) {
      return std::count_if(part.begin(), part.end(), [&](const Stripes& s) { return contains(s, x); });
    };
    for (int k = 0; k < 20; ++k) {
      const std::int64_t x = a.begin + random.pick(0, a.count - 1) * a.stride + random.pick(0, a.length - 1);
      EXPECT_EQ(in(*both, x), contains(b, x) ? 1 : 0) << render(a) << " and " << render(b) << " at " << x;
      EXPECT_EQ(in(*without, x), contains(b, x) ? 0 : 1) << render(a) << " and " << render(b) << " at " << x;
    }
  }
}

TEST(Stripes, LargePeriodsTakeFewSteps) {
  const std::int64_t n = 1'000'000'000'000;
  const Stripes a{3, 16, 16 * 1024, n / 16 / 1024}, b{7 * 17, 17, 17 * 1024, n / 17 / 1024};
  EXPECT_EQ(intersection(a, b, 4096)->size(), 0U);  // remainders modulo 1024 that are apart
  const Stripes c{119, 17, 17 * 1024, n / 17 / 1024};
  EXPECT_EQ(intersection({112, 16, 16 * 1024, n / 16 / 1024}, c, 4096)->size(), 1U);
  // Blocks of a million elements without a common factor: beyond the limit.
  EXPECT_FALSE(intersection({0, 1000003, 4000012, 200000}, {0, 999983, 3999932, 200000}, 4096));
  EXPECT_EQ(intersection({kPosInf - 100, 10, 20, 5}, {kPosInf - 95, 10, 20, 4}, 10)->size(), 1U);
}

TEST(Stripes, Text) {
  EXPECT_EQ(render(interval(2, 6)), "2:6");
  EXPECT_EQ(render(StridedBox{{2, 4, 16, 3}, interval(0, 5)}), "[2:6/16*3, 0:5]");
  EXPECT_EQ(render(StridedBox{}), "[]");
  EXPECT_TRUE(
      has(error_of(ErrorKind::overflow, [] { volume(StridedBox{interval(0, kPosInf), interval(0, 2)}, "count"); }),
          "[count] a box has more indices"));
}

}  // namespace
}  // namespace strata::shard_oracle
