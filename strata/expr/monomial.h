// Atoms of sums as products of sorted factors. Internal to expr/.
#pragma once

#include "strata/expr/node.h"

namespace strata {

/// The sorted factors of an atom: the operands of a product, or the atom itself. The span borrows from `atom`.
std::span<const Node* const> factors(const Node* const& atom);
/// The product of sorted factors: 1 for none, the factor itself for one, otherwise a Mul node.
Expr monomial(std::span<const Node* const> sorted);
/// quotient = a / b as multisets of factors. False when `a` does not contain all factors of `b`.
[[nodiscard]] bool divide_monomial(const Node* a, const Node* b, Expr& quotient);

}  // namespace strata
