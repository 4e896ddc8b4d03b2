// GATHER, SCATTER and running totals. An index outside of the axis gives 0 in Strata, or goes nowhere; in ONNX it is an
// error. Where the graph does not show that indices stay inside, the file says what becomes of the others.
#include <algorithm>
#include <array>

#include "strata/onnx/graph_writer.h"
#include "strata/ops/value.h"

namespace strata::onnx {
namespace {

using ops::Value;

/// Whether all indices are in [0, size).
bool stays_inside(const LazyOp& index, std::int64_t size) {
  const auto range = range_of(index);
  return range && range->first >= 0 && range->second < size;
}

Value is_inside(const LazyOp& index, std::int64_t size) { return Value(index).ge(0) & Value(index).lt(size); }

LazyOp expanded_base(const LazyOp& n) {
  const LazyOp* at = &plain(n);
  while (at->op() == Ops::EXPAND && !is_realized(*at->node())) at = &plain(at->src(0));
  return *at;
}

/// An index as a dtype that ONNX takes.
LazyOp as_index(const LazyOp& index) {
  return index.dtype() == dtypes::int32 || index.dtype() == dtypes::int64 ? index : index.cast(dtypes::int64);
}

/// `x` with `axes` of it in this order, without the others, which have size 1.
LazyOp only_axes(const LazyOp& x, const Axes& axes) {
  Axes sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  Ints shape;
  Axes order;
  for (const std::int64_t a : sorted) shape.push_back(x.shape()[static_cast<std::size_t>(a)]);
  for (const std::int64_t a : axes) order.push_back(std::find(sorted.begin(), sorted.end(), a) - sorted.begin());
  return x.reshape(shape).permute(order);
}

/// Whose axes the result of a GATHER has.
struct GatherAxes {
  Axes shared, of_values, of_index;

  GatherAxes(const Ints& shape, const LazyOp& values, const LazyOp& index) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (is_one(shape[d])) continue;
      const bool in_values = !is_one(values.shape()[d]), in_index = !is_one(index.shape()[d]);
      if (!in_values && !in_index) continue;
      (in_values && in_index ? shared : in_values ? of_values : of_index).push_back(static_cast<std::int64_t>(d));
    }
  }
};

Ints sizes_at(const Ints& shape, const Axes& axes) {
  Ints out;
  for (const std::int64_t d : axes) out.push_back(shape[static_cast<std::size_t>(d)]);
  return out;
}
void append(Axes& to, const Axes& more) {
  for (const std::int64_t d : more) to.push_back(d);
}

/// Brings a tensor with the axes `now` of `shape` to the shape, with ones for the other axes.
class Restoring {
 public:
  Restoring(const Ints& shape, const Axes& now) : apart_(sizes_at(shape, now)), to_(shape.size(), 1) {
    Axes sorted = now;
    std::sort(sorted.begin(), sorted.end());
    for (const std::int64_t d : sorted) order_.push_back(std::find(now.begin(), now.end(), d) - now.begin());
    for (const std::int64_t d : now) to_[static_cast<std::size_t>(d)] = shape[static_cast<std::size_t>(d)];
  }
  Written operator()(GraphWriter& w, const Written& x) const {
    return w.reshaped(w.transposed(w.reshaped(x, apart_), order_), to_);
  }

 private:
  Ints apart_, to_;
  Axes order_;
};

/// Rows of a table: the axis that is gathered from in front, then the axes of the values.
Plan rows_plan(GraphWriter& w, const LazyOp& n, const LazyOp& values, const LazyOp& index, const GatherAxes& axes) {
  const auto rank = static_cast<std::int64_t>(n.shape().size());
  Axes order = {rank}, now = axes.of_index;
  for (std::int64_t d = 0; d < rank; ++d) order.push_back(d);
  Ints table = {values.shape().back()};
  for (const Int& size : sizes_at(values.shape(), axes.of_values)) table.push_back(size);
  append(now, axes.of_values);
  const LazyOp rows = values.permute(order).reshape(table), places = only_axes(index, axes.of_index);
  const Ints result = sizes_at(n.shape(), now);
  const Ints& places_shape = places.shape();
  const Restoring restored(n.shape(), now);
  return {{w.keep(rows), w.keep(places)}, [=, &w, dtype = n.dtype()](std::span<const Written> in) {
            const Written from = w.full(in[0], table), at = w.full(in[1], places_shape);
            return restored(w, w.add("Gather", {from, at}, {integer_attribute("axis", 0)}, dtype, result));
          }};
}

/// Elements of each row: (shared..., of the values..., the axis) at (shared..., of the values..., picks).
Plan elements_plan(GraphWriter& w, const LazyOp& n, const LazyOp& values, const LazyOp& index, const GatherAxes& axes) {
  const auto rank = static_cast<std::int64_t>(n.shape().size());
  Axes rows = axes.shared, picks = axes.shared, order;
  append(rows, axes.of_values);
  append(picks, axes.of_index);
  Axes now = rows;
  append(now, axes.of_index);
  order = rows;
  for (std::int64_t d = 0; d < rank; ++d)
    if (std::find(rows.begin(), rows.end(), d) == rows.end()) order.push_back(d);
  order.push_back(rank);
  Ints data_shape = sizes_at(n.shape(), rows), result = data_shape, places_shape = sizes_at(n.shape(), axes.shared);
  data_shape.push_back(values.shape().back());
  const Int count = product(sizes_at(n.shape(), axes.of_index));
  result.push_back(count);
  for (std::size_t k = 0; k < axes.of_values.size(); ++k) places_shape.push_back(1);
  places_shape.push_back(count);
  const LazyOp data = values.permute(order).reshape(data_shape);
  const LazyOp places = only_axes(index, picks).reshape(places_shape);
  const Restoring restored(n.shape(), now);
  const auto axis = static_cast<std::int64_t>(result.size()) - 1;
  return {{w.keep(data), w.keep(places)}, [=, &w, dtype = n.dtype()](std::span<const Written> in) {
            const Written from = w.full(in[0], data_shape), at = w.full(in[1], result);
            return restored(w, w.add("GatherElements", {from, at}, {integer_attribute("axis", axis)}, dtype, result));
          }};
}

Plan gather_plan(GraphWriter& w, const LazyOp& n) {
  const std::int64_t size = n.src(0).shape().back().value();
  if (size == 0) return alias_of(w, LazyOp::constant(Scalar::of(n.dtype(), std::int64_t{0}), n.shape()));
  if (!stays_inside(n.src(1), size)) {
    const Value inside = is_inside(n.src(1), size), safe = inside.where(Value(n.src(1)), 0);
    // The bounds of the safe index are stated, so that its own plan sees them.
    const LazyOp bounded = Value(safe).cast(dtypes::int64).node().in_range({"gather", "index", size});
    return alias_of(w, inside.where(Value(LazyOp::gather(n.src(0), bounded)), 0).node());
  }
  const LazyOp base = expanded_base(n.src(0)), index = as_index(expanded_base(n.src(1)));
  const LazyOp values = base.shape().back() == n.src(0).shape().back() ? base : n.src(0);
  const GatherAxes axes(n.shape(), values, index);
  return axes.shared.empty() ? rows_plan(w, n, values, index, axes) : elements_plan(w, n, values, index, axes);
}

std::optional<Plan> scatter_plan(GraphWriter& w, const LazyOp& n) {
  const auto& [op, axis] = std::get<AxisArg>(n.arg());
  const char* const reduction = op == Ops::NOOP ? "none" : op == Ops::SUM ? "add" : op == Ops::PROD ? "mul" : nullptr;
  if (reduction == nullptr || (n.dtype().is_bool() && op != Ops::NOOP)) return std::nullopt;
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t size = n.shape()[at].value();
  if (!stays_inside(n.src(1), size)) {  // the others go to a place behind the axis, which is cut off
    Padding padding(n.shape().size(), {0, 0});
    padding[at].second = 1;
    Mask bounds;
    for (const Int& s : n.shape()) bounds.push_back({0, s});
    const Value places = is_inside(n.src(1), size).where(Value(n.src(1)), size).cast(dtypes::int64);
    const LazyOp bounded = places.node().in_range({"scatter", "index", size + 1});
    const LazyOp whole = LazyOp::scatter(op, n.src(0).pad(padding), bounded, n.src(2), axis);
    return alias_of(w, whole.shrink(bounds));
  }
  const LazyOp index = as_index(n.src(1));
  const DType dtype = n.dtype(), by = taken_dtype(dtype, op == Ops::NOOP ? kEverything : kAllFloats | kWideInts);
  const Ints &shape = n.shape(), &of_values = n.src(2).shape();
  return Plan{{n.src(0), w.keep(index), n.src(2)}, [=, &w, along = axis](std::span<const Written> in) {
                const Written target = w.cast(w.full(in[0], shape), by), places = w.full(in[1], of_values),
                              values = w.cast(w.full(in[2], of_values), by);
                std::vector<Attribute> attributes = {integer_attribute("axis", along)};
                if (op != Ops::NOOP) attributes.push_back(text_attribute("reduction", reduction));
                return w.cast(w.add("ScatterElements", {target, places, values}, attributes, by, shape), dtype);
              }};
}

std::optional<Plan> cumulative_plan(GraphWriter& w, const LazyOp& n) {
  const auto& [op, axis] = std::get<AxisArg>(n.arg());
  if (op != Ops::SUM || n.src().size() != 1 || n.dtype().is_bool()) return std::nullopt;
  const DType dtype = n.dtype(), by = taken_dtype(dtype, bit(dtypes::float32) | bit(dtypes::float64) | kWideInts);
  const Ints& shape = n.shape();
  return Plan{{n.src(0)}, [=, &w, along = axis](std::span<const Written> in) {
                const Written x = w.cast(w.full(in[0], shape), by);
                return w.cast(w.add("CumSum", {x, w.constant(Scalar(along))}, {}, by, shape), dtype);
              }};
}

/// The first elements of sorted rows, or their places: those in front of the wanted ranks are cut off.
std::optional<Plan> order_plan(GraphWriter& w, const LazyOp& n) {
  const OrderArg& arg = std::get<OrderArg>(n.arg());
  const Int& count = n.shape()[static_cast<std::size_t>(arg.axis)];
  if (!count.is_number() || !arg.first.is_number()) return std::nullopt;
  const DType dtype = n.src(0).dtype(), by = taken_dtype(dtype, kFloats | kSignedInts | kUnsignedInts);
  const Ints &shape = n.src(0).shape(), &result = n.shape();
  Ints some = result;
  some[static_cast<std::size_t>(arg.axis)] = arg.first + count;
  return Plan{{n.src(0)}, [=, &w](std::span<const Written> in) {
                const std::vector<Written> inputs = {w.cast(w.full(in[0], shape), by),
                                                     w.integers({arg.first.value() + count.value()})};
                const std::vector<Written> all = w.add_several(
                    "TopK", inputs,
                    {integer_attribute("axis", arg.axis), integer_attribute("largest", arg.is_descending ? 1 : 0),
                     integer_attribute("sorted", 1)},
                    {{by, some}, {dtypes::int64, some}});
                Written wanted = arg.of_places ? all[1] : w.cast(all[0], dtype);
                if (arg.first == Int(0)) return wanted;
                return w.sliced(wanted, {arg.first}, {arg.first + count}, {arg.axis}, {1}, result);
              }};
}

}  // namespace

std::optional<Plan> indexing_plan(GraphWriter& w, const LazyOp& n) {
  if (n.op() == Ops::GATHER) return gather_plan(w, n);
  if (n.op() == Ops::SCATTER) return scatter_plan(w, n);
  if (n.op() == Ops::ASSOCIATIVE_SCAN) return cumulative_plan(w, n);
  if (n.op() == Ops::ORDER) return order_plan(w, n);
  return std::nullopt;
}

}  // namespace strata::onnx
