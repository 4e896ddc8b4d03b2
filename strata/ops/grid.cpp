// grid_sample(): samples an image at the places of a grid, with interpolation; and affine_grid(), the grid of an affine
// map.

#include <algorithm>
#include <array>
#include <vector>

#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

using Outside = GridSampleOptions::Outside;

/// Grid coordinates in [-1, 1] as positions in elements of an axis.
Value unnormalized(const Value& g, std::int64_t size, bool align_corners) {
  const auto n = static_cast<double>(size);
  return align_corners ? (g + 1) * ((n - 1) / 2) : ((g + 1) * n - 1) * 0.5;
}

/// Positions reflected at the centres (align_corners) or outer edges of the outermost elements, as often as needed.
Value reflected_into(const Value& x, std::int64_t size, bool align_corners) {
  const double low = align_corners ? 0 : -0.5, span = static_cast<double>(align_corners ? size - 1 : size);
  if (span == 0) return x * 0;
  const Value apart = (x - low).abs(), reflections = (apart / span).floor().detach();
  const Value rest = apart - reflections * span, is_even = (reflections * 0.5).frac().eq(0);
  return is_even.where(rest, span - rest) + low;
}

/// An axis of the image.
struct SampledAxis {
  std::int64_t size;
  const GridSampleOptions& options;
  /// The position that is sampled for position x, by the padding mode.
  Value inside(const Value& x) const {
    if (options.padding_mode == Outside::zeros) return x;
    const Value back = options.padding_mode == Outside::reflection ? reflected_into(x, size, options.align_corners) : x;
    return back.hardtanh(0, static_cast<double>(size - 1));
  }
};

/// One element that contributes to each place: its index (-1: outside, contributes 0) and its weight (none: 1).
struct Tap {
  Value element;
  std::optional<Value> weight;
};

Tap tap_at(const Value& place, std::int64_t size, const std::optional<Value>& weight) {
  const Value p = place.detach(), is_there = p.ge(0) & p.le(static_cast<double>(size - 1));
  return {is_there.where(is_there.where(p, 0).cast(dtypes::int64), -1), weight};
}

/// The cubic convolution kernel of Keys with a = -3/4: for distances in [0, 1], and in [1, 2].
Value keys_near(const Value& x) { return (x * 1.25 - 2.25) * x * x + 1; }
Value keys_far(const Value& x) { return ((x * -0.75 + 3.75) * x - 6) * x + 3; }

/// The elements along one axis that contribute: 1, 2 or 4 by the mode.
std::vector<Tap> taps_of(const Value& grid, const SampledAxis& axis) {
  const Value place = unnormalized(grid, axis.size, axis.options.align_corners);
  if (axis.options.mode == Interpolation::nearest) return {tap_at(axis.inside(place).round(), axis.size, {})};
  if (axis.options.mode == Interpolation::linear) {
    const Value x = axis.inside(place), first = x.floor().detach(), share = x - first;
    return {tap_at(first, axis.size, 1 - share), tap_at(first + 1, axis.size, share)};
  }
  const Value first = place.floor().detach(),
              share = place - first;  // the padding mode applies to each of the four elements
  const std::array weights = {keys_far(share + 1), keys_near(share), keys_near(1 - share), keys_far(2 - share)};
  std::vector<Tap> out;
  for (std::size_t k = 0; k < weights.size(); ++k)
    out.push_back(tap_at(axis.inside(first + (static_cast<double>(k) - 1)).round(), axis.size, weights[k]));
  return out;
}

/// Combines taps of two axes: the row-major index (-1 if one is outside) and the product of the weights.
Tap combined(const Tap& outer, const Tap& inner, std::int64_t size) {
  const Value is_there = outer.element.ge(0) & inner.element.ge(0);
  std::optional<Value> weight = outer.weight ? outer.weight : inner.weight;
  if (outer.weight && inner.weight) weight = *outer.weight * *inner.weight;
  return {is_there.where(outer.element * size + inner.element, -1), weight};
}

void check_grid(const Value& x, const Value& grid, const GridSampleOptions& o) {
  STRATA_CHECK(x.ndim() == 4 || x.ndim() == 5, shape, "[grid_sample] the input has shape ", render(x.shape()),
               "; (batch, channels, sizes...) with two or three sizes is expected");
  STRATA_CHECK(grid.ndim() == x.ndim() && grid.size(-1) == Int(x.ndim() - 2) && grid.size(0) == x.size(0), shape,
               "[grid_sample] a grid of shape ", render(grid.shape()), " does not match an input of shape ",
               render(x.shape()));
  STRATA_CHECK(x.dtype().is_float() && grid.dtype() == x.dtype(), domain, "[grid_sample] an input of ",
               x.dtype().name(), " and a grid of ", grid.dtype().name(), " are not of one float dtype");
  const bool is_known =
      o.mode == Interpolation::linear || o.mode == Interpolation::nearest || o.mode == Interpolation::cubic;
  STRATA_CHECK(is_known && (o.mode != Interpolation::cubic || x.ndim() == 4), domain,
               "[grid_sample] the mode is not linear, nearest or, for two spatial axes, cubic");
}

}  // namespace

Value grid_sample(const Value& x, const Value& grid, const GridSampleOptions& options) {
  check_grid(x, grid, options);
  const std::int64_t n = x.ndim() - 2;
  const Value places = grid.flatten(1, -2);  // (batch, places, axes)
  std::vector<Tap> all;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t size = number_of(x.size(k + 2), "grid_sample");
    STRATA_CHECK(size > 0, shape, "[grid_sample] of nothing: shape ", render(x.shape()));
    const std::vector<Tap> taps = taps_of(places.select(-1, n - 1 - k), {size, options});
    std::vector<Tap> next;
    for (const Tap& outer : all)
      for (const Tap& inner : taps) next.push_back(combined(outer, inner, size));
    all = k == 0 ? taps : next;
  }
  const Value values = x.flatten(2).unsqueeze(2);  // (batch, channels, 1, elements)
  std::optional<Value> sum;
  for (const Tap& tap : all) {
    const Value seen = picked(values, tap.element.unsqueeze(1));
    const Value part = tap.weight ? seen * tap.weight->unsqueeze(1) : seen;
    sum = sum ? *sum + part : part;
  }
  Ints shape = {x.size(0), x.size(1)};
  for (std::int64_t k = 0; k < n; ++k) shape.push_back(grid.size(k + 1));
  return sum->reshape(shape);
}

Value affine_grid(const Value& matrices, const Ints& size, bool align_corners) {
  const auto n = static_cast<std::int64_t>(size.size()) - 2;
  STRATA_CHECK((n == 2 || n == 3) && matrices.ndim() == 3 && matrices.size(0) == size[0] &&
                   matrices.size(1) == Int(n) && matrices.size(2) == Int(n + 1),
               shape, "[affine_grid] matrices of shape ", render(matrices.shape()), " do not match an output of shape ",
               render(size));
  STRATA_CHECK(matrices.dtype().is_float(), domain, "[affine_grid] the matrices have dtype ", matrices.dtype().name(),
               "; a float dtype is expected");
  Ints sizes, to = {size[0]};
  for (std::size_t k = 2; k < size.size(); ++k) sizes.push_back(size[k]);
  std::vector<Value> columns;
  for (std::int64_t k = n; k-- > 0;) {
    const std::int64_t count = number_of(size[static_cast<std::size_t>(k) + 2], "affine_grid");
    const Value element = counting(count).cast(matrices.dtype());
    const auto steps = static_cast<double>(align_corners ? count - 1 : count);
    const Value along = steps == 0 ? element * 0 : (element * 2 + (align_corners ? 0 : 1)) / steps - 1;
    Ints beside(sizes.size(), 1);
    beside[static_cast<std::size_t>(k)] = count;
    columns.push_back(along.reshape(beside).expand(sizes).flatten());
  }
  columns.push_back(columns[0].ones_like());
  for (const Int& s : sizes) to.push_back(s);
  to.push_back(n);
  return Value::stack(columns, 1).matmul(matrices.transpose()).reshape(to);
}

}  // namespace strata::ops
