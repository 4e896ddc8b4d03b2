// In which order several tensors are multiplied and added up two at a time: einsum.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "strata/ops/value.h"

namespace strata::ops {

/// The factors of each product: numbers of operands, and of products from shapes.size() on. An operand whose size along a dimension
/// is 1 is the same there; a dimension is added up in the product after which no factor has it, unless it is `kept`.
/// A product costs as many multiplications as the dimensions that one of its factors has say (symbolic sizes at their upper
/// ends). The cheapest order of all for up to 8 operands; beyond, the product that leaves the least more than its factors were
/// comes first. Among orders that cost the same, the one from left to right. The left factor is the one with the first operand.
/// @pre all shapes have kept.size() dimensions
std::vector<std::pair<std::size_t, std::size_t>> pair_order(std::span<const Ints> shapes,
                                                            const std::vector<bool>& kept);

}  // namespace strata::ops
