// Elements at indices that tensors hold, and into places that tensors name: what indexing is made of.
#pragma once

#include "strata/graph/index_range.h"
#include "strata/ops/value.h"

namespace strata::ops {

/// 0, 1, ..., count - 1 (i64).
Value counting(const Int& count);

/// `x` with the axis as its last one.
inline Value with_last(const Value& x, std::int64_t axis) { return x.movedim({axis}, {-1}); }

/// A size that has to be a number. @throws Error (shape) naming `operation`
std::int64_t number_of(const Int& size, const char* operation);

/// The same integers, which the flag CHECK_INDEX looks at when they are used.
Value in_range(const Value& integers, const IndexRange& range);

/// How often each of 0, 1, ..., count - 1 is among places of one dimension, which may be beyond; or the sum of weights.
Value counts_of(const Value& places, std::int64_t count, const Value& weights);

/// Indices into `size` as i64, those below 0 from the end, which have to be inside for CHECK_INDEX.
/// @throws Error (domain) naming `operation` unless integers
Value wrapped(const Value& index, std::int64_t size, const char* operation);

/// (..., count) of i64: 1 where the class is this, none for what is no class. @pre integers
Value one_hot(const Value& classes, std::int64_t count);

/// values[..., index[...]], dimensions in front of the last broadcast; 0 where the index is outside.
Value picked(const Value& values, const Value& index);

/// (..., n): the sums of values (..., k) whose index (..., k) is 0, 1, ..., n - 1. Both broadcast in front of the last axis.
Value summed_by_index(const Value& values, const Value& index, std::int64_t n);
/// Whether that takes less than asking each place for each value: `rows` in front of the last axis, an index of that shape, and
/// so many places. False where a size is symbolic.
bool is_sum_by_order(const Ints& rows, const Ints& index, const Int& places);
/// `plain`, what picked() gives, whose gradient by `values` is summed_by_index().
Value picked_by_order(const Value& plain, const Value& values, const Value& index);

/// Integers in the order of the values, or in the opposite one; NaN is the largest, -0 is 0.
Value order_keys(const Value& values, bool descending);

/// One value that becomes part of a place (none: it takes the place).
struct Combine {
  std::optional<Reduce> how = std::nullopt;
  bool include_self = true;
};
/// `target` (..., n) with source[..., k] at index[..., k], which is wrapped. Index and source broadcast but in the last
/// axis, in which one of size 1 stands for all. @pre dtypes of target and source are equal
Value put_at(const Value& target, const Value& index, const Value& source, const Combine& combine);

}  // namespace strata::ops
