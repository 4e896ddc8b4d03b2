// Putting digits together: quotients and moduli of a sum that are parts of one value. Internal to expr/.
#pragma once

#include <vector>

#include "strata/expr/build.h"

namespace strata {

/// Rewrites of a sum under construction, one step at a time.
class Digits {
 public:
  Digits(const Build& build, Linear& sum) : build_(build), l_(sum) {}
  /// Applies one rule; false when none applies.
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

  /// l without the atoms `a` and `b` (null: none), plus scale * by; false, and nothing done, where that does not fit.
  bool replace(const Node* a, const Node* b, const Expr& by, std::int64_t scale);

  const Build& build_;
  Linear& l_;
  std::vector<Expr> held_;  // keeps what the rules made alive until the sum is interned
};

}  // namespace strata
