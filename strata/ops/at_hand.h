// What values are already in the memory of the host when an operation is written: what is wrong with them can be said at once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/graph/index_range.h"
#include "strata/ops/value.h"

namespace strata::ops {

/// Where the host has the integers, they are within a range. @throws Error (shape) with the first that is not, its place and the range
void check_at_hand(const Value& integers, const IndexRange& range);
/// The integers in row-major order, where the host has them; those beyond 63 bits as 2^63 - 1.
std::optional<std::vector<std::int64_t>> integers_at_hand(const Value& integers);
/// The weights of multinomial(), where the host has them, can be drawn `draws` from: finite, 0 or more, so many of them (one where
/// draws are put back) above 0 in each row. @throws Error (domain) with the first that is not, its place and the limit
void check_weights_at_hand(const Value& weights, std::int64_t draws, bool replacement);

/// True where integers name one of `size`: 0, 1, ...
Value is_within(const Value& integers, std::int64_t size);

}  // namespace strata::ops
