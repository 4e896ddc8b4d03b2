// What convolutions and pooling share: inputs with and without a batch, padding, windows over several axes.
#pragma once

#include <span>
#include <vector>

#include "strata/ops/functional.h"
#include "strata/ops/products.h"

namespace strata::ops {

/// One a spatial axis.
using Numbers = std::vector<std::int64_t>;

/// An input (batch, channels, sizes...), or one without a batch, which counts as a batch of one.
class Spatial {
 public:
  /// @throws Error (shape) naming `operation` unless it has `axes` spatial axes whose sizes are numbers
  Spatial(const char* operation, const Value& x, std::size_t axes);
  const Value& batched() const { return x_; }
  /// `y` without the batch that the input had not.
  Value unbatched(const Value& y) const { return is_one_ ? y.squeeze(0) : y; }

  Numbers sizes;  ///< of the spatial axes

 private:
  Value x_;
  bool is_one_ = false;
};

/// The last axes with so much of `value` around; less than 0 takes away.
Value padded(const Value& x, const ConvPadding::Sides& sides, Number value = 0);

/// Windows over the last axes: (..., counts..., sizes of windows...).
Value windows_of(const Value& x, std::span<const Window> each, std::span<const std::int64_t> counts);

}  // namespace strata::ops
