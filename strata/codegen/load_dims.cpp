#include "strata/codegen/load_dims.h"

#include <algorithm>

#include "strata/base/sort_few.h"

namespace strata {

LoadDims::LoadDims(const LazyOp& kernel, int slot, const Target& target, std::int64_t most_copies)
    : axes_(kernel), slot_(slot) {
  find_load(kernel);
  if (reason_.empty()) find_dims(kernel, target, most_copies);
}

LazyOp LoadDims::load_op() const {
  const BufferArg& arg = std::get<BufferArg>(load_->arg);
  return LazyOp::load(arg.slot, load_->dtype, arg.st, arg.size);
}

std::size_t LoadDims::position_of(std::size_t axis) const {
  const auto it = std::find_if(dims_.begin(), dims_.end(), [&](const MovingDim& m) { return m.axis == axis; });
  return static_cast<std::size_t>(it - dims_.begin());
}

void LoadDims::find_load(const LazyOp& kernel) {
  const std::vector<BufferUse> buffers = buffers_of(kernel);
  const auto slot = static_cast<std::size_t>(slot_);
  if (slot_ < 0 || slot >= buffers.size() || !buffers[slot].read) return refuse("is not loaded by the kernel");
  if (buffers[slot].written) return refuse("is written by the kernel");
  for (const LazyNode* n : postorder(kernel)) {
    if (n->op != Ops::LOAD || std::get<BufferArg>(n->arg).slot != slot_) continue;
    if (load_ != nullptr) return refuse("is loaded by more than one LOAD");
    load_ = n;
  }
}

/// The steps of the access along each axis; nothing where the access is not linear, or has a condition.
std::optional<std::vector<std::int64_t>> LoadDims::steps(const Lowered& plain) const {
  std::vector<std::int64_t> out(axes_.axes().size(), 0);
  bool is_found = false;
  for (const Access& a : plain.accesses) {
    if (a.slot != slot_) continue;
    if (is_found || a.valid.constant() != 1) return std::nullopt;
    is_found = true;
    for (const auto& [v, axis] : plain.counters) {
      const Expr step = substitute(a.index, {{v, v + 1}}) - a.index;
      if (!step.is_constant()) return std::nullopt;
      if (step.value() != 0) out[axis] = step.value();
    }
  }
  return is_found ? std::optional(out) : std::nullopt;
}

void LoadDims::find_dims(const LazyOp& kernel, const Target& target, std::int64_t most_copies) {
  const ShapeTracker st = std::get<BufferArg>(load_->arg).st.simplify();
  if (st.views().size() != 1 || st.views()[0].mask()) return refuse("is not loaded by one View without a mask");
  Target as_written = target;  // one loop for each axis
  as_written.reassociate = true;
  as_written.bounded = false;
  const auto by = steps(lower(kernel, axes_, as_written));
  if (!by) return refuse("is not loaded at one index that is linear in all axes");
  const View& view = st.views()[0];
  std::vector<bool> is_taken(by->size(), false);
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < view.shape().size(); ++d) {
    const Int &size = view.shape()[d], &stride = view.strides()[d];
    if (size == Int(1) || stride == Int(0)) {
      if (size.vmin() < 1) return refuse("is loaded at no index where ", size.render(), " is 0");
      continue;
    }
    if (!size.is_number() || !stride.is_number()) return refuse("has a symbolic size");
    std::size_t axis = 0;
    while (axis < by->size() && (is_taken[axis] || (*by)[axis] != stride.value() || !(axes_.axes()[axis].size == size)))
      ++axis;
    if (axis == by->size()) return refuse("has a dimension that no axis of the kernel follows");
    for (std::size_t other = axis + 1; other < by->size(); ++other)
      if ((*by)[other] == stride.value() && axes_.axes()[other].size == size)
        return refuse("moves alike along axes ", axis, " and ", other);
    is_taken[axis] = true;
    dims_.push_back({d, axis, size.value()});
    if (!try_mul(elements, size.value(), elements)) return refuse("has more than 2^63 elements");
  }
  const Int& all = std::get<BufferArg>(load_->arg).size;
  if (!all.is_number() || (elements - 1) / most_copies >= all.value())
    return refuse("has elements that are read at several indices");
  sort_few(dims_, [](const MovingDim& a, const MovingDim& b) { return a.axis < b.axis; });
}

Ints sizes_of(std::span<const MovingDim> dims) {
  Ints out;
  for (const MovingDim& m : dims) out.push_back(m.size);
  return out;
}

Axes inverse_order(const Axes& order) {
  Axes out(order.size(), 0);
  for (std::size_t k = 0; k < order.size(); ++k) out[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  return out;
}

LazyOp moving(const LazyOp& load, std::span<const MovingDim> dims) {
  Mask bounds;
  Axes order;
  for (const MovingDim& m : dims) order.push_back(static_cast<std::int64_t>(m.dim));
  for (std::size_t d = 0; d < load.shape().size(); ++d) {
    const bool is_moving = std::any_of(dims.begin(), dims.end(), [&](const MovingDim& m) { return m.dim == d; });
    bounds.push_back({0, is_moving ? load.shape()[d] : Int(1)});
    if (!is_moving) order.push_back(static_cast<std::int64_t>(d));
  }
  return load.shrink(bounds).permute(order).reshape(sizes_of(dims));
}

LazyOp spread(const LazyOp& x, std::span<const MovingDim> dims, const Ints& shape) {
  Axes order;
  std::vector<MovingDim> sorted(dims.begin(), dims.end());
  sort_few(sorted, [](const MovingDim& a, const MovingDim& b) { return a.dim < b.dim; });
  Ints ones(shape.size(), 1);
  for (const MovingDim& m : sorted) {
    const auto at = std::find_if(dims.begin(), dims.end(), [&](const MovingDim& other) { return other.dim == m.dim; });
    order.push_back(at - dims.begin());
    ones[m.dim] = m.size;
  }
  return x.permute(order).reshape(ones).expand(shape);
}

}  // namespace strata
