// Building blocks of matrix products, convolutions and pooling: sums of products, and sliding windows as views, with
// the inverse that adds windows back into an axis.
#pragma once

#include <span>

#include "strata/ops/value.h"

namespace strata::ops {

/// sum(a * b) over `axes`, which are removed from the shape; a and b broadcast. The dtype is the promoted dtype of a
/// and b (i64 for bools); 16-bit floats are multiplied and added in f32. The graph is one SUM of one MUL, which the
/// kernel compiler recognizes and tiles as a matrix product. @throws Error (shape) where shapes do not broadcast, or
/// for an axis out of range
Value sum_of_products(const char* operation, const Value& a, const Value& b, const Axes& axes);

/// Sliding windows along one axis: element k of window o is element o*step + k*dilation of the axis.
struct Window {
  std::int64_t size, step = 1, dilation = 1;
  /// The extent of a window in elements of the axis: (size - 1)*dilation + 1.
  Int reach() const;
  /// The number of windows in an axis: (size - reach()) / step + 1, rounded down. @pre reach() <= size
  Int count_in(const Int& size) const;
};

/// The first `count` windows along `axis`, as a view: the axis gets the size `count`, and a new last dimension has the
/// size w.size. E.g. (10) with {.size = 3, .step = 2} and count 4: (4, 3). @pre count >= 1, and the last window ends
/// within the axis
LazyOp windows(const LazyOp& x, std::size_t axis, const Window& w, const Int& count);

/// windows() along the last each.size() axes: (..., sizes...) becomes (..., counts..., window sizes...).
LazyOp windows_of(const LazyOp& x, std::span<const Window> each, std::span<const Int> counts);

/// The transpose of windows(): adds each element of each window to its place in an axis of `size`. E.g. (4, 3) becomes
/// (10).
/// @pre as windows()
LazyOp unwindowed(const LazyOp& rows, std::size_t axis, const Window& w, const Int& size);
/// The transpose of windows_of(): (..., counts..., window sizes...) becomes (..., sizes...).
LazyOp unwindowed_of(const LazyOp& x, std::span<const Window> each, std::span<const Int> sizes);

}  // namespace strata::ops
