// Index expressions compiled for the piecewise engine: at every point of the box, value and pieces against evaluation.
#include "strata/loops/expr_pieces.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "strata/expr/parse.h"
#include "tests/expr/random_expr.h"
#include "tests/view/view_oracle.h"

namespace strata {
namespace {

constexpr std::uint64_t kBudget = std::uint64_t{1} << 22;

Index extents(const std::vector<Variable>& counters) {
  Index out;
  for (const Variable& v : counters) out.push_back(v.max() - v.min() + 1);
  return out;
}

Values values_at(const std::vector<Variable>& counters, const Index& at) {
  Values out;
  for (std::size_t j = 0; j < counters.size(); ++j) out.emplace_back(counters[j], at[j]);
  return out;
}

/// Calls f(point) for every point of the counters' box.
template <class F>
void each_point(const std::vector<Variable>& counters, F&& f) {
  const Index extent = extents(counters);
  Index i(counters.size(), 0);
  do {
    Index at = i;
    for (std::size_t j = 0; j < at.size(); ++j) at[j] += counters[j].min();
    f(static_cast<const Index&>(at));
  } while (oracle::advance(i, extent));
}

/// What the pieces say at every point; fails where two pieces hold one point.
std::map<std::vector<std::int64_t>, std::int64_t> spread(const Piecewise& f) {
  std::map<std::vector<std::int64_t>, std::int64_t> out;
  Pieces pieces(f, kBudget);
  Piece p;
  while (pieces.next(p)) {
    Index i(p.lo.size(), 0);
    do {
      std::vector<std::int64_t> at;
      std::int64_t value = p.base;
      for (std::size_t j = 0; j < i.size(); ++j) {
        at.push_back(p.lo[j] + i[j]);
        value += p.slope[j] * i[j];
      }
      EXPECT_TRUE(out.emplace(at, value).second) << "two pieces hold one point";
    } while (oracle::advance(i, p.extent));
  }
  EXPECT_TRUE(pieces.complete());
  return out;
}

std::string why(const Expr& e, const Expr& valid) { return e.render() + " where " + valid.render(); }

/// @return false when it was refused
bool check(const Expr& e, const std::vector<Variable>& counters, const Expr& valid = 1) {
  const ExprPieces compiled = expr_pieces(e, counters, valid);
  EXPECT_EQ(compiled.function.has_value(), compiled.refusal.empty());
  if (!compiled.function) return false;
  const auto pieces = spread(*compiled.function);
  std::optional<std::int64_t> least, largest;
  each_point(counters, [&](const Index& at) {
    const Values values = values_at(counters, at);
    const bool holds = evaluate(valid, values) != 0;
    const std::optional<std::int64_t> expected = holds ? std::optional(evaluate(e, values)) : std::nullopt;
    EXPECT_EQ(value_at(*compiled.function, at), expected) << why(e, valid);
    const auto piece = pieces.find({at.begin(), at.end()});
    EXPECT_EQ(piece == pieces.end() ? std::nullopt : std::optional(piece->second), expected) << why(e, valid);
    if (!expected) return;
    least = least ? std::min(*least, *expected) : *expected;
    largest = largest ? std::max(*largest, *expected) : *expected;
  });
  const RangeResult r = range(*compiled.function, kBudget);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.range.has_value(), least.has_value()) << why(e, valid);
  if (!r.range || !least) return true;
  EXPECT_EQ(r.range->min, *least) << why(e, valid);
  EXPECT_EQ(r.range->max, *largest) << why(e, valid);
  EXPECT_EQ(evaluate(e, values_at(counters, r.range->at_min)), *least);
  EXPECT_EQ(evaluate(e, values_at(counters, r.range->at_max)), *largest);
  return true;
}

TEST(ExprPieces, EveryOperation) {
  const std::vector<Variable> counters{{"i", -5, 11}, {"j", 0, 8}};
  for (const char* text : {"0",
                           "7",
                           "i",
                           "j",
                           "-i",
                           "3*i - 2*j + 5",
                           "i // 3",
                           "i % 3",
                           "(2*i + j) // 5 + (2*i + j) % 5",
                           "-i // 4 * 7",
                           "i * j",
                           "i * i",
                           "(i // 2) * (j % 3)",
                           "i * j * (i + 1)",
                           "min(i, j)",
                           "max(i, j)",
                           "min(i, j, 3, i*2 - j)",
                           "max(-i, j // 2, 1)",
                           "i < j",
                           "i <= 3",
                           "i == j",
                           "i != 2*j",
                           "i < 3 and j > 2",
                           "i < 3 or j > 2 or i == j",
                           "not (i < 3 and j > i)",
                           "select(i < j, i, 3*j)",
                           "select(i, j, -j)",
                           "select(i % 2 == 0, i // 2, 100 - j)",
                           "min(i, j) // 2 + max(i, j) % 3",
                           "(i < j) * (j < 5) * i",
                           "j // 9",
                           "i % 100"}) {
    EXPECT_TRUE(check(parse(text, counters), counters)) << text;
  }
}

TEST(ExprPieces, Conditions) {
  const std::vector<Variable> counters{{"i", -5, 11}, {"j", 0, 8}};
  const Expr e = parse("i // 2 + 10 * j", counters);
  for (const char* valid : {"1", "0", "i < 3", "i == 4", "i != 4", "i", "i % 3", "i < 3 and j > 2 and i + j != 4",
                            "i < -2 or j > 6", "not (i < j)", "2*i + 3*j == 12", "i > 100"})
    EXPECT_TRUE(check(e, counters, parse(valid, counters))) << valid;
}

TEST(ExprPieces, NoCountersAndCountersOfOneValue) {
  EXPECT_TRUE(check(Expr(5), {}));
  EXPECT_TRUE(check(Expr(5), {}, 0));
  const std::vector<Variable> counters{{"i", 3, 3}, {"j", -2, -2}, {"k", 0, 4}};
  EXPECT_TRUE(check(parse("(i * j + k) // 2 * i", counters), counters));
}

TEST(ExprPieces, RandomExpressions) {
  oracle::RandomOptions options;
  options.most_variables = 3;
  options.range = 9;
  options.divisor = 20;
  options.depth = 5;
  options.symbolic_divisors = false;
  int compiled = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const oracle::Case c = oracle::random_case(seed, options);
    const std::vector<Variable> counters = oracle::make_variables(c);
    std::int64_t points = 1;
    for (const Variable& v : counters) points *= v.max() - v.min() + 1;
    if (points > 1000) continue;
    const oracle::Case v = oracle::random_case(seed + 1000000, options);
    const Expr e = oracle::build(c.tree, counters);
    const Expr condition = seed % 3 == 0 && v.variables.size() <= counters.size() ? oracle::build(v.tree, counters) : 1;
    ++(check(e, counters, condition) ? compiled : refused);
    if (HasFailure()) FAIL() << "seed " << seed << ": " << why(e, condition);
  }
  EXPECT_GT(compiled, 1500);
  EXPECT_EQ(refused, 0);
}

TEST(ExprPieces, AddressesOfStacks) {
  oracle::RandomStack random(7, {3, 3, 5, 40, true, true});
  for (int round = 0; round < 1500; ++round) {
    const oracle::Stack stack = random();
    const Index& shape = stack.back().shape;
    if (oracle::elements(shape) == 0) continue;
    const std::vector<Variable> counters{{"i", 0, random.number(0, 9)}, {"j", -3, random.number(-3, 3)}};
    std::vector<Expr> indices;
    for (const std::int64_t n : shape) {
      const Expr mixed = random.number(-3, 3) * counters[0] + random.number(-3, 3) * counters[1] + random.number(0, 9);
      indices.push_back(random.one_in(2) ? mixed % n : mixed / random.number(1, 5) % n);
    }
    const ExprPieces compiled = expr_pieces(indices, stack, counters);
    ASSERT_TRUE(compiled.function) << compiled.refusal;
    const auto pieces = spread(*compiled.function);
    each_point(counters, [&](const Index& at) {
      Index i;
      for (const Expr& e : indices) i.push_back(evaluate(e, values_at(counters, at)));
      const std::optional<std::int64_t> expected = oracle::address_of(stack, i);
      EXPECT_EQ(value_at(*compiled.function, at), expected) << oracle::to_string(stack);
      const auto piece = pieces.find({at.begin(), at.end()});
      EXPECT_EQ(piece == pieces.end() ? std::nullopt : std::optional(piece->second), expected)
          << oracle::to_string(stack);
    });
    if (HasFailure()) FAIL() << "round " << round;
  }
}

// A transposed walk of a large matrix is one piece; a floor by 64 along one axis is 64.
TEST(ExprPieces, FewPiecesOfLargeBoxes) {
  const std::vector<Variable> counters{{"i", 0, 4095}, {"j", 0, 4095}};
  const Strided matrix = contiguous_box({4096, 4096});
  const auto count = [&](const char* row, const char* column) {
    const std::vector<Expr> indices{parse(row, counters), parse(column, counters)};
    const ExprPieces compiled = expr_pieces(indices, {&matrix, 1}, counters);
    Pieces pieces(*compiled.function, kBudget);
    int n = 0;
    for (Piece p; pieces.next(p);) ++n;
    EXPECT_TRUE(pieces.complete());
    return n;
  };
  EXPECT_EQ(count("j", "i"), 1);
  EXPECT_EQ(count("i", "j // 64"), 64);
  EXPECT_EQ(count("(i * 4096 + j) // 4096", "(i * 4096 + j) % 4096"), 1);
  EXPECT_EQ(count("min(i, 100)", "j"), 2);
}

std::string refusal(const Expr& e, const std::vector<Variable>& counters) {
  const ExprPieces out = expr_pieces(e, counters);
  EXPECT_FALSE(out.function);
  return out.refusal;
}

TEST(ExprPieces, RefusesWithAReason) {
  const Variable i("i", 0, 9), n("n", 1, 9), wide("w", INT64_MIN, INT64_MAX);
  EXPECT_EQ(refusal(i / n, {i, n}), "the divisor n of (i//n) is not a number");
  EXPECT_EQ(refusal(3 + i % n, {i, n}), "the divisor n of (i%n) is not a number");
  EXPECT_EQ(refusal(i + n, {i}), "the variable n is not a counter");
  EXPECT_EQ(refusal(wide, {wide}), "the range of w leaves 64 bits");
  const Variable j("j", -3, 3), k("k", -3, 3);
  constexpr std::int64_t large = std::int64_t{1} << 61;
  EXPECT_EQ(refusal(min(large * j, large * k + 1), {j, k}),
            "the two sides of a comparison are too far apart for 64 bits");
  const Variable many("m", 0, 1000000);
  Expr total = 0;
  for (int d = 0; d < 3000; ++d) total += (many + d) / (d + 11);
  EXPECT_EQ(refusal(total, {many}), "it has more than 2048 operations");
}

TEST(ExprPieces, Mistakes) {
  const Variable i("i", 0, 9);
  const std::vector<Variable> twice{i, i};
  EXPECT_THROW(expr_pieces(i, twice), Error);
  const Strided matrix = contiguous_box({3, 4});
  const std::vector<Expr> one{i};
  const std::vector<Variable> counters{i};
  try {
    expr_pieces(one, {&matrix, 1}, counters);
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::shape);
    EXPECT_STREQ(error.what(), "[pieces] 1 indices for a view of 2 dimensions");
  }
  const Variable a("a", 0, INT64_MAX - 1), b("b", 0, 9);
  const std::vector<Variable> many{a, b};
  EXPECT_THROW(expr_pieces(a, many), Error);
}

// Values at the ends of 64 bits: exact or an Error, never another value.
TEST(ExprPieces, LargeValues) {
  constexpr std::int64_t large = std::int64_t{1} << 61;
  const std::vector<Variable> counters{{"i", 0, 3}, {"j", -2, 2}};
  for (const char* text :
       {"L*i", "L*i // 3 + j", "(L*i + 5) % 7", "min(L*i, L - j)", "max(L*j, 3*i)", "L*i < L*j + 1"}) {
    std::string with = text;
    for (std::size_t at = 0; (at = with.find('L')) != std::string::npos;) with.replace(at, 1, std::to_string(large));
    const Expr e = parse(with, counters);
    const RangeResult r = range(*expr_pieces(e, counters).function, kBudget);
    std::int64_t least = INT64_MAX, largest = INT64_MIN;
    each_point(counters, [&](const Index& at) {
      least = std::min(least, evaluate(e, values_at(counters, at)));
      largest = std::max(largest, evaluate(e, values_at(counters, at)));
    });
    EXPECT_EQ(r.range->min, least) << text;
    EXPECT_EQ(r.range->max, largest) << text;
  }
  const std::vector<Variable> five{{"i", 0, 5}};
  EXPECT_THROW(range(*expr_pieces(large * five[0], five).function, kBudget), Error);
}

TEST(ExprPieces, BudgetIsToldApart) {
  const std::vector<Variable> counters{{"i", 0, 4095}, {"j", 0, 4095}};
  const ExprPieces product = expr_pieces(counters[0] * counters[1], counters);
  ASSERT_TRUE(product.function);
  EXPECT_FALSE(range(*product.function, 1000).complete);
}

}  // namespace
}  // namespace strata
