// What can be said of symbolic sizes: signs and exact quotients of expressions over bounded variables.
//
// Sizes reads expressions as polynomials over atoms: variables, and whatever is no sum or product (a quotient, a
// minimum) as a value of its own within its bounds. What is assumed narrows the atoms' bounds or is kept as a fact. A
// polynomial is shown nonnegative by shifting atoms to their bounds, by facts, or by the exact step; a few sample points
// that satisfy all assumptions refute the rest quickly.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "strata/expr/expr.h"
#include "strata/view/int.h"
#include "strata/view/polynomial.h"

namespace strata {

/// Is `e` at least 0: for every value of its variables (yes), for none (no), or not shown (unknown)? Never throws Error.
Answer is_nonnegative(const Expr& e);
/// The same for e == 0.
Answer is_zero(const Expr& e);
/// A q with a == b * q for every value of the variables, when one is shown. Never throws Error.
std::optional<Expr> divide_exactly(const Expr& a, const Expr& b);

class Sizes {
 public:
  static constexpr std::size_t kPoints = 64;

  /// @throws Error (overflow, budget), as everything below that returns polynomials.
  Polynomial polynomial(const Expr& e);
  Polynomial polynomial(const Int& value) {
    return value.is_number() ? Polynomial(value.value()) : polynomial(value.expr());
  }
  Int to_int(const Polynomial& p) const;
  Expr to_expr(const Polynomial& p) const { return to_int(p).expr(); }

  /// From now on only values with p >= 0 count. False when there are none.
  bool assume_nonnegative(const Polynomial& p);
  /// The same for a condition: a conjunction of inequalities and equations (`n % 4 == 0` too). What is not understood is
  /// kept for the exact step. Polynomials made earlier know nothing of an equation.
  bool assume(const Expr& condition);

  /// Is p at least 0 for all values that count? True when shown.
  bool is_nonnegative(const Polynomial& p);
  bool is_zero(const Polynomial& p) {
    return p.is_zero() || (is_nonnegative(p) && is_nonnegative(-p));
  }

  /// p's value at sample point number `point`; nothing where the point does not count or the value leaves 64 bits.
  std::optional<std::int64_t> at(const Polynomial& p, std::size_t point) const;

 private:
  struct Sample {
    enum State : std::uint8_t { open, valued, none };
    State state = open;
    std::int64_t value = 0;
  };
  struct Atom {
    Expr expr;
    std::int64_t lo, hi;  // kNegInf, kPosInf when unknown
    bool variable;
    mutable std::array<Sample, kPoints> samples;
  };

  Polynomial of_product(const Expr& e);
  Polynomial of_atom(const Expr& atom);
  std::uint32_t number_of(const Expr& atom);
  std::optional<std::int64_t> sample(std::uint32_t atom, std::size_t point) const;
  void add_definition(const Expr& atom, std::uint32_t number);
  bool factors_are_positive(const Polynomial& p);
  bool assume_zero(const Polynomial& p);
  bool assume_relation(const Expr& condition);
  Polynomial shifted(const Polynomial& p) const;
  bool shown_by_bounds(const Polynomial& p) const;
  bool shown_by_facts(const Polynomial& p, int depth, int& steps) const;
  bool shown_by_table(const Polynomial& p) const;

  std::vector<Atom> atoms_;
  std::unordered_map<const Node*, std::uint32_t> numbers_;
  std::unordered_map<std::uint32_t, Polynomial> rewrites_;  // atoms that an equation expresses by others
  std::vector<Polynomial> facts_;                           // each is >= 0
  std::vector<Expr> assumed_;
  int depth_ = 0;  // of definitions being read
  std::array<bool, kPoints> dead_{};
};

}  // namespace strata
