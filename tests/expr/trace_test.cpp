// Every rule that fires is an instance of its row: the guard holds and both sides agree at the bindings it names.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "strata/base/trace.h"
#include "strata/expr/rules.h"
#include "tests/expr/random_expr.h"
#include "tests/expr/rule_rows.h"
#include "tests/sample.h"

namespace strata::oracle {
namespace {

/// The box of all variables below the bindings of an event.
std::vector<CaseVariable> box_below(const RewriteEvent& event) {
  std::map<std::string, CaseVariable> box;
  for (const auto& [letter, value] : event.bindings)
    for (const Variable& v : variables(value))
      box.emplace(v.name(), CaseVariable{std::string(v.name()), v.min(), v.max()});
  for (const Variable& v : variables(event.given))
    box.emplace(v.name(), CaseVariable{std::string(v.name()), v.min(), v.max()});
  std::vector<CaseVariable> out;
  for (const auto& [name, variable] : box) out.push_back(variable);
  return out;
}

/// Replays events against their rows.
class Replay {
 public:
  Replay() {
    for (const Rule& rule : rules()) parsed_.push_back(parse_rule(rule));
    fired_.resize(rules().size(), 0);
  }

  void operator()(const RewriteEvent& event) {
    const auto index = static_cast<std::size_t>(event.rule);
    // A rule that fires all the time is replayed often enough.
    const std::size_t count = ++fired_[index];
    if (count > 3000 && count % 16 != 0) return;
    const std::string wrong = check(rule(event.rule), parsed_[index], event);
    if (wrong.empty()) return;
    std::string bindings;
    for (const auto& [letter, value] : event.bindings) bindings += std::string(letter) + " = " + value.render() + "; ";
    if (++wrong_[index] <= 3)
      ADD_FAILURE() << rule(event.rule).name << ": " << rule(event.rule).before << " -> " << rule(event.rule).after
                    << " if " << rule(event.rule).guard << "\n  " << wrong << "\n  " << bindings;
  }
  std::size_t fired(std::size_t rule) const { return fired_[rule]; }
  /// Rows of `names` that have not fired.
  std::string silent(const std::set<std::string>& names) const {
    std::string out;
    for (std::size_t i = 0; i < fired_.size(); ++i)
      if (const std::string name(rules()[i].name); fired_[i] == 0 && names.contains(name)) out += name + " ";
    return out;
  }

 private:
  /// The values of the row's letters at `points`; a reason when a binding does not suit its letter.
  std::string bind(const ParsedRule& row, const RewriteEvent& event, const Points& points,
                   std::vector<std::string>& names, std::vector<std::vector<std::int64_t>>& columns) {
    for (const std::string& letter : row.letters) {
      const Expr* value = nullptr;
      for (const auto& [name, bound] : event.bindings)
        if (name == letter) value = &bound;
      if (value == nullptr) return "no binding for " + letter;
      const LetterKind kind = kind_of_letter(letter);
      const bool constant = kind == LetterKind::constant || kind == LetterKind::positive_constant;
      if (constant && !value->is_constant()) return letter + " is not a constant";
      const Column column = evaluate_(tree_of(*value, names), points.columns, points.count);
      for (std::size_t i = 0; i < points.count; ++i) {
        const std::int64_t v = column.values[i];
        if (column.ok[i] == 0) continue;
        if ((kind == LetterKind::positive || kind == LetterKind::positive_constant) && v <= 0)
          return letter + " is not positive";
        if (kind == LetterKind::condition && v != 0 && v != 1) return letter + " is not a condition";
      }
      columns.push_back(column.values);
    }
    for (const auto& [name, bound] : event.bindings)
      if (std::find(row.letters.begin(), row.letters.end(), name) == row.letters.end())
        return "the row has no letter " + std::string(name);
    return {};
  }

  std::string check(const Rule& rule, const ParsedRule& row, const RewriteEvent& event) {
    const std::vector<CaseVariable> box = box_below(event);
    std::vector<std::string> names;
    for (const CaseVariable& v : box) names.push_back(v.name);
    const Points points = points_of(box, 200, fired_[static_cast<std::size_t>(event.rule)]);
    std::vector<std::vector<std::int64_t>> columns;
    if (std::string wrong = bind(row, event, points, names, columns); !wrong.empty()) return wrong;
    const Column guard = evaluate_(row.guard, columns, points.count);
    const Column before = evaluate_(row.before, columns, points.count);
    const Column after = evaluate_(row.after, columns, points.count);
    const Column given = evaluate_(tree_of(event.given, names), points.columns, points.count);
    for (std::size_t i = 0; i < points.count; ++i) {
      if (given.ok[i] == 0 || given.values[i] == 0) continue;
      std::string at = " at";
      for (std::size_t v = 0; v < box.size(); ++v) at += " " + names[v] + "=" + std::to_string(points.columns[v][i]);
      if (guard.ok[i] != 0 && guard.values[i] == 0) return "the guard " + std::string(rule.guard) + " fails" + at;
      if (before.ok[i] != 0 && after.ok[i] != 0 && before.values[i] != after.values[i])
        return std::to_string(before.values[i]) + " became " + std::to_string(after.values[i]) + at;
    }
    return {};
  }

  std::vector<ParsedRule> parsed_;
  std::vector<std::size_t> fired_;
  std::map<std::size_t, int> wrong_;
  TreeEvaluator evaluate_;
};

/// Rows that the sources of the algebra name in STRATA_FIRED.
std::set<std::string> rows_in_the_sources() {
  std::set<std::string> out;
  const std::string firing = "STRATA_FIRED(";
  for (const auto& entry : std::filesystem::directory_iterator(STRATA_SOURCE_DIR "/strata/expr")) {
    if (entry.path().extension() != ".cpp") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string source = text.str();
    for (std::size_t at = source.find(firing); at != std::string::npos; at = source.find(firing, at + 1)) {
      const std::size_t begin = source.find_first_not_of(" \n", at + firing.size());
      out.insert(source.substr(begin, source.find(',', begin) - begin));
    }
  }
  return out;
}

/// Shapes that random trees hardly ever take.
void exercise_rare_nests(const Expr& e, const Expr& x, const Expr& y, std::int64_t k) {
  const Variable n("n", 1, 9), m("m", 1, 9);
  const Expr p = x < y + k;
  select(p, select(p, e, x), y);
  select(p, y, select(p, x, e));
  max(min(e, k), -k);
  e % (n * m) / n;
  e % (n * m) % n;
  e / n % m* n + e % n;
}

/// Builds one random expression, and simplifies it under a condition when it is one.
void exercise(std::uint64_t seed) {
  const Case c = random_case(seed);
  try {
    const std::vector<Variable> variables = make_variables(c);
    const Expr e = build(c.tree, variables);
    if (seed % 16 == 1)
      exercise_rare_nests(e, variables.front(), variables.back(), static_cast<std::int64_t>(seed / 16 % 7));
    if (seed % 16 == 0 && variables.size() > 1) {  // an aligned variable, and two without a carry
      const Variable &x = variables[0], &y = variables[1];
      const auto k = static_cast<std::int64_t>(2 + seed / 16 % 7);
      simplify_under((x * 3 + y + 5) / k + (x + y) % k + x / k * k, x % k == k / 2);
      simplify_under((x + y) / k, x % k + y % k < k);
      simplify_under((x + y) / k, x % k + y % k >= k);
    }
    if (!e.node()->is_boolean() || e.is_constant() || seed % 4 != 0) return;
    Tree inner = c.tree;
    inner.nodes.resize(1 + seed / 4 % inner.nodes.size());
    simplify_under(build(inner, variables), e);
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::overflow || error.kind() == ErrorKind::budget) << error.what();
  }
}

TEST(Trace, EveryFiringIsAnInstanceOfItsRow) {
  constexpr std::uint64_t kEnough = test::sample(40000U), kMost = 400000;  // goes on while a row is silent
  const std::set<std::string> named = rows_in_the_sources();
  ASSERT_FALSE(named.empty());
  Replay replay;
  std::uint64_t seed = 1;
  {
    bool replaying = false;  // what the replay builds itself is no event
    const RewriteTrace trace([&](const RewriteEvent& event) {
      if (replaying) return;
      replaying = true;
      replay(event);
      replaying = false;
    });
    for (; seed <= kMost && (seed <= kEnough || seed % 1024 != 0 || !replay.silent(named).empty()); ++seed)
      exercise(seed);
  }
  std::size_t firings = 0, rows = 0;
  std::string idle;
  for (std::size_t i = 0; i < rules().size(); ++i) {
    firings += replay.fired(i);
    rows += replay.fired(i) != 0;
    if (replay.fired(i) == 0) idle += std::string(rules()[i].name) + " ";
  }
  std::printf(
      "[ rules    ] %zu firings of %zu rows in %llu expressions; %zu of %zu rows are named in the "
      "sources\n",
      firings, rows, static_cast<unsigned long long>(seed), named.size(), rules().size());
  std::printf("[ rules    ] never fired: %s\n", idle.c_str());
  EXPECT_EQ(replay.silent(named), "") << "named in the sources, but no random expression made them fire";
}

// No row is only there to be counted: it fires, or rules.cpp says through which rows it takes effect.
TEST(Trace, EveryRowFiresOrSaysThroughWhat) {
  const std::set<std::string> named = rows_in_the_sources();
  for (std::size_t i = 0; i < rules().size(); ++i) {
    const std::string name(rules()[i].name);
    EXPECT_NE(named.contains(name), !through(static_cast<RuleId>(i)).empty()) << name;
  }
}

TEST(Trace, TheReplayCatchesWrongFirings) {
  const Variable x("x", 0, 20), y("y", 0, 20);
  Replay replay;
  const auto d8 = [&](const Expr& c, const Expr& rest) {
    replay({RuleId::D8, {{"g", 4}, {"x", x}, {"c", c}, {"y", rest}}});
  };
  d8(3, y % 4);
  EXPECT_NONFATAL_FAILURE(d8(3, y), "the guard");
  EXPECT_NONFATAL_FAILURE(d8(x + 1, y % 4), "c is not a constant");
  EXPECT_NONFATAL_FAILURE(d8(-3, y % 4), "c is not positive");
  EXPECT_NONFATAL_FAILURE(replay({RuleId::D1, {}}), "no binding for x");
}

TEST(Trace, NestsAndEnds) {
  EXPECT_EQ(RewriteTrace::current(), nullptr);
  const RewriteTrace outer([](const RewriteEvent&) {});
  {
    const RewriteTrace inner([](const RewriteEvent&) {});
    EXPECT_EQ(RewriteTrace::current(), &inner);
  }
  EXPECT_EQ(RewriteTrace::current(), &outer);
}

}  // namespace
}  // namespace strata::oracle
