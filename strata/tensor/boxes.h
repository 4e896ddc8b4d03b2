// Boxes of detectors: which of those that overlap are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "strata/tensor/tensor.h"

namespace strata {

/// Options of nms().
struct NmsOptions {
  double iou_threshold = 0.5;                  ///< in [0, 1]
  std::optional<double> score_threshold = {};  ///< boxes whose score is not larger are left out
  std::optional<std::int64_t> max_boxes = {};  ///< at most as many are kept
  bool has_centres = false;                    ///< a box is (centre x, centre y, width, height)
};

/// Non-maximum suppression: the indices, i64 by falling scores, of the boxes that overlap no better one. The box of the
/// largest score is kept; each further box is kept unless its intersection with a kept one, divided by their union, is
/// larger than the threshold. Of equal scores the first box comes first; boxes whose score is a NaN are left out.
/// Realizes both tensors. Computed in f64 for boxes of f64, otherwise in f32.
/// @param boxes (n, 4): two opposite corners (x1, y1, x2, y2) @param scores (n)
/// @throws Error (shape) for other shapes or symbolic sizes; (domain) for integers, a threshold outside of [0, 1], a
///   count below 0, or tensors on two devices
Tensor nms(const Tensor& boxes, const Tensor& scores, const NmsOptions& options = {}, At at = At::current());

namespace detail {

/// nms() of numbers in memory. @pre boxes.size() == 4 * scores.size()
std::vector<std::int64_t> kept_boxes(std::span<const float> boxes, std::span<const float> scores,
                                     const NmsOptions& options);
std::vector<std::int64_t> kept_boxes(std::span<const double> boxes, std::span<const double> scores,
                                     const NmsOptions& options);

}  // namespace detail
}  // namespace strata
