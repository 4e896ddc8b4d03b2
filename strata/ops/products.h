// Sums of products, and windows: what matrix products, convolutions and pooling are made of.
#pragma once

#include <span>

#include "strata/ops/value.h"

namespace strata::ops {

/// The sum of a*b, which broadcast, over `axes`, which go. In the promoted dtype of a and b (bools: i64); 16-bit
/// floats are multiplied and added up in f32. One reduction of one product: the kernel compiler tiles it as a matrix
/// product. @throws Error as mul; (shape) for an axis that is none
Value sum_of_products(const char* operation, const Value& a, const Value& b, const Axes& axes);

/// Windows along one axis: element k of window o is at o*step + k*dilation.
struct Window {
  std::int64_t size, step = 1, dilation = 1;
  /// How many elements a window reaches over.
  Int reach() const;
};

/// As many windows as `count` says: the axis then has that size, and a last dimension of size w.size is added. Nothing
/// is copied. @pre count >= 1, and the last window ends within the axis
LazyOp windows(const LazyOp& x, std::size_t axis, const Window& w, std::int64_t count);

/// Windows over the last axes: (..., counts..., sizes of windows...).
LazyOp windows_of(const LazyOp& x, std::span<const Window> each, std::span<const std::int64_t> counts);

/// What windows() took apart, put back into an axis of `size` and added up where windows overlap. @pre as windows()
LazyOp unwindowed(const LazyOp& rows, std::size_t axis, const Window& w, const Int& size);
/// The same of windows_of(): (..., counts..., sizes of windows...) as (..., sizes...).
LazyOp unwindowed_of(const LazyOp& x, std::span<const Window> each, std::span<const Int> sizes);

}  // namespace strata::ops
