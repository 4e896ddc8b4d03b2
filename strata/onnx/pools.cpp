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

std::vector<WindowAxis> pool_windows(const Call& call, const Tensor& x, bool has_dilations) {
  const bool has_ceil = call.node().row->attribute("ceil_mode") != nullptr;
  const Sizes kernel = call.integers("kernel_shape");
  STRATA_CHECK(!kernel.empty() && kernel.size() <= 3, undefined, "pools over ", kernel.size(),
               " axes (1 to 3 are supported)");
  return windows_of(call, x.shape(), kernel, has_dilations, has_ceil && call.integer("ceil_mode") != 0);
}

bool is_dilated(const std::vector<WindowAxis>& windows) {
  return std::any_of(windows.begin(), windows.end(), [](const WindowAxis& w) { return w.dilation > 1; });
}

/// window_sums() of windows with gaps: a slice of x for each of their places.
Tensor dilated_sums(const Tensor& x, const std::vector<WindowAxis>& windows) {
  const Tensor padded = padded_for(x, windows, 0);
  std::int64_t places = 1;
  for (const WindowAxis& w : windows) {
    places *= w.kernel;
    STRATA_CHECK(places <= 1024, budget, "a window with gaps has more than 1024 places");
  }
  std::optional<Tensor> out;
  for (std::int64_t place = 0; place < places; ++place) {
    std::vector<Subscript> at = {Slice{}, Slice{}};
    std::int64_t rest = place;
    for (const WindowAxis& w : windows) {
      const std::int64_t first = rest % w.kernel * w.dilation;
      rest /= w.kernel;
      at.emplace_back(Slice{Int(first), Int(first + (w.count - 1) * w.stride + 1), w.stride});
    }
    const Tensor part = padded.index(at);
    out = out ? *out + part : part;
  }
  return *out;
}

/// The sums of the windows of x, padded by zeros.
Tensor window_sums(const Tensor& x, const std::vector<WindowAxis>& windows) {
  if (is_dilated(windows)) return dilated_sums(x, windows);
  Sizes kernel;
  std::int64_t count = 1;
  for (const WindowAxis& w : windows) {
    kernel.push_back(w.kernel);
    count *= w.kernel;
  }
  const Tensor padded = padded_for(x, windows, 0);
  const AvgPoolOptions options{.stride = strides_of(windows)};
  const Tensor mean = windows.size() == 1   ? avg_pool1d(padded, kernel, options)
                      : windows.size() == 2 ? avg_pool2d(padded, kernel, options)
                                            : avg_pool3d(padded, kernel, options);
  return mean * static_cast<double>(count);
}

/// The number of elements that each window has, which is a product over the axes: shape (1, 1, windows...).
Tensor window_counts(const Call& call, const std::vector<WindowAxis>& windows, bool counts_pads, DType dtype) {
  Tensor out = call.full(Ints(windows.size() + 2, 1), 1, dtype);
  for (std::size_t d = 0; d < windows.size(); ++d) {
    const WindowAxis& w = windows[d];
    const std::int64_t low = counts_pads ? -w.before : 0, high = counts_pads ? w.size + w.after : w.size;
    std::vector<double> counts;
    for (std::int64_t k = 0; k < w.count; ++k) {
      const std::int64_t begin = k * w.stride - w.before;
      std::int64_t within = std::min(begin + w.kernel, high) - std::max(begin, low);
      if (w.dilation > 1) {
        within = 0;
        for (std::int64_t j = 0; j < w.kernel; ++j)
          within += begin + j * w.dilation >= low && begin + j * w.dilation < high ? 1 : 0;
      }
      counts.push_back(static_cast<double>(within));
    }
    Sizes shape(windows.size() + 2, 1);
    shape[d + 2] = w.count;
    out = out * call.from(counts, shape, dtype);
  }
  return out;
}

/// Positions in the spatial axes with pads as positions in all elements of x.
Tensor positions_in(const Call& call, const Tensor& x, const Tensor& padded, const std::vector<WindowAxis>& windows,
                    const Tensor& index, bool is_column_major) {
  std::vector<Tensor> at(windows.size());
  Tensor rest = index;
  for (std::size_t d = windows.size(); d-- > 0;) {
    const std::int64_t size = padded.size(static_cast<std::int64_t>(d) + 2).value();
    at[d] = rest % size - windows[d].before;
    rest = rest.floor_divide(size);
  }
  Tensor place = at[0] * 0;
  std::int64_t image = 1;
  for (std::size_t k = 0; k < windows.size(); ++k) {
    const std::size_t d = is_column_major ? windows.size() - 1 - k : k;
    place = place * windows[d].size + at[d];
    image *= windows[d].size;
  }
  const Sizes sizes = sizes_of(x);
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
  const bool is_float = x.dtype().is_float();
  const Number least = is_float ? Number(-std::numeric_limits<double>::infinity())
                                : Number(static_cast<std::int64_t>(lowest(x.dtype())));
  const Tensor padded = padded_for(x, windows, least);
  Sizes kernel;
  for (const WindowAxis& w : windows) kernel.push_back(w.kernel);
  const MaxPoolOptions options{.stride = strides_of(windows), .dilation = dilations_of(windows)};
  if (!call.wants(1))
    return {windows.size() == 1   ? max_pool1d(padded, kernel, options)
            : windows.size() == 2 ? max_pool2d(padded, kernel, options)
                                  : max_pool3d(padded, kernel, options)};
  const auto [values, index] = windows.size() == 1   ? max_pool1d_with_indices(padded, kernel, options)
                               : windows.size() == 2 ? max_pool2d_with_indices(padded, kernel, options)
                                                     : max_pool3d_with_indices(padded, kernel, options);
  return {values,
          positions_in(call, x, padded, windows, index, call.opset() >= 8 && call.integer("storage_order") != 0)};
}

Results average_pool(const Call& call) {
  const Tensor x = call.x(0);
  const std::vector<WindowAxis> windows = pool_windows(call, x, call.opset() >= 19);
  const bool counts_pads = call.opset() >= 7 && call.integer("count_include_pad") != 0;
  return {(window_sums(x, windows) / window_counts(call, windows, counts_pads, x.dtype())).cast(x.dtype())};
}

Results lp_pool(const Call& call) {
  const Tensor x = call.x(0);
  const auto p = static_cast<double>(call.integer("p"));
  STRATA_CHECK(p >= 1, domain, "p is ", p);
  return {root(window_sums(power_of_size(x, p), pool_windows(call, x, call.opset() >= 18)), p)};
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
