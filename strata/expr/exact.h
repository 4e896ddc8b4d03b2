// The exact step: what tables and search can tell beyond the rules. Runs once when asked, never in constructors.
//
// Every function works within exact_budget() and is sound whatever the budget; a larger one only finds more.
#pragma once

#include <cstdint>

#include "strata/expr/expr.h"

namespace strata {

/// The work limit of one pass, in node evaluations (points of a box times nodes of an expression). The default takes
/// some 50 ms.
std::uint64_t exact_budget();

/// Sets exact_budget() for this thread while it is alive.
class ExactBudget {
 public:
  explicit ExactBudget(std::uint64_t units);
  ~ExactBudget();
  ExactBudget(const ExactBudget&) = delete;
  ExactBudget& operator=(const ExactBudget&) = delete;

 private:
  std::uint64_t outer_;
};

/// Minimum, maximum and congruence of `e`: exact on every box of up to 16,384 points, and on larger ones as far as the
/// budget goes.
Facts exact_facts(const Expr& e);

/// `e` with everything replaced that a table shows to be constant, affine, independent of a variable, or equal to
/// something written with fewer operators. Equal to `e` on the whole box; simplify_exact of the result is the result.
Expr simplify_exact(const Expr& e);

/// The same where `assumption` holds (nonzero); elsewhere the result's value is unspecified.
Expr simplify_exact_under(const Expr& e, const Expr& assumption);

}  // namespace strata
