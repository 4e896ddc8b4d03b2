// Affine primitives: run time, compile time, and filling tables, each against the direct evaluation of the text.
#include "strata/affine/affine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "strata/affine/affine_axes.h"
#include "strata/affine/affine_static.h"
#include "strata/base/check.h"
#include "strata/expr/parse.h"
#include "tests/base/errors.h"
#include "tests/sample.h"

namespace strata {
namespace {

using Bindings = std::vector<std::pair<std::string, std::int64_t>>;

std::int64_t value_of(std::string_view text, const Bindings& at = {}) {
  AffinePrimitives ap;
  const Affine f = ap.create(text);
  for (const auto& [name, value] : at) ap[name] = value;
  return f();
}

// --- compile time ---

static_assert(affine<"i * 128 + 64">(3) == 448);
static_assert(affine<"a + b * c * d">(2, 3, 5, 7) == 107);
static_assert(affine<"a + b % c">(10, 7, 4) == 13);
static_assert(affine<"(0 - 7) % 3">() == 2 && affine<"-x / 2">(7) == -4 && affine<"x % -3">(7) == -2);
static_assert(affine<"i / 2 * 2">(127) == 126 && affine<"2 * -3">() == -6 && affine<"min(a, 1)">(5) == 1);
static_assert(affine<"ceildiv(a, 3) + max(a, 9, 2)">(7) == 12);
static_assert(affine<"select(i == 0, 0, 6 / i)">(0) == 0 && affine<"select(i == 0, 0, 6 / i)">(2) == 3);
static_assert(affine<"i == 0 || 6 / i == 2">(0) == 1 && affine<"a if a < b else b">(4, 3) == 3);
static_assert(affine<"-9223372036854775808">() == INT64_MIN);
static_assert(affine<"b - a">(1, 5) == -4 && affine<"b - a + b">.arity() == 2);

namespace over_axes {

const auto [i, j] = axes<"i", "j">;
constexpr auto g = i * 128 + j % 16 * 8 + j / 16;
static_assert(g(i = 3, j = 20) == 417 && g(j = 20, i = 3) == 417);
static_assert((-i + 5)(i = 7) == -2 && (7 - i)(i = 2) == 5 && (!i)(i = 0) == 1);
static_assert((i % 3)(i = -7) == 2 && (i / 2)(i = -7) == -4 && ceildiv(i, 4)(i = 9) == 3);
static_assert(min(i, j, 2)(i = 4, j = 9) == 2 && max(i, 2)(i = 4) == 4);
static_assert(((i < j && !(i == 3)) || j != 9)(i = 3, j = 9) == 0);
static_assert(select(i <= 0, 0, 6 / i)(i = 0) == 0 && select(i >= 1, j, 6)(i = 1, j = 8) == 8);
static_assert(i(i = 5) == 5 && (i > 4)(i = 5) == 1);

TEST(AffineStatic, RunTimeArgumentsFloorAndWrap) {
  volatile std::int64_t seven = -7, least = INT64_MIN, zero = 0, minus = -1;
  EXPECT_EQ(affine<"i / 4">(std::int64_t{seven}), -2);
  EXPECT_EQ(affine<"i % 4">(std::int64_t{seven}), 1);
  EXPECT_EQ(affine<"ceildiv(i, 4)">(std::int64_t{seven}), -1);
  EXPECT_EQ(affine<"i / 3 * 10 + i % 3">(std::int64_t{seven}), -28);
  EXPECT_EQ(affine<"i / j">(std::int64_t{least}, std::int64_t{minus}), INT64_MIN);
  EXPECT_EQ(affine<"i % j">(std::int64_t{least}, std::int64_t{minus}), 0);
  EXPECT_EQ(affine<"select(i == 0, 5, 1 / i)">(std::int64_t{zero}), 5);
  EXPECT_EQ(error_of([&] { (void)affine<"5 / i">(std::int64_t{zero}); }).kind(), ErrorKind::domain);
  EXPECT_EQ(error_of([&] { (void)(5 % i)(i = std::int64_t{zero}); }).kind(), ErrorKind::domain);
  EXPECT_EQ(error_of([&] { (void)(i / static_cast<std::int64_t>(zero)); }).kind(), ErrorKind::domain);
  EXPECT_EQ((i / j + j % 4)(i = std::int64_t{seven}, j = 2), -2);
}

TEST(AffineStatic, AgreesWithTheText) {
  AffinePrimitives ap;
  const Affine f = ap.create("i / 3 * 10 + j % 5 - min(i, j) * -2");
  for (std::int64_t a = -20; a <= 20; ++a)
    for (std::int64_t b = -20; b <= 20; ++b) {
      ap["i"] = a;
      ap["j"] = b;
      ASSERT_EQ((affine<"i / 3 * 10 + j % 5 - min(i, j) * -2">(a, b)), f());
      ASSERT_EQ((i / 3 * 10 + j % 5 - min(i, j) * -2)(i = a, j = b), f());
    }
}

TEST(AffineStatic, TextAndExpr) {
  EXPECT_EQ(g.text(), "(((i * 128) + ((j % 16) * 8)) + (j / 16))");
  EXPECT_EQ((select(!i, -j, min(i, 2)) && i != 3).text(), "(select((!i), (-j), min(i, 2)) && (i != 3))");
  const Variable vi("i", 0, 9), vj("j", 0, 99);
  const Expr want = vi * 128 + vj % 16 * 8 + vj / 16;
  EXPECT_TRUE(same(g(i = vi, j = vj), want));
  EXPECT_TRUE(same(affine<"i * 128 + j % 16 * 8 + j / 16">(vi, vj), want));
  EXPECT_TRUE(same(g(i = 2, j = vj), 256 + vj % 16 * 8 + vj / 16));
  EXPECT_EQ(value_of(g.text(), {{"i", 3}, {"j", 20}}), 417);
}

TEST(AffineStatic, AxesOfAFunction) {
  const auto [p, q] = axes<"p", "q">;
  constexpr auto h = p * 5 + q;
  static_assert(h(q = 1, p = 2) == 11);
  int stride = 3;
  const auto run_time = p * stride;
  EXPECT_EQ(run_time(p = 4), 12);
}

}  // namespace over_axes

// --- run time ---

TEST(Affine, TheSpecificationsExample) {
  AffinePrimitives ap;
  auto affine = ap.create("i * 128 + 64");

  for (int i = 0; i < 128; ++i) {
    ap["i"] = i;
    EXPECT_EQ(i * 128 + 64, affine());
  }
  EXPECT_TRUE(affine.is_linear());
}

TEST(Affine, ExactValues) {
  EXPECT_EQ(value_of("16777217+0"), 16777217);
  EXPECT_EQ(value_of("4096*4097+1"), 16781313);
  EXPECT_EQ(value_of("a+b*c*d", {{"a", 2}, {"b", 3}, {"c", 5}, {"d", 7}}), 107);
  EXPECT_EQ(value_of("a+b%c", {{"a", 10}, {"b", 7}, {"c", 4}}), 13);
  EXPECT_EQ(value_of("(0-7)%3"), 2);
  EXPECT_EQ(value_of("i/2*2", {{"i", 127}}), 126);
  EXPECT_EQ(value_of("2 * -3"), -6);
  EXPECT_EQ(value_of("min(a,1)", {{"a", 5}}), 1);
  EXPECT_EQ(value_of("-i\t+ 1", {{"i", 4}}), -3);
  EXPECT_EQ(value_of("i", {{"i", 4}}), 4);
  EXPECT_EQ(value_of("i - i", {{"i", 4}}), 0);
  EXPECT_EQ(value_of("3 - 2 * (i - 4 * (j - i)) + j", {{"i", 5}, {"j", 11}}), 52);
  EXPECT_EQ(value_of("i * 9223372036854775807 - i * 9223372036854775806", {{"i", 5}}), 5);
}

TEST(Affine, SumsAreExactWhateverTheirParts) {
  EXPECT_EQ(value_of("a + b - c", {{"a", INT64_MAX}, {"b", INT64_MAX}, {"c", INT64_MAX}}), INT64_MAX);
  EXPECT_EQ(value_of("a * 4 - b * 4", {{"a", INT64_MAX}, {"b", INT64_MAX}}), 0);
  EXPECT_EQ(value_of("a * 4611686018427387904 * 4 * b", {{"a", 0}, {"b", 7}}), 0);
  for (const char* text : {"a + a", "a * 2 + 5", "-b", "a * a", "b / c", "-b + 0 * c", "a * 9223372036854775807 * 3"}) {
    SCOPED_TRACE(text);
    const Error e = error_of([&] { (void)value_of(text, {{"a", INT64_MAX}, {"b", INT64_MIN}, {"c", -1}}); });
    EXPECT_EQ(e.kind(), ErrorKind::overflow) << e.what();
  }
}

TEST(Affine, ErrorsOfATextNameTheColumn) {
  const struct {
    std::string text;
    ErrorKind kind;
    std::size_t column;
  } cases[] = {
      {"", ErrorKind::parse, 1},
      {"1 +", ErrorKind::parse, 4},
      {"(1", ErrorKind::parse, 1},
      {"1 $ 2", ErrorKind::parse, 3},
      {"1 2", ErrorKind::parse, 3},
      {"1.2.3", ErrorKind::parse, 2},
      {"f(x)", ErrorKind::parse, 1},
      {"a % 0", ErrorKind::domain, 3},
      {"a / (3 - 3)", ErrorKind::domain, 3},
      {"1 )", ErrorKind::parse, 3},
      {"i + 99999999999999999999", ErrorKind::overflow, 5},
      {"i + 9223372036854775807 * 2", ErrorKind::overflow, 25},
  };
  for (const auto& c : cases) {
    AffinePrimitives ap;
    const Error e = error_of([&] { (void)ap.create(c.text); });
    EXPECT_EQ(e.kind(), c.kind) << c.text << ": " << e.what();
    EXPECT_EQ(e.column(), c.column) << c.text << ": " << e.what();
    EXPECT_EQ(std::string(e.what()).substr(0, 9), "[affine] ");
  }
}

TEST(Affine, FailuresOfACall) {
  AffinePrimitives ap;
  const Affine f = ap.create("6 / i + j");
  const Error missing = error_of([&] { (void)f(); });
  EXPECT_EQ(missing.kind(), ErrorKind::parse);
  EXPECT_STREQ(missing.what(), "[affine] 'i' has no value; set ap[\"i\"] first");
  ap["i"] = 0;
  EXPECT_NE(std::string(error_of([&] { (void)f(); }).what()).find("'j'"), std::string::npos);
  ap["j"] = 1;
  const Error zero = error_of([&] { (void)f(); });
  EXPECT_EQ(zero.kind(), ErrorKind::domain);
  EXPECT_STREQ(zero.what(), "[affine] 6 / 0: the divisor is 0");
  EXPECT_EQ(zero.column(), 3U);
  ap["i"] = 4;
  EXPECT_EQ(f(), 2);
  EXPECT_EQ(error_of([&] { (void)ap["2x"]; }).kind(), ErrorKind::parse);
  EXPECT_EQ(error_of([&] { (void)ap["and"]; }).kind(), ErrorKind::parse);
  const Affine other = ap.create("k");  // a name that is missing elsewhere does not matter here
  EXPECT_EQ(f(), 2);
  EXPECT_EQ(error_of([&] { (void)other(); }).kind(), ErrorKind::parse);
}

TEST(Affine, BranchesNotTakenDoNotFail) {
  AffinePrimitives ap;
  const Affine f = ap.create("select(i == 0, 7, 6 / i) + (i == 0 || 6 / i > 1) + (i != 0 && 6 / i > 1)");
  ap["i"] = 0;
  EXPECT_EQ(f(), 8);
  ap["i"] = 3;
  EXPECT_EQ(f(), 4);
  const Affine strict = ap.create("(6 / i > 1 && i != 0) + 0 * (1 / i)");
  ap["i"] = 0;
  EXPECT_EQ(error_of([&] { (void)strict(); }).kind(), ErrorKind::domain);
}

TEST(Affine, ReferencesAndFunctionsOutliveTheSet) {
  auto ap = std::make_unique<AffinePrimitives>();
  std::int64_t& first = (*ap)["n0"];
  std::string text = "n0";
  for (int k = 1; k < 100; ++k) text += " + " + std::to_string(k) + " * n" + std::to_string(k);
  const Affine sum = ap->create(text);
  for (int k = 0; k < 100; ++k) (*ap)[detail::message("n", k)] = 1;
  AffinePrimitives moved = std::move(*ap);
  ap.reset();
  first = 50;
  EXPECT_EQ(sum(), 50 + 4950);
  EXPECT_EQ(moved["n0"], 50);
  EXPECT_EQ(sum.names().size(), 100U);
  Affine copy = sum;
  const Affine taken = std::move(copy);
  EXPECT_EQ(copy(), taken());
}

TEST(Affine, DomainsAreCheckedAndCanonical) {
  AffinePrimitives ap;
  const Affine f = ap.create("i * 16 / 16 + j % 8", domain{{"i", 0, 128}, {"j", 0, 8}});
  ASSERT_TRUE(f.expr().has_value());
  EXPECT_TRUE(f.is_linear());
  ap["i"] = 127;
  ap["j"] = 7;
  EXPECT_EQ(f(), 134);
  ap["i"] = 128;
  const Error outside = error_of([&] { (void)f(); });
  EXPECT_EQ(outside.kind(), ErrorKind::domain);
  EXPECT_STREQ(outside.what(), "[affine] i = 128 is outside of its domain [0, 128)");
  ap["i"] = -1;
  EXPECT_EQ(error_of([&] { (void)f(); }).kind(), ErrorKind::domain);

  const Affine part = ap.create("i + 6 / k", domain{{"i", 0, 4}});
  EXPECT_FALSE(part.expr().has_value());
  ap["k"] = 3;
  EXPECT_EQ(error_of([&] { (void)part(); }).kind(), ErrorKind::domain);
  ap["i"] = 3;
  EXPECT_EQ(part(), 5);

  const Error divisor = error_of([&] { (void)ap.create("1 + 6 / i", domain{{"i", 0, 4}}); });
  EXPECT_EQ(divisor.kind(), ErrorKind::domain);
  EXPECT_EQ(divisor.column(), 7U);
  const Error unknown = error_of([&] { (void)ap.compile("i + zz", domain{{"i", 0, 4}}); });
  EXPECT_EQ(unknown.kind(), ErrorKind::parse);
  EXPECT_EQ(unknown.column(), 5U);
  EXPECT_EQ(error_of([&] { (void)domain{{"i", 4, 3}}; }).kind(), ErrorKind::domain);
  EXPECT_EQ(error_of([&] { (void)domain{{"i", 0, 3}, {"i", 0, 3}}; }).kind(), ErrorKind::domain);
  EXPECT_EQ(error_of([&] { (void)domain{{"1", 0, 3}}; }).kind(), ErrorKind::parse);
}

TEST(Affine, LongAndDeepTexts) {
  constexpr int n = 100000;
  std::string sum = "a", deep, names = "x0";
  for (int k = 1; k < n; ++k) {
    sum += k % 2 != 0 ? "+a" : "-2*a";
    deep += "(1+";
    names += "+x" + std::to_string(k);
  }
  deep += "a" + std::string(n - 1, ')');
  std::string nested;
  for (int k = 0; k < 2000; ++k) nested += "min(b, ";
  nested += "a" + std::string(2000, ')');
  EXPECT_EQ(value_of(sum, {{"a", 3}}), 3 * (1 + 50000 - 2 * 49999));
  EXPECT_EQ(value_of(deep, {{"a", 3}}), 3 + n - 1);
  EXPECT_EQ(value_of(nested, {{"a", 9}, {"b", 4}}), 4);
  EXPECT_EQ(value_of(std::string(n, '-') + "a", {{"a", 3}}), 3);
  AffinePrimitives ap;
  const Affine f = ap.create(names);
  for (int k = 0; k < n; ++k) ap[detail::message("x", k)] = k;
  EXPECT_EQ(f(), std::int64_t{n} * (n - 1) / 2);
  std::string rests;
  for (int k = 0; k < 20000; ++k) rests += ")%7+a/3";
  const std::string tower = std::string(20000, '(') + "a" + rests;
  EXPECT_EQ(value_of(tower, {{"a", 10}}),
            compile(tower, std::vector<std::string>{"a"}).evaluate(std::vector<std::int64_t>{10}));
}

// --- random texts: direct evaluation, the function, the canonical function and the table agree ---

class RandomText {
 public:
  explicit RandomText(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }

  std::string make(int depth) {
    if (depth == 0 || below(8) == 0) return below(4) == 0 ? std::to_string(below(20)) : name();
    const auto sub = [&] { return make(depth - 1); };
    switch (below(12)) {
      case 0: return "(" + sub() + " - " + sub() + ")";
      case 1:
      case 2: return "(" + sub() + " * " + std::to_string(below(40) - 10) + ")";
      case 3:
      case 4: return "(" + sub() + " / " + divisor() + ")";
      case 5:
      case 6: return "(" + sub() + " % " + divisor() + ")";
      case 7: return (below(2) == 0 ? "min(" : "max(") + sub() + ", " + sub() + ")";
      case 8: return "select(" + sub() + " < " + sub() + ", " + sub() + ", " + sub() + ")";
      case 9: return "(" + sub() + (below(2) == 0 ? " * " : " == ") + name() + ")";
      default: return "(" + sub() + " + " + sub() + ")";
    }
  }
  std::string name() { return std::string(1, static_cast<char>('a' + below(3))); }
  std::string divisor() {
    static const char* const all[] = {"2", "3", "4", "7", "8", "16", "-3", "-4", "100", "1000003", "5", "1"};
    return all[below(12)];
  }

 private:
  std::mt19937_64 random_;
};

void check_text(const std::string& text, const Domain& box) {
  AffinePrimitives ap;
  const Affine raw = ap.create(text), exact = ap.compile(text, box);
  std::vector<std::string> names;
  std::vector<std::int64_t> at;
  std::vector<std::int64_t*> values;
  for (const DomainAxis& axis : box.axes()) {
    names.push_back(axis.name);
    at.push_back(axis.begin);
    values.push_back(&ap[axis.name]);
  }
  const ExprProgram program = compile(text, names);
  std::vector<std::int64_t> table(static_cast<std::size_t>(box.size()), -12345);
  exact.fill(table);
  for (std::int64_t filled : table) {
    for (std::size_t k = 0; k < names.size(); ++k) *values[k] = at[k];
    const std::int64_t want = program.evaluate(at);
    ASSERT_EQ(raw(), want) << text << " at " << ::testing::PrintToString(at);
    ASSERT_EQ(exact(), want) << text << " at " << ::testing::PrintToString(at) << " as " << exact.expr()->render();
    ASSERT_EQ(filled, want) << text << " at " << ::testing::PrintToString(at) << " as " << exact.expr()->render();
    for (std::size_t k = names.size(); k-- > 0;) {
      if (++at[k] < box.axes()[k].end) break;
      at[k] = box.axes()[k].begin;
    }
  }
}

TEST(AffineRandom, FunctionsAndTablesAgree) {
  constexpr std::uint64_t seed = 20240607;
  RandomText random(seed);
  for (int round = 0; round < test::sample(600) && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    std::vector<DomainAxis> axes;
    std::vector<std::string> names = {"a", "b", "c", "unused"};
    for (std::size_t k = 0; k < names.size(); ++k)
      std::swap(names[k], names[static_cast<std::size_t>(random.below(4))]);
    for (const std::string& name : names) {
      const std::int64_t begin = random.below(3) == 0 ? random.below(60) - 30 : 0;
      axes.push_back({name, begin, begin + 1 + random.below(name == "unused" ? 2 : 9)});
    }
    if (round % 10 == 0) axes.back().end += 2500;
    if (round % 10 == 1) axes[1].end += 700;
    check_text(random.make(4), Domain(axes));
  }
}

// --- tables ---

TEST(AffineFill, RowMajorLastAxisFastest) {
  AffinePrimitives ap;
  std::vector<std::int64_t> out(6);
  ap.compile("i * 10 + j", domain{{"i", 0, 2}, {"j", 1, 4}}).fill(out);
  EXPECT_EQ(out, (std::vector<std::int64_t>{1, 2, 3, 11, 12, 13}));
  ap.compile("j", domain{{"j", 0, 3}, {"i", 0, 2}}).fill(out);
  EXPECT_EQ(out, (std::vector<std::int64_t>{0, 0, 1, 1, 2, 2}));
  std::vector<std::int64_t> one(1);
  ap.compile("6 * 7", {}).fill(one);
  EXPECT_EQ(one[0], 42);
  ap.compile("i / 5", domain{{"i", 3, 3}}).fill({});
}

TEST(AffineFill, LongRowsOfDigits) {
  for (const char* text : {"i / 1000 * 7 + i % 1000", "(i / 3) % 5", "(100000 - i) / 777", "(7 * i + 3) / 1000 % 13",
                           "(i * 5000 + 17) % 4999", "i % 16 * 8 + i / 16 % 4", "(-3 * i) % 100000007", "i * i % 1009",
                           "max(i % 500, 123) / 9", "(i + 9000000000000000000) / 1000003"}) {
    SCOPED_TRACE(text);
    check_text(text, domain{{"i", -3000, 3001}});
    check_text(text, domain{{"b", 0, 2}, {"i", 5, 3001}, {"a", 0, 3}});
  }
}

TEST(AffineFill, SizesAndMissingDomainsAreErrors) {
  AffinePrimitives ap;
  std::vector<std::int64_t> out(5);
  const Affine f = ap.compile("i", domain{{"i", 0, 6}});
  const Error size = error_of([&] { f.fill(out); });
  EXPECT_EQ(size.kind(), ErrorKind::shape);
  EXPECT_STREQ(size.what(), "[fill] the domain has 6 points, the output 5");
  const Affine huge = ap.compile("i", domain{{"i", 0, INT64_MAX}, {"j", 0, INT64_MAX}});
  EXPECT_EQ(error_of([&] { huge.fill(out); }).kind(), ErrorKind::shape);
  EXPECT_EQ(error_of([&] { (void)huge.domain().size(); }).kind(), ErrorKind::overflow);
  EXPECT_EQ(error_of([&] { ap.create("i + k", domain{{"i", 0, 5}}).fill(out); }).kind(), ErrorKind::undefined);
}

TEST(AffineFill, OverflowIsDetected) {
  AffinePrimitives ap;
  std::vector<std::int64_t> out(4);
  const Affine f = ap.compile("i * i", domain{{"i", 3037000498, 3037000502}});
  EXPECT_EQ(error_of([&] { f.fill(out); }).kind(), ErrorKind::overflow);
  constexpr std::int64_t top = INT64_MAX;
  const Affine fits = ap.compile("i * 4 - j * 4", domain{{"i", top - 2, top}, {"j", top - 3, top - 1}});
  fits.fill(out);
  EXPECT_EQ(out, (std::vector<std::int64_t>{4, 0, 8, 4}));
}

}  // namespace
}  // namespace strata
