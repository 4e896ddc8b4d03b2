// The layout algebra against its contracts, by brute force over random layouts, and in worked
// examples.

#include "strata/layout/layout_algebra.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "strata/layout/layout_by_mode.h"
#include "tests/layout/layout_oracle.h"

namespace strata::layout_oracle {
namespace {

constexpr int kRounds = 5000;

TEST(LayoutAlgebra, CoalesceKeepsTheFunctionAndIsShort) {
  Random random(1);
  for (int round = 0; round < kRounds; ++round) {
    const StaticLayout l = random.layout(300, true), r = coalesce(l);
    ASSERT_EQ(values(r), values(l)) << render(l) << " -> " << render(r);
    ASSERT_EQ(r.rank(), r.leaves().size());
    for (std::size_t t = 0; t < r.leaves().size() && l.size() > 1; ++t) {
      ASSERT_NE(r.leaves()[t].size, 1) << render(l);
      if (t > 0) {
        ASSERT_NE(r.leaves()[t].stride, r.leaves()[t - 1].size * r.leaves()[t - 1].stride);
      }
    }
  }
}

// A composition exists exactly when the definition says so, and then has B's profile and the right
// values.
TEST(LayoutAlgebra, CompositionIsExact) {
  Random random(2);
  int found = 0, refused = 0;
  for (int round = 0; round < 4 * kRounds; ++round) {
    const StaticLayout a = random.layout(200, true), b = random.layout(100, true);
    const Table wanted = composed(a, b);
    std::vector<std::int64_t> sizes;
    for (const StaticLayout::Leaf& leaf : b.leaves()) sizes.push_back(leaf.size);
    const auto r = defined([&] { return composition(a, b); });
    ASSERT_EQ(r.has_value(), is_refined_layout(wanted, sizes)) << render(a) << " o " << render(b);
    ++(r ? found : refused);
    if (!r) continue;
    ASSERT_EQ(values(*r), wanted) << render(a) << " o " << render(b) << " -> " << render(*r);
    ASSERT_TRUE(refines(*r, b)) << render(a) << " o " << render(b) << " -> " << render(*r);
  }
  EXPECT_GT(found, kRounds);
  EXPECT_GT(refused, kRounds / 4);
}

TEST(LayoutAlgebra, CompositionOnEveryIntegerLayoutOfOneLeaf) {
  for (std::int64_t s0 = 1; s0 <= 4; ++s0)
    for (std::int64_t s1 = 1; s1 <= 4; ++s1)
      for (std::int64_t d0 = -1; d0 <= 4; ++d0)
        for (std::int64_t d1 = -1; d1 <= 4; ++d1)
          for (std::int64_t size = 1; size <= 9; ++size)
            for (std::int64_t stride = -2; stride <= 6; ++stride) {
              const StaticLayout a = make_layout(StaticLayout(s0, d0), StaticLayout(s1, d1));
              const StaticLayout b(size, stride);
              const Table wanted = composed(a, b);
              const auto r = defined([&] { return composition(a, b); });
              ASSERT_EQ(r.has_value(), is_layout(wanted)) << render(a) << " o " << render(b);
              if (r) {
                ASSERT_EQ(values(*r), wanted) << render(a) << " o " << render(b);
              }
            }
}

// B2 of known failures elsewhere: wrong answers, and refusals although there is an answer.
TEST(LayoutAlgebra, CompositionsThatOthersGetWrong) {
  const auto compose = [](std::string_view a, std::string_view b) { return composition(parsed(a), parsed(b)); };
  EXPECT_EQ(refusal([&] { compose("(6,6):(1,12)", "4:5"); }), "undefined");
  EXPECT_EQ(compose("(3,5):(5,1)", "2:5"), parsed("2:11"));
  EXPECT_EQ(refusal([&] { compose("(6,8):(1,12)", "7:2"); }), "undefined");
  EXPECT_EQ(compose("1:5", "4:1"), parsed("4:5"));                  // a size of 1 keeps its stride
  EXPECT_EQ(compose("(4,1):(1,100)", "2:4"), parsed("2:100"));      // beyond A: its last leaf goes on
  EXPECT_EQ(compose("(2,2,2):(0,1,1)", "3:3"), parsed("3:1"));      // carries that cancel
  EXPECT_EQ(compose("8:1", "(2,4):(1,2)"), parsed("(2,4):(1,2)"));  // leaves of B are not merged
  EXPECT_EQ(compose("(6,2):(8,2)", "(4,3):(3,1)"), parsed("((2,2),3):((24,2),8)"));
  EXPECT_EQ(compose("20:2", "(5,4):(4,1)"), parsed("(5,4):(8,2)"));
  EXPECT_EQ(compose("(10,2):(16,4)", "(5,4):(1,5)"), parsed("(5,(2,2)):(16,(80,4))"));
}

TEST(LayoutAlgebra, RefusalsNameTheLeafTheCarryAndAWitness) {
  try {
    composition(parsed("(4,4):(4,1)"), parsed("6:1"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              "[composition] (4,4):(4,1) at every index of leaf 0, 6:1, of 6:1 is not a "
              "layout: the digits carry at 4, which does not divide 6 (witness: the value 1 at step 4)");
  }
  try {
    composition(parsed("(4,4):(4,1)"), parsed("(2,2):(1,3)"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              "[composition] the modes of (2,2):(1,3) carry into one another in (4,4):(4,1): at "
              "(1,1) the value "
              "is 1, but the values of the single coordinates add up to 16");
  }
}

TEST(LayoutAlgebra, ComplementTilesWholePeriods) {
  Random random(3);
  int found = 0;
  for (int round = 0; round < 2 * kRounds; ++round) {
    const StaticLayout a = random.layout(60, true);
    const std::int64_t n = random.pick(1, 80);
    const Table of_a = values(a);
    const std::set<std::int64_t> image(of_a.begin(), of_a.end());
    const auto r = defined([&] { return complement(a, n); });
    if (!r) {
      // leaves without stride 0 that do not overlap, all positive: then a greedy tiling has to fail
      std::int64_t distinct = 1;
      for (const StaticLayout::Leaf& l : a.leaves()) distinct *= l.stride == 0 ? 1 : l.size;
      if (*image.begin() < 0 || distinct != static_cast<std::int64_t>(image.size())) continue;
      std::set<std::int64_t> covered;
      bool tiles = true;
      for (std::int64_t c = 0, copies = 0; copies < 64; ++copies) {
        while (covered.contains(c)) ++c;
        for (const std::int64_t v : image) tiles = covered.insert(c + v).second && tiles;
      }
      ASSERT_FALSE(tiles) << render(a);
      continue;
    }
    ++found;
    const Table c = values(*r);
    std::set<std::int64_t> covered;
    for (const std::int64_t from : c)
      for (const std::int64_t v : image) ASSERT_TRUE(covered.insert(from + v).second) << render(a);
    ASSERT_TRUE(std::is_sorted(c.begin(), c.end()));
    const auto count = static_cast<std::int64_t>(covered.size());
    ASSERT_EQ(*covered.begin(), 0);
    ASSERT_EQ(*covered.rbegin(), count - 1) << render(a) << " " << n << " -> " << render(*r);
    ASSERT_GE(count, n);
    ASSERT_EQ(*r, coalesce(*r));
  }
  EXPECT_GT(found, kRounds / 2);
}

TEST(LayoutAlgebra, ComplementExamples) {
  EXPECT_EQ(complement(parsed("4:1"), 24), parsed("6:4"));
  EXPECT_EQ(complement(parsed("6:4"), 24), parsed("4:1"));
  EXPECT_EQ(complement(parsed("(4,6):(1,4)"), 24), parsed("1:0"));
  EXPECT_EQ(complement(parsed("4:2"), 24), parsed("(2,3):(1,8)"));
  EXPECT_EQ(complement(parsed("(2,4):(1,6)"), 24), parsed("3:2"));
  EXPECT_EQ(complement(parsed("(2,2):(1,6)"), 24), parsed("(3,2):(2,12)"));
  EXPECT_EQ(complement(parsed("4:2"), 1), parsed("2:1"));  // whole periods
  EXPECT_EQ(complement(parsed("(2,3):(0,1)"), 7), parsed("3:3"));
  EXPECT_EQ(complement(StaticLayout(2, std::int64_t{1} << 62), 3), StaticLayout(std::int64_t{1} << 62));
  EXPECT_EQ(refusal([] { complement(parsed("(3,5):(5,1)"), 0); }), "shape");
  EXPECT_EQ(refusal([] { complement(parsed("(2,2):(1,1)"), 8); }), "undefined");
  EXPECT_EQ(refusal([] { complement(parsed("(2,2):(1,3)"), 8); }), "undefined");
  EXPECT_EQ(refusal([] { complement(parsed("2:-1"), 8); }), "undefined");
}

// A o (B, complement(B, |A|)), and the regroupings of its modes.
TEST(LayoutAlgebra, DivisionsFollowTheirDefinition) {
  Random random(4);
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    const StaticLayout a = random.layout(120, true), b = random.layout(30, false);
    const auto both = defined([&] { return make_layout(b, complement(b, a.size())); });
    const auto r = defined([&] { return logical_divide(a, b); });
    if (!both) {
      ASSERT_FALSE(r.has_value());
      continue;
    }
    const Table wanted = composed(a, *both);
    std::vector<std::int64_t> sizes;
    for (const StaticLayout::Leaf& leaf : both->leaves()) sizes.push_back(leaf.size);
    ASSERT_EQ(r.has_value(), is_refined_layout(wanted, sizes)) << render(a) << " / " << render(b);
    if (!r) continue;
    ++found;
    ASSERT_TRUE(refines(*r, *both)) << render(a) << " / " << render(b) << " -> " << render(*r);
    for (const StaticLayout& each : {*r, zipped_divide(a, b), tiled_divide(a, b), flat_divide(a, b)})
      ASSERT_EQ(values(each), wanted) << render(a) << " / " << render(b) << " -> " << render(each);
    const StaticLayout tiled = tiled_divide(a, b), flat = flat_divide(a, b);
    ASSERT_EQ(zipped_divide(a, b), *r);
    ASSERT_EQ(tiled.mode(0), r->mode(0));
    ASSERT_EQ(tiled.rank(), 1 + r->mode(1).rank());
    ASSERT_EQ(flat.rank(), r->mode(0).rank() + r->mode(1).rank());
  }
  EXPECT_GT(found, kRounds / 4);
}

// (A, complement(A, |A| * cosize(B)) o B), and the regroupings of its modes.
TEST(LayoutAlgebra, ProductsFollowTheirDefinition) {
  Random random(5);
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    const StaticLayout a = random.layout(30, false), b = random.layout(30, true);
    const auto rest = defined([&] { return complement(a, a.size() * b.cosize()); });
    const auto copies = rest ? defined([&] { return composition(*rest, b); }) : std::nullopt;
    const auto r = defined([&] { return logical_product(a, b); });
    ASSERT_EQ(r.has_value(), copies.has_value()) << render(a) << " x " << render(b);
    if (!r) continue;
    ++found;
    ASSERT_EQ(*r, make_layout(a, *copies));
    ASSERT_EQ(zipped_product(a, b), *r);
    for (const StaticLayout& each : {tiled_product(a, b), flat_product(a, b)})
      ASSERT_EQ(values(each), values(*r)) << render(a) << " x " << render(b);
    // blocked and raked hold the same elements, at coordinates ((a0, p0), (a1, p1), ...)
    const StaticLayout blocked = blocked_product(a, b), raked = raked_product(a, b);
    ASSERT_EQ(blocked.rank(), std::max<std::size_t>({a.rank(), b.rank(), 2}));
    for (std::size_t k = 0;
         k < std::max(a.rank(), b.rank()) && blocked.mode(k).rank() == 2 && std::max(a.rank(), b.rank()) > 1; ++k) {
      const StaticLayout one(1, 0);
      ASSERT_EQ(blocked.mode(k).mode(0), k < a.rank() ? a.mode(k) : one);
      ASSERT_EQ(raked.mode(k).mode(1), blocked.mode(k).mode(0));
      ASSERT_EQ(raked.mode(k).mode(0), blocked.mode(k).mode(1));
    }
    Table all = values(*r), in_blocks = values(blocked), in_rakes = values(raked);
    for (Table* each : {&all, &in_blocks, &in_rakes}) std::sort(each->begin(), each->end());
    ASSERT_EQ(in_blocks, all) << render(a) << " x " << render(b) << " -> " << render(blocked);
    ASSERT_EQ(in_rakes, all) << render(a) << " x " << render(b) << " -> " << render(raked);
  }
  EXPECT_GT(found, kRounds / 4);
}

TEST(LayoutAlgebra, DivisionAndProductExamples) {
  EXPECT_EQ(logical_divide(parsed("(4,2,3):(2,1,8)"), parsed("4:2")), parsed("((2,2),(2,3)):((4,1),(2,8))"));
  EXPECT_EQ(tiled_divide(parsed("(4,2,3):(2,1,8)"), parsed("4:2")), parsed("((2,2),2,3):((4,1),2,8)"));
  EXPECT_EQ(flat_divide(parsed("(4,2,3):(2,1,8)"), parsed("4:2")), parsed("(2,2,2,3):(4,1,2,8)"));
  EXPECT_EQ(logical_divide(parsed("6:1"), 4), parsed("(4,2):(1,4)"));  // beyond A
  EXPECT_EQ(logical_product(parsed("(2,2):(4,1)"), parsed("6:1")), parsed("((2,2),(2,3)):((4,1),(2,8))"));
  EXPECT_EQ(blocked_product(parsed("(2,5):(5,1)"), parsed("(3,4):(1,3)")), parsed("((2,3),(5,4)):((5,10),(1,30))"));
  EXPECT_EQ(raked_product(parsed("(2,5):(5,1)"), parsed("(3,4):(1,3)")), parsed("((3,2),(4,5)):((10,5),(30,1))"));
  EXPECT_EQ(blocked_product(parsed("4:1"), parsed("(2,3):(1,2)")), parsed("((4,2),(1,3)):((1,4),(0,8))"));
}

TEST(LayoutAlgebra, ModeByMode) {
  const Layout a = parse_layout("(9,(4,8)):(59,(13,1))");
  const Tiler tiler = {parse_layout("3:3"), parse_layout("(2,4):(1,8)")};
  EXPECT_EQ(render(logical_divide(a, tiler)), "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))");
  EXPECT_EQ(render(zipped_divide(a, tiler)), "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))");
  EXPECT_EQ(render(tiled_divide(a, tiler)), "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))");
  EXPECT_EQ(render(flat_divide(a, tiler)), "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))");
  const Layout c = parse_layout("(12,(4,8)):(59,(13,1))");
  EXPECT_EQ(render(composition(c, Tiler{parse_layout("3:4"), parse_layout("8:2")})), "(3,(2,4)):(236,(26,1))");
  EXPECT_EQ(render(logical_divide(c, Tiler{parse_layout("3:4")})), "((3,4),(4,8)):((236,59),(13,1))");
  EXPECT_EQ(refusal([&] { composition(c, Tiler(3, Layout(1))); }), "shape");
}

TEST(LayoutAlgebra, LargeLayoutsNeedNoTable) {
  const std::int64_t big = std::int64_t{1} << 40;
  const StaticLayout row_major = parsed("(1048576,1048576):(1048576,1)");
  EXPECT_EQ(composition(row_major, StaticLayout(big, 1)), parsed("(1048576,1048576):(1048576,1)"));
  EXPECT_EQ(refusal([&] { composition(row_major, StaticLayout(big - 1, 1)); }), "undefined");
  EXPECT_EQ(composition(StaticLayout(1, std::int64_t{1} << 61), StaticLayout(4, 1)).mode(0).leaves()[0].stride,
            std::int64_t{1} << 61);
  EXPECT_EQ(refusal([] { composition(StaticLayout(1, std::int64_t{1} << 62), StaticLayout(4, 1)); }), "overflow");
  // stepping by an odd number through halves ends in the budget, not in an hour
  const std::string kind = refusal(
      [] { composition(parsed("(3,1000003,1000033):(1,1,3000009)"), parsed("(1000000,1000000):(7,5)"), 1000); });
  EXPECT_TRUE(kind == "budget" || kind == "undefined") << kind;
}

// The same algebra inside the compiler.
TEST(LayoutAlgebra, ConstantExpressions) {
  constexpr auto kFits = [] {
    const StaticLayout a = make_layout(StaticLayout(6, 8), StaticLayout(2, 2));
    const StaticLayout b = make_layout(StaticLayout(4, 3), StaticLayout(3, 1));
    const StaticLayout r = composition(a, b);
    for (std::int64_t i = 0; i < b.size(); ++i)
      if (r(i) != a(b(i))) return false;
    return r.rank() == 2 && r.mode(0) == make_layout(StaticLayout(2, 24), StaticLayout(2, 2)) &&
           complement(StaticLayout(4, 2), 24) == make_layout(StaticLayout(2, 1), StaticLayout(3, 8)) &&
           logical_divide(StaticLayout(6), 4) == make_layout(StaticLayout(4, 1), StaticLayout(2, 4)) &&
           right_inverse(make_layout(StaticLayout(2, 4), StaticLayout(4, 1))).size() == 8 &&
           left_inverse(make_layout(StaticLayout(2, 2), StaticLayout(2, 3)))(5) == 3 &&
           blocked_product(StaticLayout(2), StaticLayout(3)).cosize() == 6;
  };
  static_assert(kFits());
}

}  // namespace
}  // namespace strata::layout_oracle
