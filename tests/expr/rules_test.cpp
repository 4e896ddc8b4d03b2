// Every row of the rule table, checked exhaustively on a box of integers by direct evaluation.
#include "strata/expr/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "strata/expr/parse.h"
#include "tests/expr/rule_rows.h"

namespace strata::oracle {
namespace {

struct Range {
  std::int64_t min, max;
  std::int64_t size() const { return max - min + 1; }
};

constexpr std::int64_t kMostPoints = 300000;

/// The widest ranges whose product stays below kMostPoints. Narrow ones still reach every residue class of the
/// narrow constants.
std::vector<Range> box_of(const ParsedRule& rule) {
  std::vector<Range> box;
  for (int level = 0; level < 5; ++level) {
    constexpr std::int64_t kInteger[] = {13, 9, 6, 4, 3}, kConstant[] = {5, 4, 4, 3, 2}, kPositive[] = {6, 4, 4, 3, 3};
    box.clear();
    std::int64_t points = 1;
    for (const std::string& letter : rule.letters) {
      Range range{0, 1};
      switch (kind_of_letter(letter)) {
        case LetterKind::integer: range = {-kInteger[level], kInteger[level]}; break;
        case LetterKind::constant: range = {-kConstant[level], kConstant[level]}; break;
        case LetterKind::positive:
        case LetterKind::positive_constant: range = {1, kPositive[level]}; break;
        default: break;
      }
      box.push_back(range);
      points *= range.size();
    }
    if (points <= kMostPoints) break;
  }
  return box;
}

std::vector<std::vector<std::int64_t>> points_of(const std::vector<Range>& box, std::size_t& count) {
  count = 1;
  for (const Range& r : box) count *= static_cast<std::size_t>(r.size());
  std::vector<std::vector<std::int64_t>> columns(box.size());
  std::size_t block = 1;
  for (std::size_t v = 0; v < box.size(); ++v) {
    columns[v].resize(count);
    const auto size = static_cast<std::size_t>(box[v].size());
    for (std::size_t i = 0; i < count; ++i) columns[v][i] = box[v].min + static_cast<std::int64_t>((i / block) % size);
    block *= size;
  }
  return columns;
}

struct Verdict {
  std::size_t points = 0;  // where the guard holds
  std::string wrong;       // the first point where the sides differ
};

Verdict check_exhaustively(const Rule& rule) {
  const ParsedRule parsed = parse_rule(rule);
  std::size_t count = 0;
  const auto columns = points_of(box_of(parsed), count);
  TreeEvaluator evaluate;
  const Column guard = evaluate(parsed.guard, columns, count);
  const Column before = evaluate(parsed.before, columns, count);
  const Column after = evaluate(parsed.after, columns, count);
  Verdict verdict;
  for (std::size_t i = 0; i < count; ++i) {
    if (!guard.ok[i] || guard.values[i] == 0 || !before.ok[i]) continue;
    ++verdict.points;
    if (after.ok[i] && before.values[i] == after.values[i]) continue;
    for (std::size_t v = 0; v < columns.size(); ++v)
      verdict.wrong += parsed.letters[v] + "=" + std::to_string(columns[v][i]) + " ";
    verdict.wrong += std::to_string(before.values[i]) + " != " + std::to_string(after.values[i]);
    break;
  }
  return verdict;
}

TEST(Rules, HoldOnABox) {
  std::size_t points = 0;
  for (const Rule& rule : rules()) {
    const Verdict verdict = check_exhaustively(rule);
    EXPECT_EQ(verdict.wrong, "") << rule.name << ": " << rule.before << " -> " << rule.after << " if " << rule.guard;
    EXPECT_GT(verdict.points, 0U) << rule.name << " is vacuous: its guard holds nowhere";
    points += verdict.points;
  }
  std::printf("[ rules    ] %zu rows hold at %zu points\n", rules().size(), points);
}

TEST(Rules, TheCheckerCatchesWrongRows) {
  for (const Rule& rule : kWrongRules) EXPECT_NE(check_exhaustively(rule).wrong, "") << rule.name;
  const Rule vacuous{"W", "", "x", "x", "x<x", Check::z3, ""};
  EXPECT_EQ(check_exhaustively(vacuous).points, 0U);
}

TEST(Rules, NamesAreUniqueAndLettersBound) {
  std::set<std::string_view> names, statements;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(rule.title.empty()) << rule.name;
    const ParsedRule parsed = parse_rule(rule);
    EXPECT_EQ(parsed.guarded_letters, parsed.letters.size()) << rule.name << ": a letter of the right side is unbound";
    for (std::size_t i = 0; i < parsed.letters.size(); ++i) {
      const LetterKind kind = kind_of_letter(parsed.letters[i]);
      EXPECT_NE(kind, LetterKind::unknown) << rule.name << " " << parsed.letters[i];
      const bool is_constant = kind == LetterKind::constant || kind == LetterKind::positive_constant;
      if (i >= parsed.bound_letters) {
        EXPECT_TRUE(is_constant) << rule.name << ": the guard cannot determine " << parsed.letters[i];
      }
    }
  }
}

TEST(Rules, ProofsAreWrittenWhereTheyAreNeeded) {
  for (const Rule& rule : rules()) {
    if (rule.check == Check::written) {
      EXPECT_GT(rule.proof.size(), 20U) << rule.name;
    } else {
      EXPECT_EQ(rule.proof, "") << rule.name;
    }
  }
}

/// The texts of the table mean the same to the library's own compiler of texts, which simplifies nothing.
TEST(Rules, TheLibraryReadsEveryRowAlike) {
  for (const Rule& rule : rules()) {
    const ParsedRule parsed = parse_rule(rule);
    std::size_t count = 0;
    const auto columns = points_of(box_of(parsed), count);
    TreeEvaluator evaluate;
    for (const auto& [text, tree] :
         {std::pair(rule.before, &parsed.before), {rule.after, &parsed.after}, {rule.guard, &parsed.guard}}) {
      const ExprProgram program = compile(text, parsed.letters);
      const Column wanted = evaluate(*tree, columns, count);
      for (std::size_t i = 0; i < count; i += 1 + count / 16) {
        std::vector<std::int64_t> point;
        for (const auto& column : columns) point.push_back(column[i]);
        const ExprProgram::Outcome got = program.try_evaluate(point);
        ASSERT_EQ(got.failed, wanted.ok[i] == 0) << rule.name << " " << text;
        if (!got.failed) {
          ASSERT_EQ(got.value, wanted.values[i]) << rule.name << " " << text;
        }
      }
    }
  }
}

TEST(Rules, TheOracleReadsTheGrammar) {
  std::vector<std::string> names = {"x", "y"};
  const std::vector<std::vector<std::int64_t>> point = {{-7}, {3}};
  TreeEvaluator evaluate;
  const auto value = [&](std::string_view text) { return evaluate(parse_tree(text, names), point, 1).values[0]; };
  EXPECT_EQ(value("x//y"), -3);
  EXPECT_EQ(value("x%y"), 2);
  EXPECT_EQ(value("-x//y"), 2);
  EXPECT_EQ(value("1+2*y-4"), 3);
  EXPECT_EQ(value("not x<y"), 0);
  EXPECT_EQ(value("not x and y or 0"), 0);
  EXPECT_EQ(value("x-y-1"), -11);
  EXPECT_EQ(value("min(x,y,-9)+max(1,2)*select(x<0,5,6)"), 1);
  const auto c_value = [&](std::string_view text) {
    return evaluate(parse_c_tree(text, names), point, 1, Rounding::truncate).values[0];
  };
  EXPECT_EQ(c_value("x/y"), -2);
  EXPECT_EQ(c_value("x%y"), -1);
  EXPECT_EQ(c_value("(x<0?1:y>5?2:3)*2"), 2);
  EXPECT_EQ(c_value("x<0&&!(y==3)?1:10LL"), 10);
  EXPECT_EQ(c_value("y<0?1:y>5?2:3"), 3);
}

}  // namespace
}  // namespace strata::oracle
