// The elements that a value of a stream reads, as a view of the positions that are at hand (stream_plan.h).
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "strata/ops/products.h"
#include "strata/ops/value.h"
#include "strata/tensor/stream_plan.h"

namespace strata::stream {

namespace {

/// The dimensions that take the place of an axis: `count` elements that are `step` apart.
struct Dim {
  std::int64_t count, step;
  std::size_t to;  ///< the axis of the result
};

/// `x` with axis 0 cut into `dims`, which become the last axes in an order that `order` gets; index 0 of all is element
/// `from`.
LazyOp spread(LazyOp x, std::vector<Dim> dims, std::int64_t from, std::vector<std::size_t>& order) {
  Axes flipped, to_end;
  std::int64_t reach = 1;
  std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) {
    const std::int64_t one = std::abs(a.step), other = std::abs(b.step);
    return one != other ? one > other : a.to < b.to;
  });
  for (const Dim& d : dims) {
    if (d.step < 0) from += d.step * (d.count - 1);
    reach += std::abs(d.step) * (d.count - 1);
  }
  Mask bounds;
  for (const Int& size : x.shape())
    bounds.push_back({0, size}), to_end.push_back(static_cast<std::int64_t>(to_end.size()));
  bounds[0] = {from, from + reach};
  std::rotate(to_end.begin(), to_end.begin() + 1, to_end.end());
  x = x.shrink(bounds).permute(to_end);
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const Dim& d = dims[k];
    const std::int64_t step = std::abs(d.step);
    order.push_back(d.to);
    if (d.step < 0) flipped.push_back(static_cast<std::int64_t>(x.shape().size()) - 1);
    reach -= step * (d.count - 1);
    ops::Window w{reach, step, 1};
    if (k + 2 == dims.size()) w = {dims[k + 1].count, step, std::abs(dims[k + 1].step)};
    const Int counts[] = {d.count};
    x = ops::windows_of(x, {&w, 1}, counts);
    if (k + 2 != dims.size()) continue;
    order.push_back(dims[k + 1].to);
    if (dims[k + 1].step < 0) flipped.push_back(static_cast<std::int64_t>(x.shape().size()) - 1);
    return x.flip(flipped);
  }
  Ints sizes = x.shape();
  sizes.pop_back();
  return x.reshape(sizes).flip(flipped);
}

}  // namespace

LazyOp elements_of(const Read& read, const Place* base, const LazyOp& buffer, std::int64_t begin, std::int64_t from,
                   std::int64_t count) {
  Ints shape = read.shape;
  if (read.grows) shape[read.axis] = count;
  if (read.base == kFixed) {
    if (!read.grows) return *read.fixed;
    const std::int64_t in_front = std::clamp<std::int64_t>(read.masked - from, 0, count);
    shape[read.axis] = count - in_front;
    std::vector<ops::Value> parts;
    if (in_front > 0) {
      Mask bounds;
      for (const Int& size : read.front->shape()) bounds.push_back({0, size});
      bounds[read.axis] = {from, from + in_front};
      parts.emplace_back(read.front->shrink(bounds));
    }
    if (in_front < count) parts.emplace_back(read.fixed->expand(shape));
    return parts.size() == 1 ? parts[0].node() : ops::Value::cat(parts, static_cast<std::int64_t>(read.axis)).node();
  }
  const std::int64_t each = base->each();
  std::vector<Dim> dims[3];  // in front of the positions, the positions, behind them
  for (std::size_t k = 0; k < read.steps.size(); ++k) {
    const Linear s = read.steps[k];
    const std::int64_t size = shape[k].value();
    if (size == 1 || (s.each == 0 && s.rest == 0)) continue;
    if (s.each != 0)
      dims[0].push_back({size, s.each / each, k});
    else if (s.rest % each == 0)
      dims[1].push_back({size, s.rest / each, k});
    else
      dims[2].push_back({size, s.rest, k});
  }
  const std::int64_t first =
      (read.offset.rest >= 0 ? read.offset.rest / each : -((each - 1 - read.offset.rest) / each));
  const std::int64_t at[] = {read.offset.each / each, first + read.rate * from - begin,
                             read.offset.rest - first * each};
  LazyOp x = buffer.reshape({base->before(), buffer.shape()[base->axis], each});
  std::vector<std::size_t> order;
  for (int part = 0; part < 3; ++part) x = spread(x, dims[part], at[part], order);
  Axes sorted;
  Ints kept(shape.size(), 1);
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const auto known = std::find(order.begin(), order.end(), k);
    if (known == order.end()) continue;
    sorted.push_back(known - order.begin());
    kept[k] = shape[k];
  }
  return x.permute(sorted).reshape(kept).expand(shape);
}

}  // namespace strata::stream
