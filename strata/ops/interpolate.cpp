// Interpolation along axes, one axis after another.
//
// The elements that contribute to an output and their weights depend on the sizes alone. They are computed here, as
// tables. Two conventions say where an output lies: ONNX's, of the coordinate transformation modes, and PyTorch's,
// which is a case of ONNX's up to rounding. Rounding decides which of two elements is the nearest, so PyTorch's
// positions are computed as PyTorch does.

#include <algorithm>
#include <cmath>
#include <limits>

#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"
#include "strata/ops/spatial.h"

namespace strata::ops {

namespace {

constexpr std::int64_t kMostPlaces = 1 << 24;  // of an axis, in a table

/// For each output, in order, the indices and weights of its `taps` input elements.
struct Table {
  std::int64_t taps = 1;
  std::vector<std::int64_t> elements;
  std::vector<double> weights;           // empty: all 1
  std::vector<std::int64_t> is_outside;  // of tf_crop_and_resize: 1 for an output that lies outside of the input
};

/// The resizing of one axis.
struct Resizing {
  std::int64_t axis, from, to;
  double scale;               ///< outputs per element
  double length;              ///< the number of outputs before it is rounded down
  double step;                ///< elements per output: 1 / scale, divided as PyTorch does
  double begin = 0, end = 1;  ///< the region of interest, in parts of the axis
};

/// The options of all axes, with the values of those that are not given.
struct Rules {
  explicit Rules(const InterpolateOptions& o, DType dtype)
      : mode(o.mode),
        is_named(o.coordinate_transformation_mode.has_value()),
        is_single(dtype != dtypes::float64),
        antialias(o.antialias),
        excludes_outside(o.exclude_outside.value_or(o.antialias)),
        cubic(o.cubic_coeff_a.value_or(o.antialias ? -0.5 : -0.75)) {
    const bool is_nearest = mode == Interpolation::nearest;
    coordinates = o.coordinate_transformation_mode.value_or(o.align_corners ? CoordinateTransformation::align_corners
                                                            : is_nearest    ? CoordinateTransformation::asymmetric
                                                                            : CoordinateTransformation::half_pixel);
    nearest = o.nearest_mode.value_or(is_nearest ? NearestMode::floor : NearestMode::round_prefer_ceil);
  }
  bool takes_nearest() const { return mode == Interpolation::nearest || mode == Interpolation::nearest_exact; }
  /// The elements on each side that a position reaches, before antialiasing.
  double reach() const { return mode == Interpolation::cubic ? 2 : 1; }

  /// Where output `o` lies, in elements of the input.
  double place(const Resizing& r, std::int64_t o) const;
  double nearest_of(double place) const;
  /// The weight of an element at a distance.
  double weight(double distance) const;

  Interpolation mode;
  CoordinateTransformation coordinates;
  NearestMode nearest;
  bool is_named;   ///< whether the coordinates are those of a name: ONNX's
  bool is_single;  ///< whether PyTorch computes positions in 32 bits
  bool antialias, excludes_outside;
  double cubic;
};

double Rules::place(const Resizing& r, std::int64_t o) const {
  const auto turn = static_cast<double>(o), from = static_cast<double>(r.from);
  const auto scaled = [&](double at) {
    if (is_named) return at / r.scale;
    return is_single ? static_cast<double>(static_cast<float>(at) * static_cast<float>(r.step)) : at * r.step;
  };
  switch (coordinates) {
    case CoordinateTransformation::asymmetric: return scaled(turn);
    case CoordinateTransformation::tf_half_pixel_for_nn: return scaled(turn + 0.5);
    case CoordinateTransformation::align_corners: return r.length == 1 ? 0 : turn * (from - 1) / (r.length - 1);
    case CoordinateTransformation::pytorch_half_pixel: return r.length > 1 ? scaled(turn + 0.5) - 0.5 : 0;
    case CoordinateTransformation::half_pixel_symmetric:
      return from / 2 * (1 - static_cast<double>(r.to) / r.length) + scaled(turn + 0.5) - 0.5;
    case CoordinateTransformation::tf_crop_and_resize:
      return r.length > 1 ? r.begin * (from - 1) + turn * (r.end - r.begin) * (from - 1) / (r.length - 1)
                          : 0.5 * (r.begin + r.end) * (from - 1);
    case CoordinateTransformation::half_pixel: break;
  }
  return scaled(turn + 0.5) - 0.5;
}

double Rules::nearest_of(double place) const {
  switch (nearest) {
    case NearestMode::floor: return std::floor(place);
    case NearestMode::ceil: return std::ceil(place);
    case NearestMode::round_prefer_ceil: return std::floor(place + 0.5);
    case NearestMode::round_prefer_floor: break;
  }
  return std::ceil(place - 0.5);
}

double Rules::weight(double distance) const {
  const double d = std::abs(distance), a = cubic;
  if (mode == Interpolation::linear) return std::max(0.0, 1 - d);
  // The cubic convolution kernel of Keys.
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

std::int64_t inside(double place, std::int64_t size) {
  return static_cast<std::int64_t>(std::clamp(place, 0.0, static_cast<double>(size - 1)));
}

/// Appends the elements around `place` and their weights, which are functions of distances times `narrowing`.
void add_weighted(Table& t, const Rules& rules, const Resizing& r, double place, double narrowing) {
  const auto last = static_cast<double>(r.from - 1);
  // Both elements of a position beyond the ends are the last one: its weight is exactly 1.
  const double at = rules.mode == Interpolation::linear && !rules.antialias ? std::clamp(place, 0.0, last) : place;
  const std::int64_t before = t.taps / 2 - 1;
  const double first = std::floor(at) - static_cast<double>(before);
  const std::size_t begin = t.weights.size();
  double sum = 0;
  for (std::int64_t k = 0; k < t.taps; ++k) {
    const double element = first + static_cast<double>(k);
    const bool counts = !rules.excludes_outside || (element >= 0 && element <= last);
    t.elements.push_back(inside(element, r.from));
    t.weights.push_back(counts ? rules.weight((at - element) * narrowing) : 0);
    sum += t.weights.back();
  }
  if (!(rules.excludes_outside || rules.antialias) || sum == 0) return;
  for (std::size_t k = begin; k < t.weights.size(); ++k) t.weights[k] /= sum;
}

Table table_of(const Rules& rules, const Resizing& r) {
  const double narrowing = rules.antialias ? std::min(r.scale, 1.0) : 1;
  const double wanted = rules.takes_nearest() ? 1 : 2 * std::ceil(rules.reach() / narrowing);
  const auto taps = static_cast<std::int64_t>(std::min(wanted, 2.0 * static_cast<double>(kMostPlaces)));
  STRATA_CHECK(r.to <= kMostPlaces / taps, budget, "[interpolate] the size ", r.to, " of axis ", r.axis, ", with ",
               taps, taps == 1 ? " element" : " elements", " each, is more than ", kMostPlaces);
  Table out;
  out.taps = taps;
  for (std::int64_t o = 0; o < r.to; ++o) {
    const double place = rules.place(r, o);
    STRATA_CHECK(std::abs(place) < 0x1p50, domain, "[interpolate] output ", o, " of axis ", r.axis,
                 " lies 2**50 elements or more beyond the input");
    if (rules.coordinates == CoordinateTransformation::tf_crop_and_resize)
      out.is_outside.push_back(place < 0 || place > static_cast<double>(r.from - 1) ? 1 : 0);
    if (rules.takes_nearest())
      out.elements.push_back(inside(rules.nearest_of(place), r.from));
    else
      add_weighted(out, rules, r, place, narrowing);
  }
  return out;
}

Value resized(const Value& x, const Resizing& r, const Table& t) {
  Value chosen = x.index_select(r.axis, Value::from(t.elements, {r.to * t.taps}));
  if (t.weights.empty()) return chosen;
  Ints sizes(x.shape().size() + 1, 1);
  const auto at = static_cast<std::size_t>(r.axis);
  sizes[at] = r.to, sizes[at + 1] = t.taps;
  const Value weights = Value::from(t.weights, sizes).cast(x.dtype());
  return (chosen.unflatten(r.axis, {r.to, t.taps}) * weights).sum(r.axis + 1);
}

/// `x` with `value` where the outputs of the axis lie outside of the input.
Value with_outside(const Value& x, std::int64_t axis, const std::vector<std::int64_t>& is_outside, double value) {
  if (std::find(is_outside.begin(), is_outside.end(), 1) == is_outside.end()) return x;
  Ints sizes(x.shape().size(), 1);
  sizes[static_cast<std::size_t>(axis)] = std::ssize(is_outside);
  return Value::from(is_outside, sizes).ne(0).where(value, x);
}

/// The axes, and their sizes.
std::vector<Resizing> axes_of(const Value& x, const InterpolateOptions& o) {
  std::vector<Resizing> out;
  const auto add = [&](std::int64_t axis) {
    const std::int64_t from = number_of(x.size(axis), "interpolate");
    out.push_back({axis, from, from, 1, static_cast<double>(from), 1});
  };
  if (!o.axes) {
    STRATA_CHECK(x.ndim() >= 3, shape, "[interpolate] the input has shape ", render(x.shape()),
                 "; (batch, channels, sizes...) is expected, or `axes`");
    for (std::int64_t axis = 2; axis < x.ndim(); ++axis) add(axis);
    return out;
  }
  for (const std::int64_t given : *o.axes) {
    STRATA_CHECK(given >= -x.ndim() && given < x.ndim(), shape, "[interpolate] axis ", given,
                 " is not one of the shape ", render(x.shape()));
    const std::int64_t axis = given < 0 ? given + x.ndim() : given;
    for (const Resizing& r : out) STRATA_CHECK(r.axis != axis, shape, "[interpolate] axis ", given, " is given twice");
    add(axis);
  }
  return out;
}

void set_size(Resizing& r, std::int64_t to) {
  const auto from = static_cast<double>(r.from), size = static_cast<double>(to);
  r.to = to, r.scale = size / from, r.step = from / size, r.length = size;
}

/// Sets the size of an axis by a factor.
void scale_by(Resizing& r, double factor, bool is_named) {
  const auto from = static_cast<double>(r.from);
  // NOTE: ONNX's scales are floats of 32 bits, and so is the product.
  const double size = std::floor(is_named ? static_cast<double>(static_cast<float>(r.from) * static_cast<float>(factor))
                                          : from * factor);
  // ONNX allows axes without elements.
  const double least = is_named ? 0 : 1;
  STRATA_CHECK(factor > 0 && size >= least && size < 0x1p40, domain, "[interpolate] a factor of ", factor,
               " makes no size between ", least, " and 2**40 of the size ", r.from);
  r.to = static_cast<std::int64_t>(size);
  r.scale = factor, r.step = 1 / factor;
  r.length = is_named ? from * factor : size;
}

/// Sets the sizes to the largest within those given, or the smallest that are not smaller, by one factor for all axes.
void keep_ratio(std::vector<Resizing>& axes, AspectRatio policy) {
  double scale = policy == AspectRatio::not_larger ? std::numeric_limits<double>::infinity() : 0;
  for (const Resizing& r : axes)
    scale = policy == AspectRatio::not_larger ? std::min(scale, r.scale) : std::max(scale, r.scale);
  for (Resizing& r : axes) {
    r.to = static_cast<std::int64_t>(std::floor(scale * static_cast<double>(r.from) + 0.5));
    r.scale = scale, r.step = 1 / scale, r.length = scale * static_cast<double>(r.from);
  }
}

void set_sizes(std::vector<Resizing>& axes, const Value& x, const InterpolateOptions& o) {
  const bool is_named = o.coordinate_transformation_mode.has_value();
  if (o.size) {
    const std::vector<std::int64_t> sizes = o.size->of("interpolate", "size", axes.size(), is_named ? 0 : 1);
    for (std::size_t k = 0; k < axes.size(); ++k) set_size(axes[k], sizes[k]);
  } else {
    STRATA_CHECK(o.scale_factor.size() == 1 || o.scale_factor.size() == axes.size(), shape, "[interpolate] ",
                 o.scale_factor.size(), " factors for ", axes.size(), " axes");
    for (std::size_t k = 0; k < axes.size(); ++k)
      scale_by(axes[k], o.scale_factor[o.scale_factor.size() == 1 ? 0 : k], is_named);
  }
  for (const Resizing& r : axes)
    STRATA_CHECK(r.from > 0 || r.to == 0, shape, "[interpolate] of nothing: shape ", render(x.shape()));
  if (o.recompute_scale_factor)
    for (Resizing& r : axes) set_size(r, r.to);
  if (o.keep_aspect_ratio_policy != AspectRatio::stretch) keep_ratio(axes, o.keep_aspect_ratio_policy);
}

/// Sets the region of interest: the begins of all axes, then their ends.
void set_region(std::vector<Resizing>& axes, const std::vector<double>& roi) {
  STRATA_CHECK(roi.size() == 2 * axes.size(), shape, "[interpolate] tf_crop_and_resize needs a roi of ",
               2 * axes.size(), " numbers for ", axes.size(), axes.size() == 1 ? " axis" : " axes", "; ", roi.size(),
               " are given");
  for (std::size_t k = 0; k < axes.size(); ++k) axes[k].begin = roi[k], axes[k].end = roi[k + axes.size()];
}

/// Whether each output lies at the element of its number.
bool is_unchanged(const Resizing& r, CoordinateTransformation coordinates) {
  return r.from == r.to && r.scale == 1 && r.begin == 0 && r.end == 1 &&
         coordinates != CoordinateTransformation::tf_half_pixel_for_nn;
}

Value by_area(const Value& input, const std::vector<Resizing>& axes) {
  Numbers to;
  for (const Resizing& r : axes) to.push_back(r.to);
  STRATA_CHECK(to.size() <= 3, shape, "[interpolate] the mode area has ", to.size(),
               " spatial axes; 3 at most are allowed");
  if (to.size() == 1) return adaptive_avg_pool1d(input, to);
  return to.size() == 2 ? adaptive_avg_pool2d(input, to) : adaptive_avg_pool3d(input, to);
}

/// Refuses options that have no meaning together.
void check_options(const InterpolateOptions& o) {
  const bool is_area = o.mode == Interpolation::area, is_named = o.coordinate_transformation_mode.has_value();
  const bool is_weighted = o.mode == Interpolation::linear || o.mode == Interpolation::cubic;
  STRATA_CHECK(o.size.has_value() == o.scale_factor.empty(), domain,
               "[interpolate] either a size or a factor is expected");
  STRATA_CHECK(o.size || o.keep_aspect_ratio_policy == AspectRatio::stretch, domain,
               "[interpolate] keep_aspect_ratio_policy is for sizes; a factor is given");
  STRATA_CHECK(
      is_weighted || !o.align_corners, domain,
      "[interpolate] align_corners is for the modes linear and cubic alone; a coordinate_transformation_mode is "
      "for all");
  STRATA_CHECK(is_weighted || !o.antialias, domain, "[interpolate] antialias is for the modes linear and cubic alone");
  STRATA_CHECK(!is_named || !o.align_corners, domain,
               "[interpolate] align_corners is a coordinate_transformation_mode; another one is given");
  STRATA_CHECK(!is_weighted || !o.nearest_mode, domain, "[interpolate] nearest_mode is for the modes nearest alone");
  STRATA_CHECK(!is_area || !(is_named || o.axes || o.nearest_mode), domain,
               "[interpolate] the mode area has no coordinates, and takes all axes behind the first two");
  STRATA_CHECK(o.roi.empty() || o.coordinate_transformation_mode == CoordinateTransformation::tf_crop_and_resize,
               domain, "[interpolate] a roi is for the coordinate_transformation_mode tf_crop_and_resize alone");
}

}  // namespace

Value interpolate(const Value& input, const InterpolateOptions& options) {
  check_options(options);
  const Rules rules(options, input.dtype());
  STRATA_CHECK(rules.takes_nearest() || input.dtype().is_float(), domain, "[interpolate] the input has dtype ",
               input.dtype().name(), ": cast it to a float dtype first");
  std::vector<Resizing> axes = axes_of(input, options);
  set_sizes(axes, input, options);
  if (rules.coordinates == CoordinateTransformation::tf_crop_and_resize) set_region(axes, options.roi);
  if (options.mode == Interpolation::area) return by_area(input, axes);
  Value out = input;
  std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>> outside;
  for (const Resizing& r : axes) {
    if (is_unchanged(r, rules.coordinates)) continue;
    const Table table = table_of(rules, r);
    out = resized(out, r, table);
    outside.emplace_back(r.axis, table.is_outside);
  }
  for (const auto& [axis, is_outside] : outside) out = with_outside(out, axis, is_outside, options.extrapolation_value);
  return out;
}

}  // namespace strata::ops
