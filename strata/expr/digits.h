// Digits: recombines quotients and moduli in a sum that are digits of one value, e.g. 4 * (x//4) + x%4 becomes x. Used
// by Build::sum. Internal to expr/.
#pragma once

#include <vector>

#include "strata/expr/build.h"

namespace strata {

/// Rewrites a sum under construction, one rule at a time.
class Digits {
 public:
  Digits(const Build& build, Linear& sum) : build_(build), l_(sum) {}
  /// Applies one rule; false when no rule applies.
  bool step();

 private:
  bool join(const Term& low);
  bool join_quotient(const Term& low, const Term& high);
  bool join_digit(const Term& low, const Term& high);
  bool digit_difference(const Term& low, const Term& whole);
  bool multiple_difference(const Term& low);
  bool residue_difference(const Term& quotient);
  bool take_multiple(const Term& quotient, const Expr& x, std::int64_t c);
  bool absorb(const Term& quotient);
  bool aligned(const Term& quotient);
  bool join_symbolic(const Term& low);
  bool join_symbolic_digit(const Term& low, const Expr& quotient);
  bool join_extrema(const Term& low);

  /// Removes the atoms `a` and `b` (null: none) from the sum and adds scale * by. False, with the sum unchanged, when a
  /// coefficient does not fit in 64 bits.
  bool replace(const Node* a, const Node* b, const Expr& by, std::int64_t scale);

  const Build& build_;
  Linear& l_;
  std::vector<Expr> held_;  // keeps the results of rules alive until the sum is interned
};

}  // namespace strata
