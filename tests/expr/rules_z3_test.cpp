// Every row of the rule table, proven by Z3: integers and symbolic sizes are unbounded, constants are put in.
//
// A z3 row needs the answer `unsat` for "the guard holds and the sides differ" on every choice of its constants. A row
// with a written proof is asked twice, with its symbolic sizes put in and with any sizes: it may find no answer, never
// be refuted, and some instance is proven. Z3's div and mod are Euclidean; floor is built from them for either sign of
// the divisor.
#include <gtest/gtest.h>
#include <z3.h>

#include <chrono>
#include <optional>
#include <span>

#include "tests/expr/rule_rows.h"

namespace strata::oracle {
namespace {

// Limits in Z3's own steps, the same on every machine however loaded; a million take about half a second.
constexpr unsigned kProofSteps = 20'000'000;  // the hardest instance takes 764'301
constexpr unsigned kInstanceSteps = 500'000;  // rows with a written proof: sizes put in
constexpr unsigned kAttemptSteps = 100'000;   // rows with a written proof: any sizes

void fail_on_z3_error(Z3_context context, Z3_error_code code) {
  throw std::runtime_error(Z3_get_error_msg(context, code));
}

/// One Z3 context, one question at a time.
class Z3 {
 public:
  Z3() : config_(Z3_mk_config()), context_(Z3_mk_context(config_)), int_(Z3_mk_int_sort(context_)) {
    Z3_set_error_handler(context_, fail_on_z3_error);
  }
  ~Z3() {
    Z3_del_context(context_);
    Z3_del_config(config_);
  }
  Z3(const Z3&) = delete;
  Z3& operator=(const Z3&) = delete;

  Z3_ast number(std::int64_t value) const { return Z3_mk_int64(context_, value, int_); }
  Z3_ast unknown(const std::string& name) const {
    return Z3_mk_const(context_, Z3_mk_string_symbol(context_, name.c_str()), int_);
  }
  Z3_ast between(std::int64_t low, Z3_ast x, std::int64_t high) const {
    Z3_ast both[] = {Z3_mk_le(context_, number(low), x), Z3_mk_le(context_, x, number(high))};
    return Z3_mk_and(context_, 2, both);
  }
  Z3_ast at_least(Z3_ast x, std::int64_t low) const { return Z3_mk_ge(context_, x, number(low)); }
  Z3_ast holds(Z3_ast x) const { return Z3_mk_not(context_, Z3_mk_eq(context_, x, number(0))); }
  Z3_ast differ(Z3_ast x, Z3_ast y) const { return Z3_mk_not(context_, Z3_mk_eq(context_, x, y)); }

  /// The integer term of `tree` with `letters` put in.
  Z3_ast term(const Tree& tree, std::span<const Z3_ast> letters) const {
    std::vector<Z3_ast> terms;
    for (const TreeNode& n : tree.nodes) {
      const auto src = [&](int i) { return terms[static_cast<std::size_t>(n.src[i])]; };
      if (n.op == TreeOp::Const) {
        terms.push_back(number(n.value));
      } else if (n.op == TreeOp::Var) {
        terms.push_back(letters[static_cast<std::size_t>(n.value)]);
      } else {
        terms.push_back(node(n.op, src(0), n.arity() > 1 ? src(1) : src(0), n.arity() > 2 ? src(2) : src(0)));
      }
    }
    return terms.back();
  }

  Z3_lbool satisfiable(std::span<const Z3_ast> facts, unsigned most_steps) const {
    Z3_params params = Z3_mk_params(context_);
    Z3_params_inc_ref(context_, params);
    Z3_params_set_uint(context_, params, Z3_mk_string_symbol(context_, "rlimit"), most_steps);
    Z3_solver solver = Z3_mk_simple_solver(context_);
    Z3_solver_inc_ref(context_, solver);
    Z3_solver_set_params(context_, solver, params);
    for (Z3_ast fact : facts) Z3_solver_assert(context_, solver, fact);
    const Z3_lbool answer = Z3_solver_check(context_, solver);
    Z3_solver_dec_ref(context_, solver);
    Z3_params_dec_ref(context_, params);
    return answer;
  }

 private:
  Z3_ast as_integer(Z3_ast condition) const { return Z3_mk_ite(context_, condition, number(1), number(0)); }
  Z3_ast negative(Z3_ast x) const { return Z3_mk_unary_minus(context_, x); }
  Z3_ast floor_quotient(Z3_ast a, Z3_ast b) const {
    return Z3_mk_ite(context_, Z3_mk_gt(context_, b, number(0)), Z3_mk_div(context_, a, b),
                     Z3_mk_div(context_, negative(a), negative(b)));
  }
  Z3_ast floor_remainder(Z3_ast a, Z3_ast b) const {
    return Z3_mk_ite(context_, Z3_mk_gt(context_, b, number(0)), Z3_mk_mod(context_, a, b),
                     negative(Z3_mk_mod(context_, negative(a), negative(b))));
  }
  Z3_ast node(TreeOp op, Z3_ast a, Z3_ast b, Z3_ast c) const {
    Z3_ast both[] = {a, b};
    switch (op) {
      case TreeOp::Neg: return negative(a);
      case TreeOp::Not: return as_integer(Z3_mk_eq(context_, a, number(0)));
      case TreeOp::Add: return Z3_mk_add(context_, 2, both);
      case TreeOp::Sub: return Z3_mk_sub(context_, 2, both);
      case TreeOp::Mul: return Z3_mk_mul(context_, 2, both);
      case TreeOp::Div: return floor_quotient(a, b);
      case TreeOp::Mod: return floor_remainder(a, b);
      case TreeOp::Min: return Z3_mk_ite(context_, Z3_mk_le(context_, a, b), a, b);
      case TreeOp::Max: return Z3_mk_ite(context_, Z3_mk_ge(context_, a, b), a, b);
      case TreeOp::Lt: return as_integer(Z3_mk_lt(context_, a, b));
      case TreeOp::Le: return as_integer(Z3_mk_le(context_, a, b));
      case TreeOp::Gt: return as_integer(Z3_mk_gt(context_, a, b));
      case TreeOp::Ge: return as_integer(Z3_mk_ge(context_, a, b));
      case TreeOp::Eq: return as_integer(Z3_mk_eq(context_, a, b));
      case TreeOp::Ne: return as_integer(differ(a, b));
      case TreeOp::Select: return Z3_mk_ite(context_, holds(a), b, c);
      case TreeOp::And:
      case TreeOp::Or: {
        Z3_ast conditions[] = {holds(a), holds(b)};
        return as_integer(op == TreeOp::And ? Z3_mk_and(context_, 2, conditions) : Z3_mk_or(context_, 2, conditions));
      }
      case TreeOp::Const:
      case TreeOp::Var: break;
    }
    throw std::logic_error("not an operator");
  }

  Z3_config config_;
  Z3_context context_;
  Z3_sort int_;
};

struct Answers {
  int proven = 0, unknown = 0;
  std::string refuted;  // the constants of the first instance with a counterexample
};

/// The values that a letter is instantiated with; none for one that stays unknown. Rows with four constants and more
/// take fewer values of each.
std::span<const std::int64_t> values_of(LetterKind kind, bool instantiate_sizes, bool many) {
  static constexpr std::int64_t kPositive[] = {1, 2, 3, 4, 6}, kFewPositive[] = {1, 2, 6};
  static constexpr std::int64_t kConstant[] = {-7, -3, 0, 2, 5}, kFewConstant[] = {-7, 2, 5};
  const bool size = kind == LetterKind::positive && instantiate_sizes;
  if (size || (kind == LetterKind::positive_constant && many)) return kFewPositive;
  if (kind == LetterKind::positive_constant) return kPositive;
  if (kind == LetterKind::constant) return many ? std::span<const std::int64_t>(kFewConstant) : kConstant;
  return {};
}

/// One instance of a row: `choice` puts constants in, digit by digit. False when there is no such instance.
bool ask(const Z3& z3, const ParsedRule& rule, std::size_t choice, bool instantiate_sizes, bool many,
         unsigned most_steps, Answers& answers) {
  std::vector<Z3_ast> letters, facts;
  std::string constants;
  for (const std::string& letter : rule.letters) {
    const LetterKind kind = kind_of_letter(letter);
    const auto values = values_of(kind, instantiate_sizes, many);
    if (!values.empty()) {
      const std::int64_t value = values[choice % values.size()];
      choice /= values.size();
      letters.push_back(z3.number(value));
      constants += letter + "=" + std::to_string(value) + " ";
      continue;
    }
    letters.push_back(z3.unknown(letter));
    if (kind == LetterKind::condition) facts.push_back(z3.between(0, letters.back(), 1));
    if (kind == LetterKind::positive) facts.push_back(z3.at_least(letters.back(), 1));
  }
  if (choice != 0) return false;
  facts.push_back(z3.holds(z3.term(rule.guard, letters)));
  facts.push_back(z3.differ(z3.term(rule.before, letters), z3.term(rule.after, letters)));
  const Z3_lbool answer = z3.satisfiable(facts, most_steps);
  answers.proven += answer == Z3_L_FALSE;
  answers.unknown += answer == Z3_L_UNDEF;
  if (answer == Z3_L_TRUE && answers.refuted.empty()) answers.refuted = constants.empty() ? "any" : constants;
  return true;
}

Answers ask_all(const Rule& rule, bool instantiate_sizes, unsigned most_steps, int most_unknown) {
  const ParsedRule parsed = parse_rule(rule);
  std::size_t constants = 0;
  for (const std::string& letter : parsed.letters)
    constants += !values_of(kind_of_letter(letter), instantiate_sizes, false).empty();
  const Z3 z3;
  Answers answers;
  for (std::size_t choice = 0; answers.refuted.empty() && answers.unknown < most_unknown; ++choice)
    if (!ask(z3, parsed, choice, instantiate_sizes, constants > 3, most_steps, answers)) break;
  return answers;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(RulesZ3, EveryRowIsProven) {
  int proven = 0, by_hand = 0;
  for (const Rule& rule : rules()) {
    const auto start = std::chrono::steady_clock::now();
    const bool written = rule.check == Check::written;
    const Answers answers = ask_all(rule, written, written ? kInstanceSteps : kProofSteps, written ? 1000 : 1);
    EXPECT_EQ(answers.refuted, "") << rule.name << ": " << rule.before << " -> " << rule.after << " if " << rule.guard;
    EXPECT_TRUE(written || answers.unknown == 0) << rule.name << ": Z3 gives no answer";
    EXPECT_GT(answers.proven, 0) << rule.name;
    proven += answers.proven;
    if (written) {
      const Answers attempt = ask_all(rule, false, kAttemptSteps, 1);
      EXPECT_EQ(attempt.refuted, "") << rule.name;
      by_hand += attempt.unknown != 0;
    }
    if (seconds_since(start) > 1) std::printf("[ slow     ] %s: %.1f s\n", rule.name.data(), seconds_since(start));
  }
  std::printf("[ rules    ] %d instances proven; %d rows rest on their written proof\n", proven, by_hand);
}

TEST(RulesZ3, TheCheckerCatchesWrongRows) {
  for (const Rule& rule : kWrongRules) EXPECT_NE(ask_all(rule, false, kInstanceSteps, 100).refuted, "") << rule.name;
}

}  // namespace
}  // namespace strata::oracle
