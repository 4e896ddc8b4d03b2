// Sizes: what can be shown about symbolic sizes, which are expressions over bounded variables: signs, exact quotients,
// consequences of assumptions. The questions of int.h and the symbolic merge use it. Internal to view/.
//
// Expressions are read as polynomials over atoms. An atom is a variable, or a subexpression that is neither a sum nor a
// product (a quotient, a minimum), taken as a value within its bounds. An assumption narrows the bounds of atoms, or is
// kept as a fact. A polynomial is shown to be nonnegative by the atoms' bounds, by facts, or by the exact step; a false
// claim is refuted quickly at a few sample points that satisfy all assumptions.
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

/// Is `e` at least 0: for every value of its variables (yes), for none (no), or not shown (unknown)? Never throws
/// Error.
Answer is_nonnegative(const Expr& e);
/// Is `e` equal to 0: for every value of its variables (yes), for none (no), or not shown (unknown)? Never throws
/// Error.
Answer is_zero(const Expr& e);
/// A q with a == b * q for every value of the variables; nothing when none is shown. Never throws Error.
std::optional<Expr> divide_exactly(const Expr& a, const Expr& b);

/// Assumptions about symbolic sizes, and proofs under them. Questions are asked of polynomials that this object made:
///   Sizes sizes;                                             // n and m are at least 0
///   sizes.assume(n >= 2);
///   sizes.is_nonnegative(sizes.polynomial(n * m - 2 * m))    // true
/// Every member but is_nonnegative and at() may throw Error: (overflow) when a coefficient does not fit in 64 bits,
/// (budget) when a polynomial has more than 256 terms.
class Sizes {
 public:
  static constexpr std::size_t kPoints = 64;  ///< the number of sample points

  /// `e` as a polynomial over this object's atoms.
  Polynomial polynomial(const Expr& e);
  Polynomial polynomial(const Int& value) {
    return value.is_number() ? Polynomial(value.value()) : polynomial(value.expr());
  }
  /// The polynomial as a number or an expression: the inverse of polynomial().
  Int to_int(const Polynomial& p) const;
  Expr to_expr(const Polynomial& p) const { return to_int(p).expr(); }

  /// Restricts all later questions to values with p >= 0. False when no value is seen to be left; true promises
  /// nothing.
  bool assume_nonnegative(const Polynomial& p);
  /// Restricts all later questions to values for which `condition` holds: a conjunction of inequalities and equations
  /// (`n % 4 == 0`, too). A condition of another form is kept for the exact step. A polynomial made before an equation
  /// was assumed does not reflect it. False when no value is seen to be left; true promises nothing.
  bool assume(const Expr& condition);

  /// True when p is shown to be at least 0 for all values that the assumptions allow; false when not shown. Never
  /// throws Error.
  bool is_nonnegative(const Polynomial& p);
  bool is_zero(const Polynomial& p) { return p.is_zero() || (is_nonnegative(p) && is_nonnegative(-p)); }

  /// The value of p at sample point number `point` (the points are fixed, not random); nothing when the point violates
  /// an assumption or the value does not fit in 64 bits. @pre point < kPoints
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
  std::unordered_map<std::uint32_t, Polynomial> rewrites_;  // variables that an equation expresses by other atoms
  std::vector<Polynomial> facts_;                           // each is >= 0
  std::vector<Expr> assumed_;
  int depth_ = 0;  // nesting of definitions that are being read
  std::array<bool, kPoints> dead_{};
};

}  // namespace strata
