// Interpolation along spatial axes, one axis after another.
//
// The elements that contribute to an output and their weights depend on the sizes alone. They are computed here, as
// tables, in the precision of the input, so that rounding of a position between two elements does not depend on the
// kernel.

#include <algorithm>
#include <cmath>

#include "strata/ops/functional.h"
#include "strata/ops/operand_promotion.h"
#include "strata/ops/spatial.h"

namespace strata::ops {

namespace {

constexpr std::int64_t kMostPlaces = 1 << 24;  // of an axis, in a table

/// For each output, in order, the indices and weights of its `taps` input elements.
struct Table {
  std::int64_t taps = 1;
  std::vector<std::int64_t> elements;
  std::vector<double> weights;  // empty: all 1
};

/// The resizing of one axis.
struct Resizing {
  std::int64_t from, to;
  std::optional<double> factor;
  Interpolation mode;
  bool align_corners;
};

/// The distance of neighbouring outputs, in input elements.
template <class Real>
Real step_of(const Resizing& r) {
  if (r.align_corners) return r.to > 1 ? static_cast<Real>(r.from - 1) / static_cast<Real>(r.to - 1) : Real(0);
  return r.factor ? static_cast<Real>(1 / *r.factor) : static_cast<Real>(r.from) / static_cast<Real>(r.to);
}

std::int64_t inside(double place, std::int64_t size) {
  return static_cast<std::int64_t>(std::clamp(place, 0.0, static_cast<double>(size - 1)));
}

void add_nearest(Table& t, const Resizing& r, double place) { t.elements.push_back(inside(std::floor(place), r.from)); }

template <class Real>
void add_linear(Table& t, const Resizing& r, Real place) {
  const Real from = std::max(place, Real(0));
  const std::int64_t first = inside(std::floor(from), r.from);
  const Real share = std::clamp(from - static_cast<Real>(first), Real(0), Real(1));
  t.elements.insert(t.elements.end(), {first, std::min(first + 1, r.from - 1)});
  t.weights.insert(t.weights.end(), {static_cast<double>(1 - share), static_cast<double>(share)});
}

/// The cubic convolution kernel of Keys with a = -3/4: for distances in [0, 1], and in [1, 2].
double cubic_near(double x) { return (1.25 * x - 2.25) * x * x + 1; }
double cubic_far(double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; }

void add_cubic(Table& t, const Resizing& r, double place) {
  const double first = std::floor(place), share = place - first;
  for (int k = -1; k <= 2; ++k) t.elements.push_back(inside(first + k, r.from));
  t.weights.insert(t.weights.end(),
                   {cubic_far(share + 1), cubic_near(share), cubic_near(1 - share), cubic_far(2 - share)});
}

template <class Real>
Table table_of(const Resizing& r) {
  const Real step = step_of<Real>(r), half = Real(0.5);
  Table out;
  out.taps = r.mode == Interpolation::cubic ? 4 : r.mode == Interpolation::linear ? 2 : 1;
  for (std::int64_t o = 0; o < r.to; ++o) {
    const Real turn = static_cast<Real>(o);
    const Real centre = r.align_corners ? turn * step : (turn + half) * step - half;
    if (r.mode == Interpolation::nearest) add_nearest(out, r, static_cast<double>(turn * step));
    if (r.mode == Interpolation::nearest_exact) add_nearest(out, r, static_cast<double>((turn + half) * step));
    if (r.mode == Interpolation::linear) add_linear(out, r, centre);
    if (r.mode == Interpolation::cubic) add_cubic(out, r, static_cast<double>(centre));
  }
  return out;
}

Value resized(const Value& x, std::int64_t axis, const Table& t, std::int64_t to) {
  const Value elements = Value::from(t.elements, {to * t.taps});
  Value chosen = x.index_select(axis, elements);
  if (t.weights.empty()) return chosen;
  Ints sizes(x.shape().size() + 1, 1);
  sizes[static_cast<std::size_t>(axis)] = to, sizes[static_cast<std::size_t>(axis) + 1] = t.taps;
  const Value weights = Value::from(t.weights, sizes).cast(x.dtype());
  return (chosen.unflatten(axis, {to, t.taps}) * weights).sum(axis + 1);
}

/// The output size of axis k, and the scale factor if one was given.
std::pair<std::int64_t, std::optional<double>> target(const InterpolateOptions& o,
                                                      const std::vector<std::int64_t>& sizes, std::size_t k) {
  if (o.size) return {o.size->of("interpolate", "size", sizes.size(), 1)[k], std::nullopt};
  STRATA_CHECK(o.scale_factor.size() == 1 || o.scale_factor.size() == sizes.size(), shape, "[interpolate] ",
               o.scale_factor.size(), " factors for ", sizes.size(), " axes");
  const double factor = o.scale_factor[o.scale_factor.size() == 1 ? 0 : k];
  const double size = std::floor(static_cast<double>(sizes[k]) * factor);
  STRATA_CHECK(size >= 1 && size < 0x1p40, domain, "[interpolate] a factor of ", factor,
               " makes no size between 1 and 2**40 of the size ", sizes[k]);
  return {static_cast<std::int64_t>(size), factor};
}

Value by_area(const Value& input, const Spatial& x, const InterpolateOptions& o) {
  Numbers to;
  for (std::size_t k = 0; k < x.sizes.size(); ++k) to.push_back(target(o, x.sizes, k).first);
  STRATA_CHECK(to.size() <= 3, shape, "[interpolate] the mode area has ", to.size(),
               " spatial axes; 3 at most are allowed");
  if (to.size() == 1) return adaptive_avg_pool1d(input, to);
  return to.size() == 2 ? adaptive_avg_pool2d(input, to) : adaptive_avg_pool3d(input, to);
}

}  // namespace

Value interpolate(const Value& input, const InterpolateOptions& options) {
  const bool is_nearest = options.mode == Interpolation::nearest || options.mode == Interpolation::nearest_exact;
  STRATA_CHECK(input.ndim() >= 3, shape, "[interpolate] the input has shape ", render(input.shape()),
               "; (batch, channels, sizes...) is expected");
  STRATA_CHECK(options.size.has_value() == options.scale_factor.empty(), domain,
               "[interpolate] either a size or a factor is expected");
  const bool is_area = options.mode == Interpolation::area;
  STRATA_CHECK(!((is_nearest || is_area) && options.align_corners), domain,
               "[interpolate] align_corners is for the modes linear and cubic alone");
  STRATA_CHECK(is_nearest || input.dtype().is_float(), domain, "[interpolate] the input has dtype ",
               input.dtype().name(), ": cast it to a float dtype first");
  const Spatial x("interpolate", input, static_cast<std::size_t>(input.ndim() - 2));
  if (is_area) return by_area(input, x, options);
  Value out = input;
  for (std::size_t k = 0; k < x.sizes.size(); ++k) {
    const auto [to, factor] = target(options, x.sizes, k);
    STRATA_CHECK(x.sizes[k] > 0, shape, "[interpolate] of nothing: shape ", render(input.shape()));
    STRATA_CHECK(to <= kMostPlaces, budget, "[interpolate] the size ", to, " is more than ", kMostPlaces);
    const Resizing r = {x.sizes[k], to, factor, options.mode, options.align_corners};
    const bool is_double = input.dtype() == dtypes::float64;
    out = resized(out, static_cast<std::int64_t>(k) + 2, is_double ? table_of<double>(r) : table_of<float>(r), to);
  }
  return out;
}

}  // namespace strata::ops
