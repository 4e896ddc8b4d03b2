// Layouts and coordinates as texts, at run time and at compile time, and their values; swizzles.

#include <gtest/gtest.h>

#include <algorithm>

#include "strata/layout/layout_algebra.h"
#include "strata/layout/layout_static.h"
#include "strata/layout/swizzle.h"
#include "tests/layout/layout_oracle.h"

namespace strata::layout_oracle {
namespace {

TEST(LayoutText, ReadsAndPrints) {
  const auto check = [](std::string_view before, std::string_view after) {
    EXPECT_EQ(render(parse_layout(before)), after);
  };
  check("((2,4),8):((1,16),2)", "((2,4),8):((1,16),2)");
  check("3:1", "3:1");
  check("(3):(1)", "3:1");
  check("((3)):1", "3:1");
  check("((2,4)):((1,8))", "(2,4):(1,8)");
  check(" ( 2 ,\t(3, 4) ) : ( +1 , ( -2 , 0 ) ) ", "(2,(3,4)):(1,(-2,0))");
  check("():()", "():()");
  check("((),(2,())):((),(1,()))", "((),(2,())):((),(1,()))");
  check("1:-9223372036854775808", "1:-9223372036854775808");
}

TEST(LayoutText, ReadsBackWhatItPrints) {
  Random random(21);
  for (int round = 0; round < 3000; ++round) {
    const StaticLayout l = random.layout(500, true);
    ASSERT_EQ(parsed(render(l)), l);
    ASSERT_EQ(parse_layout(render(l)), to_layout(l));
  }
}

TEST(LayoutText, NamesTheColumnAtFault) {
  const auto check = [](std::string_view text, ErrorKind kind, std::size_t column) {
    try {
      parse_layout(text);
      ADD_FAILURE() << text << " was read";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind) << text << ": " << e.what();
      EXPECT_EQ(e.column(), column) << text << ": " << e.what();
    }
  };
  check("", ErrorKind::parse, 1);
  check("3", ErrorKind::parse, 2);
  check("3:", ErrorKind::parse, 3);
  check("3:1x", ErrorKind::parse, 4);
  check("3:1:1", ErrorKind::parse, 4);
  check("(3,4:(1,3)", ErrorKind::parse, 5);
  check("(3,4):(1,3", ErrorKind::parse, 11);
  check("(3,):(1,)", ErrorKind::parse, 4);
  check("(,3):(1,1)", ErrorKind::parse, 2);
  check("3):1", ErrorKind::parse, 2);
  check("n:1", ErrorKind::parse, 1);
  check("3:-", ErrorKind::parse, 4);
  check("(3,4):1", ErrorKind::shape, 7);
  check("(3,4):(1,(2,3))", ErrorKind::shape, 7);
  check("(3,0):(1,1)", ErrorKind::shape, 4);
  check("-3:1", ErrorKind::shape, 1);
  check("2:99999999999999999999", ErrorKind::overflow, 3);
  check("(4294967296,4294967296):(0,0)", ErrorKind::overflow, 0);
  check("3:9223372036854775807", ErrorKind::overflow, 0);
}

TEST(LayoutText, DeepTextsNeedNoStack) {
  const std::string open(100000, '('), close(100000, ')');
  EXPECT_EQ(render(parse_layout(open + "3" + close + ":" + open + "1" + close)), "3:1");
  std::string sizes, strides;
  for (int k = 0; k < 20000; ++k) {
    sizes += "(1,";
    strides += "(0,";
  }
  const std::string tail(20000, ')');
  const Layout deep = parse_layout(sizes + "2" + tail + ":" + strides + "1" + tail);
  EXPECT_EQ(deep.depth(), 20000);
  EXPECT_EQ(coalesce(deep), Layout(2));
  EXPECT_EQ(composition(deep, deep).size(), Int(2));
  EXPECT_EQ(refusal([&] { parse_layout(open); }), "parse");
}

TEST(LayoutValues, FollowTheDefinition) {
  Random random(22);
  for (int round = 0; round < 2000; ++round) {
    const StaticLayout l = random.layout(60, true);
    for (std::int64_t n = -5; n < l.size() + 5; ++n) ASSERT_EQ(l(n), value(l, n)) << render(l) << " at " << n;
    ASSERT_EQ(table(to_layout(l)), values(l)) << render(l);
    const Table all = values(l);
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    ASSERT_EQ(l.cosize(), *most - *least + 1) << render(l);
    for (std::int64_t n = 0; n < l.size() + 5; ++n) {
      const StaticCoordinate c = idx2crd(l, n);
      ASSERT_EQ(c.profile(), l.profile());
      ASSERT_EQ(crd2idx(l, c), l(n)) << render(l) << " at " << render(c);
    }
  }
}

TEST(LayoutValues, Coordinates) {
  const Layout l = parse_layout("((2,4),8):((1,16),2)");
  const auto at = [&](std::string_view text) { return crd2idx(l, parse_coordinate(text)).value(); };
  EXPECT_EQ(at("(1,3)"), 7);
  EXPECT_EQ(at("((1,2),3)"), 39);
  EXPECT_EQ(at("(5,3)"), at("((1,2),3)"));
  EXPECT_EQ(at("29"), at("((1,2),3)"));
  EXPECT_EQ(at("(((1),(2)),3)"), 39);
  EXPECT_EQ(at("(9,0)"), 1 + 4 * 16);  // a mode continues in its last leaf
  EXPECT_EQ(l(coordinate(1, 2), 3), Int(39));
  EXPECT_EQ(l(5, 3), Int(39));
  EXPECT_EQ(render(idx2crd(l, 29)), "((1,2),3)");
  EXPECT_EQ(render(idx2crd(l, 100)), "((0,2),12)");
  EXPECT_EQ(refusal([&] { at("(1,2,3)"); }), "shape");
  EXPECT_EQ(refusal([&] { at("((1,2),(3,4))"); }), "shape");
  EXPECT_EQ(refusal([&] { at("(1,2"); }), "parse");
  EXPECT_EQ(refusal([&] { at("1 2"); }), "parse");
  EXPECT_EQ(refusal([&] { l.mode(2); }), "shape");
  EXPECT_EQ(refusal([&] { table(Layout(100, 1), 99); }), "budget");
}

TEST(LayoutStatic, ReadsTextsWhileCompiling) {
  static_assert(layout<"((2,4),8):((1,16),2)">(1, 3) == 7);
  static_assert(layout<"((2,4),8):((1,16),2)">(29) == 39);
  static_assert(layout<"((2,4),8):((1,16),2)">(static_coordinate(static_coordinate(1, 2), 3)) == 39);
  static_assert(layout<"((2,4),8):((1,16),2)">.size() == 64);
  static_assert(layout<"((2,4),8):((1,16),2)">.cosize() == 64);
  static_assert(layout<"((2,4),8):((1,16),2)">.rank() == 2);
  static_assert(layout<"(3):(1)">.value() == layout<"3:1">.value());
  static_assert(layout<"(1,1,1,1,1,1,1,1,1,2):(0,0,0,0,0,0,0,0,0,5)">(1) == 5);
  static_assert(composition(layout<"(6,2):(8,2)">.value(), layout<"(4,3):(3,1)">) ==
                layout<"((2,2),3):((24,2),8)">.value());
  const auto l = layout<"((2,4),8):((1,16),2)">;
  for (std::int64_t i = 0; i < 8; ++i)
    for (std::int64_t j = 0; j < 8; ++j) EXPECT_EQ(l(i, j), l.value()(i, j));
}

TEST(Swizzle, IsAnInvolutionThatExchangesBits) {
  for (std::int64_t bits = 0; bits <= 3; ++bits)
    for (std::int64_t base = 0; base <= 3; ++base)
      for (std::int64_t shift = -4; shift <= 4; ++shift) {
        if (std::abs(shift) < bits) {
          EXPECT_EQ(refusal([&] { Swizzle(bits, base, shift); }), "undefined");
          continue;
        }
        const Swizzle s(bits, base, shift);
        const Table all = table(s);
        ASSERT_EQ(all.size(), std::size_t{1} << (bits + base + std::abs(shift)));
        const std::int64_t source = base + std::max<std::int64_t>(shift, 0);
        const std::int64_t target = base - std::min<std::int64_t>(shift, 0);
        for (std::int64_t i = 0; i < s.size(); ++i) {
          const std::int64_t to = all[static_cast<std::size_t>(i)];
          ASSERT_EQ(all[static_cast<std::size_t>(to)], i);
          for (std::int64_t k = 0; k < bits; ++k)
            ASSERT_EQ((to >> (target + k)) & 1, ((i >> (target + k)) ^ (i >> (source + k))) & 1);
          ASSERT_EQ((to ^ i) & ~(((std::int64_t{1} << bits) - 1) << target), 0);
        }
      }
  static_assert(Swizzle(3, 4, 3)(0x80) == 0x90);
  EXPECT_EQ(refusal([] { Swizzle(-1, 0, 0); }), "domain");
  EXPECT_EQ(refusal([] { Swizzle(3, 60, 3); }), "overflow");
  EXPECT_EQ(refusal([] { table(Swizzle(3, 40, 3)); }), "budget");
  EXPECT_EQ(refusal([] { Swizzle(1, 0, 1)(-1); }), "domain");
}

}  // namespace
}  // namespace strata::layout_oracle
