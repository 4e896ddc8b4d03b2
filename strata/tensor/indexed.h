// Elements at indices that tensors hold, and into places that tensors name: what indexing is made of.
#pragma once

#include "strata/graph/index_range.h"
#include "strata/tensor/tensor.h"

namespace strata {

/// 0, 1, ..., count - 1 (i64) on the device of `like`.
Tensor counting(const Int& count, const Tensor& like);

/// `x` with the axis as its last one.
inline Tensor with_last(const Tensor& x, std::int64_t axis) { return x.movedim({axis}, {-1}); }

/// A size that has to be a number. @throws Error (shape) naming `operation`
std::int64_t number_of(const Int& size, const char* operation);

/// The same integers, which the flag CHECK_INDEX looks at when they are used.
Tensor in_range(const Tensor& integers, const IndexRange& range);

/// Indices into `size` as i64, those below 0 from the end, which have to be inside for CHECK_INDEX. @throws Error (domain) naming `operation` unless integers
Tensor wrapped(const Tensor& index, std::int64_t size, const char* operation);

/// Where a mask holds, in row-major order: as many i64 as there are. Realizes the mask.
Tensor places_of(const Tensor& mask);

/// values[..., index[...]], dimensions in front of the last broadcast; 0 where the index is outside.
Tensor picked(const Tensor& values, const Tensor& index);

/// (..., n): the sums of values (..., k) whose index (..., k) is 0, 1, ..., n - 1. Both broadcast in front of the last axis.
Tensor summed_by_index(const Tensor& values, const Tensor& index, std::int64_t n);
/// Whether that takes less than asking each place for each value: `rows` in front of the last axis, an index of that shape, and
/// so many places. False where a size is symbolic.
bool is_sum_by_order(const Ints& rows, const Ints& index, const Int& places);
/// `plain`, what picked() gives, whose gradient by `values` is summed_by_index().
Tensor picked_by_order(const Tensor& plain, const Tensor& values, const Tensor& index);

/// Integers in the order of the values, or in the opposite one; NaN is the largest, -0 is 0.
Tensor order_keys(const Tensor& values, bool descending);

/// One value that becomes part of a place (none: it takes the place).
struct Combine {
  std::optional<Tensor::Reduce> how = std::nullopt;
  bool include_self = true;
};
/// `target` (..., n) with source[..., k] at index[..., k], which is wrapped. Index and source broadcast but in the last
/// axis, in which one of size 1 stands for all. @pre dtypes of target and source are equal
Tensor put_at(const Tensor& target, const Tensor& index, const Tensor& source, const Combine& combine);

}  // namespace strata
