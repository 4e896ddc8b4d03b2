// Windows: where the windows of a convolution or a pool lie along each spatial axis, by kernel, strides, dilations,
// pads, auto_pad and ceil_mode.
#pragma once

#include "strata/onnx/call.h"

namespace strata::onnx {

/// One spatial axis.
struct WindowAxis {
  Int size;
  std::int64_t kernel, stride, dilation;
  std::int64_t before = 0, after = 0;  ///< pads, as stated
  /// The elements that a window spans.
  std::int64_t extent() const { return (kernel - 1) * dilation + 1; }
};

/// The axes of the node's windows over the spatial axes of `shape` (batch, channels, sizes...).
/// @throws Error (shape, domain) for attributes that do not fit, and (shape) for a symbolic spatial size that decides
/// on
///   pads
std::vector<WindowAxis> windows_of(const Call& call, const Ints& shape, const Sizes& kernel, bool has_dilations);
ConvPadding::Sides pads_of(const std::vector<WindowAxis>& windows);
Sizes strides_of(const std::vector<WindowAxis>& windows);
Sizes dilations_of(const std::vector<WindowAxis>& windows);

}  // namespace strata::onnx
