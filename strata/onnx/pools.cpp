// Pools: the largest element, the mean or the norm of each window, and of regions of interest.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "strata/onnx/operators.h"
#include "strata/onnx/windows.h"
#include "strata/tensor/functional.h"

namespace strata::onnx {
namespace {

bool has_ceil_mode(const Call& call) {
  return call.node().row->attribute("ceil_mode") != nullptr && call.integer("ceil_mode") != 0;
}

std::vector<WindowAxis> pool_windows(const Call& call, const Tensor& x, bool has_dilations) {
  const Sizes kernel = call.integers("kernel_shape");
  STRATA_CHECK(!kernel.empty() && kernel.size() <= 3, undefined, "pools over ", kernel.size(),
               " axes (1 to 3 are supported)");
  return windows_of(call, x.shape(), kernel, has_dilations);
}

Sizes kernel_of(const std::vector<WindowAxis>& windows) {
  Sizes out;
  for (const WindowAxis& w : windows) out.push_back(w.kernel);
  return out;
}

/// avg_pool1d(), avg_pool2d() or avg_pool3d() of the windows.
Tensor averages(const Tensor& x, const std::vector<WindowAxis>& windows, const AvgPoolOptions& options) {
  const Sizes kernel = kernel_of(windows);
  return windows.size() == 1   ? avg_pool1d(x, kernel, options)
         : windows.size() == 2 ? avg_pool2d(x, kernel, options)
                               : avg_pool3d(x, kernel, options);
}

/// The sums of the windows of x, padded by zeros.
Tensor window_sums(const Tensor& x, const std::vector<WindowAxis>& windows, bool is_ceil) {
  return averages(x, windows,
                  {.stride = strides_of(windows),
                   .padding = pads_of(windows),
                   .ceil_mode = is_ceil,
                   .divisor_override = 1,
                   .dilation = dilations_of(windows)});
}

/// Positions in the spatial axes of an image as positions in all elements of x.
Tensor positions_in(const Call& call, const Tensor& x, const Tensor& index, bool is_column_major) {
  const Sizes sizes = sizes_of(x);
  Tensor rest = index, place = index;
  std::int64_t image = 1;
  for (std::size_t d = 2; d < sizes.size(); ++d) image *= sizes[d];
  if (is_column_major) {
    place = index * 0;
    std::int64_t step = image;
    for (std::size_t d = sizes.size(); d-- > 2;) {
      step /= sizes[d];
      place = place + rest % sizes[d] * step;
      rest = rest.floor_divide(sizes[d]);
    }
  }
  Sizes shape(sizes.size(), 1);
  shape[0] = sizes[0];
  shape[1] = sizes[1];
  return place + call.arange(sizes[0] * sizes[1]).reshape(to_shape(shape)) * image;
}

Axes spatial_axes(const Tensor& x) {
  STRATA_CHECK(x.ndim() >= 3, shape, "the input has ", x.ndim(), " dimensions");
  Axes out;
  for (std::int64_t d = 2; d < x.ndim(); ++d) out.push_back(d);
  return out;
}

Tensor root(const Tensor& x, double p) { return p == 1 ? x : p == 2 ? x.sqrt() : x.pow(1 / p); }

Tensor power_of_size(const Tensor& x, double p) { return p == 1 ? x.abs() : p == 2 ? x * x : x.abs().pow(p); }

}  // namespace

Results max_pool(const Call& call) {
  const Tensor x = call.x(0);
  const std::vector<WindowAxis> windows = pool_windows(call, x, call.opset() >= 10);
  const Sizes kernel = kernel_of(windows);
  const MaxPoolOptions options{.stride = strides_of(windows),
                               .padding = pads_of(windows),
                               .dilation = dilations_of(windows),
                               .ceil_mode = has_ceil_mode(call)};
  if (!call.wants(1))
    return {windows.size() == 1   ? max_pool1d(x, kernel, options)
            : windows.size() == 2 ? max_pool2d(x, kernel, options)
                                  : max_pool3d(x, kernel, options)};
  const auto [values, index] = windows.size() == 1   ? max_pool1d_with_indices(x, kernel, options)
                               : windows.size() == 2 ? max_pool2d_with_indices(x, kernel, options)
                                                     : max_pool3d_with_indices(x, kernel, options);
  return {values, positions_in(call, x, index, call.opset() >= 8 && call.integer("storage_order") != 0)};
}

Results average_pool(const Call& call) {
  const Tensor x = call.x(0);
  const std::vector<WindowAxis> windows = pool_windows(call, x, call.opset() >= 19);
  return {averages(x, windows,
                   {.stride = strides_of(windows),
                    .padding = pads_of(windows),
                    .ceil_mode = has_ceil_mode(call),
                    .count_include_pad = call.opset() >= 7 && call.integer("count_include_pad") != 0,
                    .dilation = dilations_of(windows)})};
}

Results lp_pool(const Call& call) {
  const Tensor x = call.x(0);
  const auto p = static_cast<double>(call.integer("p"));
  STRATA_CHECK(p >= 1, domain, "p is ", p);
  return {root(window_sums(power_of_size(x, p), pool_windows(call, x, call.opset() >= 18), has_ceil_mode(call)), p)};
}

Results global_average_pool(const Call& call) {
  const Tensor x = call.x(0);
  return {x.mean(spatial_axes(x), true)};
}
Results global_max_pool(const Call& call) {
  const Tensor x = call.x(0);
  return {x.max(spatial_axes(x), true)};
}
Results global_lp_pool(const Call& call) {
  const Tensor x = call.x(0);
  const auto p = static_cast<double>(call.integer("p"));
  STRATA_CHECK(p >= 1, domain, "p is ", p);
  return {root(power_of_size(x, p).sum(spatial_axes(x), true), p)};
}

namespace {

/// Along one axis, the samples of each region's bins: two neighbours with their weights, and how many samples count.
struct Samples {
  Tensor low, high;                ///< (regions, bins, samples): indices
  Tensor low_weight, high_weight;  ///< 0 where a sample does not count
  Tensor counts;                   ///< (regions, 1, samples): whether it is one of the region's samples
};

Samples samples_of(const Call& call, const Tensor& begin, const Tensor& length, std::int64_t bins, std::int64_t size,
                   const std::vector<double>& per_bin, std::int64_t most) {
  const auto regions = static_cast<std::int64_t>(per_bin.size());
  const Tensor number = call.from(per_bin, {regions, 1, 1}, dtypes::float32);
  const Tensor bin = call.arange(bins).cast(dtypes::float32).reshape({1, bins, 1});
  const Tensor sample = call.arange(most).cast(dtypes::float32).reshape({1, 1, most});
  const Tensor bin_size = length.reshape({regions, 1, 1}) / static_cast<double>(bins);
  const Tensor at = begin.reshape({regions, 1, 1}) + bin * bin_size + (sample + 0.5) * bin_size / number;
  const Tensor is_inside = (at >= -1).logical_and(at <= size).logical_and(sample < number);
  const Tensor clamped = at.clip(Operand(0), Operand(size - 1));
  const Tensor low = clamped.floor(), fraction = clamped - low;
  return {low.cast(dtypes::int64), (low + 1).clip(Operand(0), Operand(size - 1)).cast(dtypes::int64),
          is_inside.where(1 - fraction, 0), is_inside.where(fraction, 0), sample < number};
}

}  // namespace

Results roi_align(const Call& call) {
  const Tensor x = call.x(0), boxes = call.x(1);
  const Sizes shape = sizes_of(x), box_shape = sizes_of(boxes);
  STRATA_CHECK(shape.size() == 4 && box_shape.size() == 2 && box_shape[1] == 4, shape, "an input of shape ",
               sizes_text(shape), " and regions of shape ", sizes_text(box_shape));
  const std::int64_t rows = call.integer("output_height"), columns = call.integer("output_width"),
                     regions = box_shape[0];
  const std::string& mode = call.text("mode");
  STRATA_CHECK(mode == "avg" || mode == "max", domain, "the mode is ", mode);
  STRATA_CHECK(rows >= 1 && columns >= 1 && rows <= 1 << 20 && columns <= 1 << 20, domain, "the output is ", rows,
               " x ", columns);
  const bool is_half = call.opset() >= 16 && call.text("coordinate_transformation_mode") == "half_pixel";
  const Tensor scaled = boxes * call.number("spatial_scale") - (is_half ? 0.5 : 0.0);
  const auto column = [&](std::int64_t k) { return scaled.select(1, k); };
  Tensor width = column(2) - column(0), height = column(3) - column(1);
  if (!is_half) {
    width = width.maximum(1);
    height = height.maximum(1);
  }
  // Without a ratio each region has as many samples as its bins have elements.
  const std::int64_t ratio = call.integer("sampling_ratio");
  STRATA_CHECK(ratio >= 0 && ratio <= 1 << 12, domain, "the sampling ratio is ", ratio);
  const auto samples = [&](const Tensor& length, std::int64_t bins) {
    std::vector<double> out(static_cast<std::size_t>(regions), static_cast<double>(ratio));
    if (ratio > 0) return out;
    const std::vector<double> lengths = read_numbers(length);
    for (std::size_t k = 0; k < out.size(); ++k) {
      out[k] = std::max(std::ceil(lengths[k] / static_cast<double>(bins)), 1.0);
      STRATA_CHECK(out[k] <= 1 << 12, budget, "a region has ", out[k], " samples along an axis");
    }
    return out;
  };
  const std::vector<double> per_row = samples(height, rows), per_column = samples(width, columns);
  const auto most = [](const std::vector<double>& all) {
    return all.empty() ? 1 : static_cast<std::int64_t>(*std::max_element(all.begin(), all.end()));
  };
  const std::int64_t sy = most(per_row), sx = most(per_column), channels = shape[1];
  const Samples y = samples_of(call, column(1), height, rows, shape[2], per_row, sy);
  const Samples c = samples_of(call, column(0), width, columns, shape[3], per_column, sx);
  // (regions, rows, sy, columns, sx) positions of (batch, y, x), for all channels.
  const Tensor flat = x.permute({0, 2, 3, 1}).reshape({shape[0] * shape[2] * shape[3], channels});
  const Tensor batch = call.x(2).cast(dtypes::int64).reshape({regions, 1, 1, 1, 1}) * (shape[2] * shape[3]);
  const auto along_y = [&](const Tensor& t) { return t.reshape({regions, t.size(1), t.size(2), Int(1), Int(1)}); };
  const auto along_x = [&](const Tensor& t) { return t.reshape({regions, Int(1), Int(1), t.size(1), t.size(2)}); };
  const Ints grid = {regions, rows, sy, columns, sx, channels};
  const auto corner = [&](const Tensor& ys, const Tensor& yw, const Tensor& xs, const Tensor& xw) {
    const Tensor at = batch + along_y(ys) * shape[3] + along_x(xs);
    return flat.index_select(0, at.reshape({-1})).reshape(grid) * (along_y(yw) * along_x(xw)).unsqueeze(-1);
  };
  Tensor values =
      corner(y.low, y.low_weight, c.low, c.low_weight) + corner(y.low, y.low_weight, c.high, c.high_weight) +
      corner(y.high, y.high_weight, c.low, c.low_weight) + corner(y.high, y.high_weight, c.high, c.high_weight);
  if (mode == "avg") {
    const Tensor count = call.from(per_row, {regions, 1, 1, 1}, dtypes::float32) *
                         call.from(per_column, {regions, 1, 1, 1}, dtypes::float32);
    values = values.sum({2, 4}) / count;
  } else {
    const Tensor counts = along_y(y.counts).logical_and(along_x(c.counts)).unsqueeze(-1);
    values = counts.where(values, -std::numeric_limits<double>::infinity()).max({2, 4});
  }
  return {values.permute({0, 3, 1, 2}).cast(x.dtype())};
}

}  // namespace strata::onnx
