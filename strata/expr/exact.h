// The exact step: bounds and simplification by tables and search over the box, beyond what the rules find. It runs when
// a caller asks for it (`Effort::exact`, `prove`), and when `/`, `%` or `simplify_under` has to know whether a divisor
// can be 0 and plain bounds do not tell. No other constructor runs it.
//
// Every function works within exact_budget(). Results are sound whatever the budget; a larger budget only finds more.
#pragma once

#include <cstdint>

#include "strata/expr/expr.h"

namespace strata {

/// The work limit of one pass, in node evaluations (points of a box times nodes of the expression). The default, 2^27,
/// takes about 50 ms.
std::uint64_t exact_budget();

/// Sets exact_budget() of this thread for the lifetime of the object.
class ExactBudget {
 public:
  explicit ExactBudget(std::uint64_t units);
  ~ExactBudget();
  ExactBudget(const ExactBudget&) = delete;
  ExactBudget& operator=(const ExactBudget&) = delete;

 private:
  std::uint64_t outer_;
};

/// Minimum, maximum and congruence of `e`. Exact on every box of up to 16,384 points; on larger boxes as far as the
/// budget allows.
Facts exact_facts(const Expr& e);

/// `e` with subexpressions replaced by cheaper ones that are proven equal: constants, affine functions, expressions
/// without an irrelevant variable, or others with fewer operators. Equal to `e` on the whole box. Idempotent.
Expr simplify_exact(const Expr& e);

/// Like simplify_exact where `assumption` holds (is nonzero); elsewhere the value of the result is unspecified.
Expr simplify_exact_under(const Expr& e, const Expr& assumption);

}  // namespace strata
