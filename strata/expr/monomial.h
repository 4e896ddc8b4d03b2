// Atoms as products of factors. Internal to expr/.
#pragma once

#include "strata/expr/node.h"

namespace strata {

/// The sorted factors of an atom: those of a product, or itself. The span borrows from `atom`.
std::span<const Node* const> factors(const Node* const& atom);
/// The product of sorted factors: 1, the factor itself, or a Mul node.
Expr monomial(std::span<const Node* const> sorted);
/// a / b as multisets of factors; false when b is not contained in a.
[[nodiscard]] bool divide_monomial(const Node* a, const Node* b, Expr& quotient);

}  // namespace strata
