// Building blocks of indexing, gathering, scattering and sorting: reading elements at computed indices, and combining
// values into places that an index tensor names.
#pragma once

#include "strata/graph/index_range.h"
#include "strata/ops/value.h"

namespace strata::ops {

/// 0, 1, ..., count - 1: shape (count,), i64.
Value counting(const Int& count);

/// `x` with `axis` moved to the end.
inline Value with_last(const Value& x, std::int64_t axis) { return x.movedim({axis}, {-1}); }

/// The number that `size` is. @throws Error (shape) naming `operation` where the size is symbolic
std::int64_t number_of(const Int& size, const char* operation);

/// The same integers; the flag CHECK_INDEX checks them against `range` when they are computed.
Value in_range(const Value& integers, const IndexRange& range);

/// (count,): element v is the sum of the weights[i] with places[i] == v. `places` and `weights` have one dimension;
/// places outside of [0, count) are ignored.
Value counts_of(const Value& places, std::int64_t count, const Value& weights);

/// Indices into an axis of `size` as i64, with `size` added to negative ones. CHECK_INDEX checks that they are in
/// [-size, size); for a symbolic size, by its largest value.
/// @throws Error (domain) naming `operation` unless `index` is of integers
Value wrapped(const Value& index, const Int& size, const char* operation);

/// (..., count), i64: element c is 1 where the class is c, else 0; a class outside of [0, count) gives zeros. @pre
/// `classes` are integers
Value one_hot(const Value& classes, const Int& count);

/// result[i...] = values[i..., index[i...]], 0 where the index is outside of the last axis of `values`. The dimensions
/// of `values` in front of the last one broadcast with those of `index`.
Value picked(const Value& values, const Value& index);

/// `x` with zeros behind its elements along `axis`, to the largest value of a symbolic size; `x` where the size is a
/// number. A kernel indexes an axis whose size is a number.
Value with_largest(const Value& x, std::int64_t axis);

/// Integers that sort as `values` do, or in the opposite order with `descending`. NaN counts as the largest value, -0
/// equals 0.
Value order_keys(const Value& values, bool descending);

/// How put_at() combines values with an element.
struct Combine {
  /// None: a value replaces the element; of several values the last one wins.
  std::optional<Reduce> how = std::nullopt;
  bool include_self = true;  ///< whether the old element is one of the reduced values
};
/// `target`, where element index[..., k] of the axis is combined with source[..., k], of several in the order of k. An
/// index outside of the axis goes nowhere. Index and source broadcast to the shape of the target, with the index's size
/// along the axis.
/// @pre target and source have one dtype
Value put_at(const Value& target, std::int64_t axis, const Value& index, const Value& source, const Combine& combine);

}  // namespace strata::ops
