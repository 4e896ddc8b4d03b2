// What stands in brackets, as formulas take it: movements, and indices of axes that are left.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "strata/ops/value.h"

namespace strata::ops {

/// Integers that name elements of an axis, below 0 from the end; with `extremes`, where their values are known: these are looked at.
struct Indices {
  struct Extremes {
    std::int64_t least, most;
  };
  Value index;
  std::optional<Extremes> extremes = {};
};
/// A mask of some axes: its shape, and the places in row-major order where it holds.
struct MaskPlaces {
  Ints shape;
  Value places;
};
using Subscript = std::variant<Int, Slice, Ellipsis, NewAxis, Indices, MaskPlaces>;

/// x[subscripts], as PyTorch's brackets. @throws Error (shape) naming index, axis and size
Value index(const Value& x, std::span<const Subscript> subscripts);
/// x with `value`, which broadcasts, at those places; of a place named twice the last one, or (accumulate) the sum.
Value index_put(const Value& x, std::span<const Subscript> subscripts, const Value& value,
                bool accumulate);

/// Whether `value` is the same for each place of a mask that fits: nothing has to know then how many there are.
bool is_one_for_all(const Value& value, const Value& x, const Value& mask);
/// x with that value where the mask holds. No element is looked at, so that it may be captured, and is one kernel with what is around.
Value with_one_value(const Value& x, const Value& mask, const Value& value, bool accumulate);

}  // namespace strata::ops
