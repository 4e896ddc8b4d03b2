// Elements at places that a grid names, between them where a place is, and grids that matrices make.

#include <algorithm>
#include <array>
#include <vector>

#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

using Outside = GridSampleOptions::Outside;

/// From [-1, 1] to elements of an axis.
Value unnormalized(const Value& g, std::int64_t size, bool align_corners) {
  const auto n = static_cast<double>(size);
  return align_corners ? (g + 1) * ((n - 1) / 2) : ((g + 1) * n - 1) * 0.5;
}

/// There and back between the outermost elements' centres, or edges.
Value reflected_into(const Value& x, std::int64_t size, bool align_corners) {
  const double low = align_corners ? 0 : -0.5,
               span = static_cast<double>(align_corners ? size - 1 : size);
  if (span == 0) return x * 0;
  const Value apart = (x - low).abs(), turns = (apart / span).floor().detach();
  const Value rest = apart - turns * span, is_even = (turns * 0.5).frac().eq(0);
  return is_even.where(rest, span - rest) + low;
}

struct SampledAxis {
  std::int64_t size;
  const GridSampleOptions& options;
  /// Where a place outside of the axis is looked for.
  Value inside(const Value& x) const {
    if (options.padding_mode == Outside::zeros) return x;
    const Value back = options.padding_mode == Outside::reflection
                           ? reflected_into(x, size, options.align_corners)
                           : x;
    return back.hardtanh(0, static_cast<double>(size - 1));
  }
};

/// An element of an axis for each place, -1 where there is none, and how much of it.
struct Tap {
  Value element;
  std::optional<Value> weight;
};

Tap tap_at(const Value& place, std::int64_t size, const std::optional<Value>& weight) {
  const Value p = place.detach(), is_there = p.ge(0) & p.le(static_cast<double>(size - 1));
  return {is_there.where(is_there.where(p, 0).cast(dtypes::int64), -1), weight};
}

/// Keys' cubic with a = -3/4: of a distance below 1, and of one below 2.
Value keys_near(const Value& x) { return (x * 1.25 - 2.25) * x * x + 1; }
Value keys_far(const Value& x) { return ((x * -0.75 + 3.75) * x - 6) * x + 3; }

std::vector<Tap> taps_of(const Value& grid, const SampledAxis& axis) {
  const Value place = unnormalized(grid, axis.size, axis.options.align_corners);
  if (axis.options.mode == Interpolation::nearest)
    return {tap_at(axis.inside(place).round(), axis.size, {})};
  if (axis.options.mode == Interpolation::linear) {
    const Value x = axis.inside(place), first = x.floor().detach(), share = x - first;
    return {tap_at(first, axis.size, 1 - share), tap_at(first + 1, axis.size, share)};
  }
  const Value first = place.floor().detach(),
              share = place - first;  // each element is looked for by itself
  const std::array weights = {keys_far(share + 1), keys_near(share), keys_near(1 - share),
                              keys_far(2 - share)};
  std::vector<Tap> out;
  for (std::size_t k = 0; k < weights.size(); ++k)
    out.push_back(
        tap_at(axis.inside(first + (static_cast<double>(k) - 1)).round(), axis.size, weights[k]));
  return out;
}

/// The product of one tap of each axis: places in row-major order, -1 where an axis has none.
Tap combined(const Tap& outer, const Tap& inner, std::int64_t size) {
  const Value is_there = outer.element.ge(0) & inner.element.ge(0);
  std::optional<Value> weight = outer.weight ? outer.weight : inner.weight;
  if (outer.weight && inner.weight) weight = *outer.weight * *inner.weight;
  return {is_there.where(outer.element * size + inner.element, -1), weight};
}

void check_grid(const Value& x, const Value& grid, const GridSampleOptions& o) {
  STRATA_CHECK(x.ndim() == 4 || x.ndim() == 5, shape, "[grid_sample] the input has shape ",
               render(x.shape()),
               "; (batch, channels, sizes...) with two or three sizes is expected");
  STRATA_CHECK(
      grid.ndim() == x.ndim() && grid.size(-1) == Int(x.ndim() - 2) && grid.size(0) == x.size(0),
      shape, "[grid_sample] a grid of shape ", render(grid.shape()),
      " does not match an input of shape ", render(x.shape()));
  STRATA_CHECK(x.dtype().is_float() && grid.dtype() == x.dtype(), domain,
               "[grid_sample] an input of ", x.dtype().name(), " and a grid of ",
               grid.dtype().name(), " are not of one float dtype");
  const bool is_known = o.mode == Interpolation::linear || o.mode == Interpolation::nearest ||
                        o.mode == Interpolation::cubic;
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
               shape, "[affine_grid] matrices of shape ", render(matrices.shape()),
               " do not match an output of shape ", render(size));
  STRATA_CHECK(matrices.dtype().is_float(), domain, "[affine_grid] the matrices have dtype ",
               matrices.dtype().name(), "; a float dtype is expected");
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
