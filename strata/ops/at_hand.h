// Checks and reads of values that are in host memory at the time of the call (realized host memory, or constants).
// Formulas use them to report a bad index or weight at once; for values that are not in host memory yet nothing runs
// and nothing is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/graph/index_range.h"
#include "strata/ops/value.h"

namespace strata::ops {

/// If `integers` are in host memory, checks that all are in `range`. @throws Error (shape) naming the first integer
/// outside, its place and the range
void check_at_hand(const Value& integers, const IndexRange& range);
/// The integers in row-major order if they are in host memory, else nothing. Integers >= 2^63 become 2^63 - 1.
std::optional<std::vector<std::int64_t>> integers_at_hand(const Value& integers);
/// If the weights of multinomial() are in host memory, checks that each is finite and >= 0, and that each row has at
/// least `draws` weights above 0 (with replacement: at least 1). @throws Error (domain) naming the weight and its
/// place, or the row
void check_weights_at_hand(const Value& weights, std::int64_t draws, bool replacement);

/// Elementwise: true where 0 <= integer < size.
Value is_within(const Value& integers, std::int64_t size);

}  // namespace strata::ops
