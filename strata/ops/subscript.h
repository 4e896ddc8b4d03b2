// Indexing as with PyTorch's brackets, on Values: index() and index_put(). tensor/subscript.h has the brackets of
// Tensors, which lower to these subscripts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "strata/ops/value.h"

namespace strata::ops {

/// An index tensor: integers that select elements of an axis; negative ones count from the end. `extremes`, the least
/// and the largest index, are set where the values are known; index() then throws if one of them is out of range.
struct Indices {
  struct Extremes {
    std::int64_t least, most;
  };
  Value index;
  std::optional<Extremes> extremes = {};
};
/// A mask of as many axes as it has dimensions: its shape, and the row-major flat indices at which it is true.
struct MaskPlaces {
  Ints shape;
  Value places;
};
using Subscript = std::variant<Int, Slice, Ellipsis, NewAxis, Indices, MaskPlaces>;

/// x[subscripts], as PyTorch's brackets. @throws Error (shape) naming index, axis and size for an index out of range,
/// too many subscripts or a mask of another shape; (domain) for a slice of step 0
Value index(const Value& x, std::span<const Subscript> subscripts);
/// x with `value`, which broadcasts, at the selected places. Where a place is selected more than once the last value
/// wins; with `reduce` the element and all of its values are combined. @throws Error as index(); (shape) where `value`
/// does not broadcast
Value index_put(const Value& x, std::span<const Subscript> subscripts, const Value& value,
                std::optional<Reduce> reduce);

/// `value` broadcast to `shape`, that of the selected elements; surplus dimensions of size 1 in front are dropped.
/// @throws Error (shape) naming index_put
Value fitted(const Value& value, const Ints& shape);

/// True iff index_put() of `value` at x[mask] puts the same value at each selected place, so that the number of places
/// is irrelevant and with_one_value() applies.
bool is_one_for_all(const Value& value, const Value& x, const Value& mask);
/// x with `value` (accumulate: x + value) where `mask` is true. Elementwise: the mask is not realized, so that a
/// capture can contain the operation and it fuses with its surroundings. @pre is_one_for_all(value, x, mask)
Value with_one_value(const Value& x, const Value& mask, const Value& value, bool accumulate);

}  // namespace strata::ops
