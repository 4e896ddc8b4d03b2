// Helpers that convolutions and pooling share: inputs with and without a batch, padding, windows over several axes.
#pragma once

#include <span>
#include <vector>

#include "strata/ops/functional.h"
#include "strata/ops/products.h"

namespace strata::ops {

/// One number per spatial axis.
using Numbers = std::vector<std::int64_t>;

/// An input of shape (batch, channels, sizes...); an input (channels, sizes...) gets a batch dimension of size 1.
class Spatial {
 public:
  /// @throws Error (shape) naming `operation` unless x has `axes` spatial axes
  Spatial(const char* operation, const Value& x, std::size_t axes);
  const Value& batched() const { return x_; }
  /// `y` without its batch dimension where the input had none.
  Value unbatched(const Value& y) const { return is_one_ ? y.squeeze(0) : y; }

  /// The sizes of the spatial axes as numbers. @throws Error (shape) naming the operation where one is symbolic
  Numbers numbers() const;

  Ints sizes;  ///< of the spatial axes

 private:
  const char* operation_;
  Value x_;
  bool is_one_ = false;
};

/// `x` with its last sides.size() axes padded by `value`; a negative number removes elements.
Value padded(const Value& x, const ConvPadding::Sides& sides, Number value = 0);

/// Windows over the last each.size() axes: (..., counts..., window sizes...); see products.h.
Value windows_of(const Value& x, std::span<const Window> each, const Ints& counts);

}  // namespace strata::ops
