#include "strata/graph/order_rows.h"

#include <utility>
#include <vector>

#include "strata/graph/step_graph.h"

namespace strata {

namespace {

/// The dimensions [begin, end) of a View as one: the number of indices and their step; nothing where they are not one.
std::optional<std::pair<Int, Int>> as_one(const View& view, std::size_t begin, std::size_t end) {
  Int count = 1, step = 0;
  for (std::size_t d = end; d-- > begin;) {
    const Int &size = view.shape()[d], &stride = view.strides()[d];
    if (size == Int(1)) continue;
    if (!(count == Int(1)) && !(stride == step * count)) return std::nullopt;
    if (count == Int(1)) step = stride;
    count = count * size;
  }
  return std::pair(count, step);
}

}  // namespace

std::optional<OrderRows> order_rows(const ShapeTracker& st, std::int64_t axis) {
  const ShapeTracker simple = st.simplify();
  if (simple.views().size() != 1 || simple.views()[0].mask()) return std::nullopt;
  const View& view = simple.views()[0];
  const auto at = static_cast<std::size_t>(axis);
  const auto front = as_one(view, 0, at), behind = as_one(view, at + 1, view.rank());
  if (!front || !behind) return std::nullopt;
  return OrderRows{front->first, behind->first, front->second, behind->second, view.strides()[at], view.offset()};
}

LazyOp order_memory(const LazyNode& order) {
  const LazyOp& source = order.src[0];
  std::vector<const LazyNode*> moved;
  const LazyOp* at = &source;
  for (; !has_memory(*at->node()) && (is_movement(at->op()) || is_annotation(at->op())); at = &at->src(0))
    if (is_movement(at->op())) moved.push_back(at->node());
  if (!has_memory(*at->node()) || product(source.shape()) == Int(0)) return source;
  ShapeTracker st = ShapeTracker::from_shape(at->shape());
  for (auto it = moved.rbegin(); it != moved.rend(); ++it) st = moved_as(**it, st);
  return order_rows(st, std::get<OrderArg>(order.arg).axis) ? *at : source;
}

const LazyNode* ordered_by(const LazyOp& kernel) {
  if (kernel.op() != Ops::SINK || kernel.src().size() != 1) return nullptr;
  const LazyNode* const value = kernel.src(0).src(0).node();
  return value->op == Ops::ORDER ? value : nullptr;
}

}  // namespace strata
