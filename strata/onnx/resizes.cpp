// Resize and its older forms, by interpolate(); GridSample.
#include <algorithm>
#include <array>

#include "strata/onnx/operators.h"
#include "strata/tensor/functional.h"

namespace strata::onnx {
namespace {

/// The place of an attribute's word among `words`, which are in the order of an enum.
template <class E, std::size_t n>
E choice(const char* attribute, const std::string& word, const std::array<const char*, n>& words) {
  const auto at = std::find(words.begin(), words.end(), word);
  STRATA_CHECK(at != words.end(), domain, attribute, " is ", word);
  return static_cast<E>(at - words.begin());
}

Interpolation mode_of(const Call& call) {
  constexpr std::array words{"nearest", "linear", "cubic"};
  constexpr std::array modes{Interpolation::nearest, Interpolation::linear, Interpolation::cubic};
  return modes[choice<std::size_t>("mode", call.text("mode"), words)];
}

CoordinateTransformation coordinates_of(const Call& call) {
  const std::string& word = call.text("coordinate_transformation_mode");
  STRATA_CHECK(word != "half_pixel_symmetric" || call.opset() >= 19, domain, "half_pixel_symmetric before version 19");
  return choice<CoordinateTransformation>(
      "coordinate_transformation_mode", word,
      std::array{"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric",
                 "tf_half_pixel_for_nn", "tf_crop_and_resize"});
}

/// The axes of a Resize with what is given for each.
struct ResizedAxes {
  std::vector<std::int64_t> axes;
  std::vector<double> scales = {};  ///< none: sizes are given
  Ints sizes = {};
  std::vector<double> begins = {}, ends = {};  ///< of the region of interest, if there is one

  template <class T>
  static void drop(std::vector<T>& of_axes, std::size_t k) {
    if (!of_axes.empty()) of_axes.erase(of_axes.begin() + static_cast<std::ptrdiff_t>(k));
  }
  /// Leaves out axes of symbolic sizes that stay as they are. @throws Error (shape) for those that do not
  void settle(const Ints& shape, bool is_stretched) {
    for (std::size_t k = axes.size(); k-- > 0;) {
      const Int& size = shape[static_cast<std::size_t>(axes[k])];
      if (size.is_number()) continue;
      STRATA_CHECK(is_stretched && (scales.empty() ? sizes[k] == size : scales[k] == 1), shape, "axis ", axes[k],
                   " of the shape ", render(shape),
                   " is resized, and has to be a number: load the model without bounds of it");
      drop(axes, k), drop(scales, k), drop(begins, k), drop(ends, k);
      if (!sizes.empty()) sizes.erase_at(k);
    }
  }
  std::vector<std::int64_t> numbers(const Ints& shape) const {
    std::vector<std::int64_t> out;
    for (const Int& size : sizes) {
      STRATA_CHECK(size.is_number(), shape, "the shape ", render(shape), " is resized to ", render(sizes),
                   ", which have to be numbers: load the model without bounds of them");
      out.push_back(size.value());
    }
    return out;
  }
};

Results resized(const Call& call, ResizedAxes&& given, InterpolateOptions options) {
  const Tensor x = call.x(0);
  STRATA_CHECK(given.scales.empty() || given.scales.size() == given.axes.size(), shape, given.scales.size(),
               " scales for ", given.axes.size(), " axes");
  given.settle(x.shape(), options.keep_aspect_ratio_policy == AspectRatio::stretch);
  if (given.axes.empty()) return {x};
  if (given.scales.empty()) options.size = PerAxis(given.numbers(x.shape()));
  options.axes = std::move(given.axes);
  options.scale_factor = std::move(given.scales);
  options.roi = std::move(given.begins);
  options.roi.insert(options.roi.end(), given.ends.begin(), given.ends.end());
  if (x.dtype().is_float() || options.mode == Interpolation::nearest) return {interpolate(x, options)};
  const Tensor y = interpolate(x.cast(dtypes::float32), options);
  return {y.round().clip(Operand(lowest(x.dtype())), Operand(highest(x.dtype()))).cast(x.dtype())};
}

std::vector<std::int64_t> all_axes(const Call& call) {
  std::vector<std::int64_t> out;
  for (std::int64_t axis = 0; axis < call.datum(0).tensor().ndim(); ++axis) out.push_back(axis);
  return out;
}

/// The forms before version 11.
Results resized_by(const Call& call, const std::vector<double>& scales) {
  return resized(call, {.axes = all_axes(call), .scales = scales},
                 {.mode = mode_of(call), .coordinate_transformation_mode = CoordinateTransformation::asymmetric});
}

}  // namespace

Results resize(const Call& call) {
  InterpolateOptions options{.mode = mode_of(call),
                             .coordinate_transformation_mode = coordinates_of(call),
                             .cubic_coeff_a = call.number("cubic_coeff_a"),
                             .exclude_outside = call.integer("exclude_outside") != 0,
                             .extrapolation_value = call.number("extrapolation_value")};
  if (options.mode == Interpolation::nearest)
    options.nearest_mode = choice<NearestMode>("nearest_mode", call.text("nearest_mode"),
                                               std::array{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  ResizedAxes given{.axes = all_axes(call)};
  // Since version 18 scales, sizes and the region may be those of some axes.
  if (call.opset() >= 18) {
    options.antialias = call.integer("antialias") != 0 && options.mode != Interpolation::nearest;
    const Sizes some = call.integers("axes");
    if (!some.empty()) given.axes.clear();
    for (const std::int64_t axis : some) given.axes.push_back(Call::axis_in(axis, call.datum(0).tensor().ndim()));
  }
  const std::size_t count = given.axes.size();
  if (call.has(2) && call.datum(2).tensor().numel() != Int(0)) {
    given.scales = call.numbers_of(2);
  } else {
    given.sizes = call.sizes_of_input(3);
    STRATA_CHECK(given.sizes.size() == count, shape, given.sizes.size(), " sizes for ", count, " axes");
    if (call.opset() >= 18)
      options.keep_aspect_ratio_policy =
          choice<AspectRatio>("keep_aspect_ratio_policy", call.text("keep_aspect_ratio_policy"),
                              std::array{"stretch", "not_larger", "not_smaller"});
  }
  if (options.coordinate_transformation_mode == CoordinateTransformation::tf_crop_and_resize) {
    const std::vector<double> region = call.numbers_of(1);
    STRATA_CHECK(region.size() == 2 * count, shape, "a region of ", region.size(), " numbers for ", count, " axes");
    const auto middle = region.begin() + static_cast<std::ptrdiff_t>(count);
    given.begins = {region.begin(), middle}, given.ends = {middle, region.end()};
  }
  return resized(call, std::move(given), options);
}

Results resize10(const Call& call) { return resized_by(call, call.numbers_of(1)); }

Results upsample7(const Call& call) { return resized_by(call, call.numbers("scales")); }

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
