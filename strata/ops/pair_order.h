// pair_order(): the order in which einsum() multiplies several operands, two at a time (the contraction order).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "strata/ops/value.h"

namespace strata::ops {

/// Returns the two factors of each product, in order. Factor k < shapes.size() is operand k; factor shapes.size() + j
/// is the result of product j. E.g. {{0, 1}, {3, 2}} for three operands: (0 * 1) * 2. The left factor is the one that
/// contains the lower operand.
///
/// A shape has size 1 along dimensions on which its operand does not depend. A dimension that is not `kept` is summed
/// in the first product after which no remaining factor depends on it. The cost of a product is the product of the
/// sizes of all dimensions on which one of its factors depends (symbolic sizes at their upper bounds). For up to 8
/// operands the order has the least total cost; beyond, a greedy choice takes the product whose result grows least over
/// its factors. Ties are resolved from left to right.
/// @pre all shapes have kept.size() dimensions
std::vector<std::pair<std::size_t, std::size_t>> pair_order(std::span<const Ints> shapes,
                                                            const std::vector<bool>& kept);

}  // namespace strata::ops
