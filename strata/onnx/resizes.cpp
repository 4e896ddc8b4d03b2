// Resize and its older forms: along each axis, an output element is a sum of a few input elements with weights that are
// computed on the host.
#include <algorithm>
#include <cmath>

#include "strata/onnx/operators.h"
#include "strata/tensor/functional.h"

namespace strata::onnx {
namespace {

/// How an axis is resized, by the words of the operator.
struct ResizeWords {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, outside_value = 0;
  bool excludes_outside = false;
};

/// The inputs of each output element along an axis: tap t of element k is elements[t][k] with weight weights[t][k].
struct Taps {
  std::vector<Sizes> elements;
  std::vector<std::vector<double>> weights;
  std::vector<bool> is_outside;  ///< of tf_crop_and_resize: the element has the outside value
};

struct ResizedAxis {
  std::int64_t from, to;
  double scale, begin = 0, end = 1;  ///< begin and end of the region of interest
  /// The resized length before it is rounded down, which the formulas of coordinates have.
  double length() const { return static_cast<double>(from) * scale; }
};

double coordinate(const ResizedAxis& axis, const ResizeWords& words, std::int64_t k) {
  const auto at = static_cast<double>(k), from = static_cast<double>(axis.from);
  const double to = axis.length();
  const std::string& c = words.coordinates;
  if (c == "asymmetric") return at / axis.scale;
  if (c == "align_corners") return to == 1 ? 0 : at * (from - 1) / (to - 1);
  if (c == "pytorch_half_pixel") return to > 1 ? (at + 0.5) / axis.scale - 0.5 : 0;
  if (c == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;
  if (c == "tf_crop_and_resize")
    return to > 1 ? axis.begin * (from - 1) + at * (axis.end - axis.begin) * (from - 1) / (to - 1)
                  : 0.5 * (axis.begin + axis.end) * (from - 1);
  if (c == "half_pixel_symmetric")
    return from / 2 * (1 - static_cast<double>(axis.to) / to) + (at + 0.5) / axis.scale - 0.5;
  STRATA_CHECK(c == "half_pixel", domain, "coordinate_transformation_mode is ", c);
  return (at + 0.5) / axis.scale - 0.5;
}

double nearest(double at, const std::string& mode) {
  if (mode == "floor") return std::floor(at);
  if (mode == "ceil") return std::ceil(at);
  if (mode == "round_prefer_ceil") return std::floor(at + 0.5);
  STRATA_CHECK(mode == "round_prefer_floor", domain, "nearest_mode is ", mode);
  return std::ceil(at - 0.5);
}

/// Keys' cubic convolution with parameter a, at distance d.
double cubic_weight(double d, double a) {
  d = std::abs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

Taps taps_of(const ResizedAxis& axis, const ResizeWords& words) {
  const std::size_t count = words.mode == "nearest" ? 1 : words.mode == "linear" ? 2 : 4;
  STRATA_CHECK(count < 4 || words.mode == "cubic", domain, "the mode is ", words.mode);
  Taps out{std::vector<Sizes>(count), std::vector<std::vector<double>>(count), {}};
  const std::int64_t last = axis.from - 1;
  for (std::int64_t k = 0; k < axis.to; ++k) {
    const double at = coordinate(axis, words, k);
    STRATA_CHECK(std::abs(at) < 1e15, domain, "a scale of ", axis.scale);
    out.is_outside.push_back(words.coordinates == "tf_crop_and_resize" && (at < 0 || at > static_cast<double>(last)));
    const double base = count == 1 ? nearest(at, words.nearest) : std::floor(at);
    double sum = 0;
    for (std::size_t t = 0; t < count; ++t) {
      const auto element = static_cast<std::int64_t>(base) + static_cast<std::int64_t>(t) - (count == 4 ? 1 : 0);
      const double distance = at - static_cast<double>(element);
      double weight = count == 1 ? 1 : count == 2 ? 1 - std::abs(distance) : cubic_weight(distance, words.cubic);
      if (words.excludes_outside && (element < 0 || element > last)) weight = 0;
      sum += weight;
      out.elements[t].push_back(std::clamp(element, std::int64_t{0}, last));
      out.weights[t].push_back(weight);
    }
    if (words.excludes_outside && sum != 0)
      for (std::vector<double>& weights : out.weights) weights.back() /= sum;
  }
  return out;
}

Tensor resized_axis(const Call& call, const Tensor& x, std::int64_t axis, const Taps& taps) {
  const std::int64_t count = std::ssize(taps.elements[0]);
  Sizes shape(static_cast<std::size_t>(x.ndim()), 1);
  shape[static_cast<std::size_t>(axis)] = count;
  const auto tap = [&](std::size_t t) { return x.index_select(axis, call.from(taps.elements[t], {count})); };
  if (taps.elements.size() == 1) return tap(0);
  Tensor out = tap(0) * call.from(taps.weights[0], shape, x.dtype());
  for (std::size_t t = 1; t < taps.elements.size(); ++t)
    out = out + tap(t) * call.from(taps.weights[t], shape, x.dtype());
  return out;
}

Results resized(const Call& call, const std::vector<ResizedAxis>& axes, const ResizeWords& words) {
  const Tensor given = call.x(0);
  const bool is_float = given.dtype().is_float();
  Tensor x = is_float || words.mode == "nearest" ? given : given.cast(dtypes::float32);
  std::vector<std::pair<std::int64_t, std::vector<bool>>> outside;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const ResizedAxis& axis = axes[d];
    const bool is_whole = axis.begin == 0 && axis.end == 1;
    if (axis.from == axis.to && axis.scale == 1 && (is_whole || words.coordinates != "tf_crop_and_resize")) continue;
    STRATA_CHECK(axis.to >= 0 && axis.to <= std::int64_t{1} << 20, budget, "an axis of ", axis.to, " elements");
    STRATA_CHECK(axis.from > 0 || axis.to == 0, shape, "an axis without elements becomes ", axis.to, " elements");
    const Taps taps = taps_of(axis, words);
    x = resized_axis(call, x, static_cast<std::int64_t>(d), taps);
    if (std::find(taps.is_outside.begin(), taps.is_outside.end(), true) != taps.is_outside.end())
      outside.emplace_back(static_cast<std::int64_t>(d), taps.is_outside);
  }
  for (const auto& [axis, is_outside] : outside) {
    Sizes shape(static_cast<std::size_t>(x.ndim()), 1);
    shape[static_cast<std::size_t>(axis)] = std::ssize(is_outside);
    const Tensor mask = call.from(Sizes(is_outside.begin(), is_outside.end()), shape) != 0;
    x = mask.where(words.outside_value, x);
  }
  if (x.dtype() == given.dtype()) return {x};
  return {x.round().clip(Operand(lowest(given.dtype())), Operand(highest(given.dtype()))).cast(given.dtype())};
}

/// An axis that stays as it is, whatever its size.
constexpr ResizedAxis kUnchanged{1, 1, 1};

std::int64_t number_of(const Ints& shape, std::size_t d) {
  STRATA_CHECK(shape[d].is_number(), shape, "axis ", d, " of the shape ", render(shape),
               " is resized, and has to be a number: load the model without bounds of it");
  return shape[d].value();
}

/// The axes by scales. @pre scales.size() is the rank
std::vector<ResizedAxis> axes_by_scales(const Ints& shape, const std::vector<double>& scales) {
  STRATA_CHECK(scales.size() == shape.size(), shape, scales.size(), " scales for ", shape.size(), " axes");
  std::vector<ResizedAxis> out;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    STRATA_CHECK(scales[d] > 0 && scales[d] < 1e9, domain, "the scale ", scales[d]);
    if (!shape[d].is_number() && scales[d] == 1) {
      out.push_back(kUnchanged);
      continue;
    }
    const std::int64_t from = number_of(shape, d);
    // Scales are floats of 32 bits; the product is rounded as those are.
    const auto to = static_cast<std::int64_t>(std::floor(static_cast<float>(from) * static_cast<float>(scales[d])));
    out.push_back({from, to, scales[d]});
  }
  return out;
}

/// The axes by one scale for all of `which`: the largest result that is within the sizes, or the smallest that is not
/// smaller than they are.
std::vector<ResizedAxis> axes_by_ratio(const Ints& shape, const Ints& sizes, const Axes& which,
                                       const std::string& policy) {
  STRATA_CHECK(policy == "not_larger" || policy == "not_smaller", domain, "keep_aspect_ratio_policy is ", policy);
  std::vector<ResizedAxis> out(shape.size(), kUnchanged);
  double scale = 0;
  for (std::size_t k = 0; k < which.size(); ++k) {
    const auto d = static_cast<std::size_t>(which[k]);
    const double own = static_cast<double>(number_of(sizes, d)) / static_cast<double>(number_of(shape, d));
    scale = k == 0 ? own : policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
  }
  for (const std::int64_t axis : which) {
    const auto d = static_cast<std::size_t>(axis);
    const std::int64_t from = number_of(shape, d);
    out[d] = {from, static_cast<std::int64_t>(std::floor(scale * static_cast<double>(from) + 0.5)), scale};
  }
  return out;
}

}  // namespace

Results resize(const Call& call) {
  const Ints& shape = call.datum(0).tensor().shape();
  ResizeWords words{call.text("mode"),
                    call.text("coordinate_transformation_mode"),
                    call.text("nearest_mode"),
                    call.number("cubic_coeff_a"),
                    call.number("extrapolation_value"),
                    call.integer("exclude_outside") != 0};
  // Since version 18 scales, sizes and the region may be those of some axes.
  Axes which;
  if (call.opset() >= 18) {
    STRATA_CHECK(call.integer("antialias") == 0, undefined, "antialias is not supported");
    for (const std::int64_t axis : call.integers("axes")) which.push_back(Call::axis_in(axis, std::ssize(shape)));
  }
  STRATA_CHECK(words.coordinates != "half_pixel_symmetric" || call.opset() >= 19, domain,
               "half_pixel_symmetric before version 19");
  if (which.empty())
    for (std::size_t d = 0; d < shape.size(); ++d) which.push_back(static_cast<std::int64_t>(d));
  const auto spread = [&](const auto& given, auto all, std::size_t offset) {
    for (std::size_t k = 0; k < which.size(); ++k) all[static_cast<std::size_t>(which[k])] = given[k + offset];
    return all;
  };
  const bool has_scales = call.has(2) && call.datum(2).tensor().numel() != Int(0);
  std::vector<ResizedAxis> axes;
  if (has_scales) {
    const std::vector<double> given = call.numbers_of(2);
    STRATA_CHECK(given.size() == which.size(), shape, given.size(), " scales for ", which.size(), " axes");
    axes = axes_by_scales(shape, spread(given, std::vector<double>(shape.size(), 1), 0));
  } else {
    const Ints given = call.sizes_of_input(3);
    STRATA_CHECK(given.size() == which.size(), shape, given.size(), " sizes for ", which.size(), " axes");
    const Ints sizes = spread(given, shape, 0);
    const std::string policy = call.opset() >= 18 ? call.text("keep_aspect_ratio_policy") : "stretch";
    if (policy != "stretch") return resized(call, axes_by_ratio(shape, sizes, which, policy), words);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (!shape[d].is_number() && shape[d] == sizes[d]) {
        axes.push_back(kUnchanged);
        continue;
      }
      const std::int64_t from = number_of(shape, d), to = number_of(sizes, d);
      axes.push_back({from, to, static_cast<double>(to) / static_cast<double>(from)});
    }
  }
  if (words.coordinates == "tf_crop_and_resize") {
    const std::vector<double> region = call.numbers_of(1);
    STRATA_CHECK(region.size() == 2 * which.size(), shape, "a region of ", region.size(), " numbers for ", which.size(),
                 " axes");
    const std::vector<double> begins = spread(region, std::vector<double>(shape.size(), 0), 0),
                              ends = spread(region, std::vector<double>(shape.size(), 1), which.size());
    for (std::size_t d = 0; d < shape.size(); ++d) {
      axes[d].begin = begins[d];
      axes[d].end = ends[d];
    }
  }
  return resized(call, axes, words);
}

Results resize10(const Call& call) {
  return resized(call, axes_by_scales(call.datum(0).tensor().shape(), call.numbers_of(1)),
                 {.mode = call.text("mode"), .coordinates = "asymmetric", .nearest = "floor"});
}

Results upsample7(const Call& call) {
  return resized(call, axes_by_scales(call.datum(0).tensor().shape(), call.numbers("scales")),
                 {.mode = call.text("mode"), .coordinates = "asymmetric", .nearest = "floor"});
}

Results sample_at_grid(const Call& call) {
  const std::string &mode = call.text("mode"), &padding = call.text("padding_mode");
  GridSampleOptions options{.align_corners = call.integer("align_corners") != 0};
  const bool is_linear = mode == (call.opset() < 20 ? "bilinear" : "linear");
  const bool is_cubic = mode == (call.opset() < 20 ? "bicubic" : "cubic");
  STRATA_CHECK(is_linear || is_cubic || mode == "nearest", domain, "the mode is ", mode);
  STRATA_CHECK(padding == "zeros" || padding == "border" || padding == "reflection", domain, "the padding mode is ",
               padding);
  options.mode = mode == "nearest" ? Interpolation::nearest : is_cubic ? Interpolation::cubic : Interpolation::linear;
  using Outside = GridSampleOptions::Outside;
  options.padding_mode = padding == "zeros"    ? Outside::zeros
                         : padding == "border" ? Outside::border
                                               : Outside::reflection;
  return {grid_sample(call.x(0), call.x(1), options)};
}

}  // namespace strata::onnx
