// PACK as a rewrite of the kernel's graph.

#include "strata/codegen/pack.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "strata/graph/absorb.h"
#include "strata/graph/rebuild.h"

namespace strata {

namespace {

constexpr std::int64_t kWidestBlock = std::int64_t{1} << 30;

/// A dimension of the LOAD along which it moves.
struct MovingDim {
  std::size_t dim, axis;
  std::int64_t size;
};

/// The dimensions of the LOAD of a buffer and the axes that they follow, or the reason why there are none.
class LoadDims {
 public:
  LoadDims(const LazyOp& kernel, int slot, const Target& target) : axes_(kernel), slot_(slot) {
    find_load(kernel);
    if (reason_.empty()) find_dims(kernel, target);
  }

  const std::string& reason() const { return reason_; }
  const LazyNode& load() const { return *load_; }
  /// Outermost axes first. @pre reason().empty()
  const std::vector<MovingDim>& dims() const { return dims_; }
  std::size_t outputs() const { return axes_.outputs(); }

 private:
  template <class... Why>
  void refuse(const Why&... why) {
    reason_ = detail::message("buffer ", slot_, " ", why...);
  }

  void find_load(const LazyOp& kernel) {
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
  std::optional<std::vector<std::int64_t>> steps(const Lowered& plain) const {
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

  void find_dims(const LazyOp& kernel, const Target& target) {
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
      if (size == Int(1) || stride == Int(0)) continue;
      if (!size.is_number() || !stride.is_number()) return refuse("has a symbolic size");
      std::size_t axis = 0;
      while (axis < by->size() &&
             (is_taken[axis] || (*by)[axis] != stride.value() || !(axes_.axes()[axis].size == size)))
        ++axis;
      if (axis == by->size()) return refuse("has a dimension that no axis of the kernel follows");
      is_taken[axis] = true;
      dims_.push_back({d, axis, size.value()});
      if (!try_mul(elements, size.value(), elements)) return refuse("has more than 2^63 elements");
    }
    const Int& all = std::get<BufferArg>(load_->arg).size;
    if (!all.is_number() || elements > all.value()) return refuse("has elements that are read at several indices");
    std::sort(dims_.begin(), dims_.end(), [](const MovingDim& a, const MovingDim& b) { return a.axis < b.axis; });
  }

  KernelAxes axes_;
  int slot_;
  const LazyNode* load_ = nullptr;
  std::vector<MovingDim> dims_;
  std::string reason_;
};

/// The dimension that follows `axis`; its position in dims.dims(), or their number.
std::size_t position_of(const LoadDims& dims, std::size_t axis) {
  const auto it =
      std::find_if(dims.dims().begin(), dims.dims().end(), [&](const MovingDim& m) { return m.axis == axis; });
  return static_cast<std::size_t>(it - dims.dims().begin());
}

std::string refusal(const LoadDims& dims, std::size_t axis, int slot) {
  if (!dims.reason().empty()) return dims.reason();
  if (axis >= dims.outputs()) return detail::message("axis ", axis, " is not an output axis");
  if (position_of(dims, axis) < dims.dims().size()) return {};
  return detail::message("buffer ", slot, " does not move along axis ", axis);
}

Ints sizes_of(std::span<const MovingDim> dims) {
  Ints out;
  for (const MovingDim& m : dims) out.push_back(m.size);
  return out;
}

/// The order of packed memory, for the dimensions of `dims` where the elements of a block follow dimension `block`.
Axes packed_order(const LoadDims& dims, std::size_t block) {
  Axes outer, inner;
  for (std::size_t k = 0; k < dims.dims().size(); ++k) {
    const auto at = static_cast<std::int64_t>(k > block ? k + 1 : k);
    if (k != block) (dims.dims()[k].axis < dims.outputs() ? outer : inner).push_back(at);
  }
  outer.push_back(static_cast<std::int64_t>(block));
  for (const std::int64_t k : inner) outer.push_back(k);
  outer.push_back(static_cast<std::int64_t>(block) + 1);
  return outer;
}

Axes inverse(const Axes& order) {
  Axes out(order.size(), 0);
  for (std::size_t k = 0; k < order.size(); ++k) out[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  return out;
}

/// `load` without the dimensions along which it does not move, the others in the order of `dims`.
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

/// The inverse of moving(): `x`, whose dimensions are `dims`, in the shape of `load`.
LazyOp spread(const LazyOp& x, std::span<const MovingDim> dims, const LazyNode& load) {
  Axes order;
  std::vector<MovingDim> sorted(dims.begin(), dims.end());
  std::sort(sorted.begin(), sorted.end(), [](const MovingDim& a, const MovingDim& b) { return a.dim < b.dim; });
  Ints ones(load.shape.size(), 1);
  for (const MovingDim& m : sorted) {
    const auto at = std::find_if(dims.begin(), dims.end(), [&](const MovingDim& other) { return other.dim == m.dim; });
    order.push_back(at - dims.begin());
    ones[m.dim] = m.size;
  }
  return x.permute(order).reshape(ones).expand(load.shape);
}

}  // namespace

std::string pack_refusal(const LazyOp& kernel, std::size_t axis, int slot, const Target& target) {
  return refusal(LoadDims(kernel, slot, target), axis, slot);
}

std::vector<std::size_t> pack_axes(const LazyOp& kernel, int slot, const Target& target) {
  const LoadDims dims(kernel, slot, target);
  std::vector<std::size_t> out;
  for (std::size_t axis = 0; axis < dims.outputs(); ++axis)
    if (refusal(dims, axis, slot).empty()) out.push_back(axis);
  return out;
}

PackedKernels pack_buffer(const LazyOp& kernel, const Opt& opt, const Target& target) {
  const LoadDims found(kernel, opt.slot, target);
  const std::string why = refusal(found, opt.axis, opt.slot);
  STRATA_CHECK(why.empty(), domain, "[", opt.text(), "] ", why);
  STRATA_CHECK(opt.amount >= 2 && opt.amount <= kWidestBlock, domain, "[", opt.text(), "] the amount is from 2 to ",
               kWidestBlock);
  const std::vector<MovingDim>& dims = found.dims();
  const std::size_t block = position_of(found, opt.axis);
  const std::int64_t size = dims[block].size, blocks = (size - 1) / opt.amount + 1;
  const Int reach = Int(blocks) * Int(opt.amount);

  Padding beyond(dims.size(), {0, 0});
  beyond[block].second = reach - Int(size);
  Mask inside;
  Ints in_blocks, whole;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    inside.push_back({0, dims[k].size});
    in_blocks.push_back(k == block ? blocks : dims[k].size);
    if (k == block) in_blocks.push_back(opt.amount);
    whole.push_back(k == block ? reach : Int(dims[k].size));
  }
  const Axes order = packed_order(found, block);

  const BufferArg& arg = std::get<BufferArg>(found.load().arg);
  const LazyOp load = LazyOp::load(arg.slot, found.load().dtype, arg.st, arg.size);
  const LazyOp packed = moving(load, dims).pad(beyond).reshape(in_blocks).permute(order);
  const int temporary = static_cast<int>(buffers_of(kernel).size());
  const ShapeTracker memory = ShapeTracker::from_shape(packed.shape());
  const LazyOp unpacked = spread(LazyOp::load(temporary, load.dtype(), memory, product(packed.shape()))
                                     .permute(inverse(order))
                                     .reshape(whole)
                                     .shrink(inside),
                                 dims, found.load());
  detail::Rebuild rebuild(
      [](const LazyOp& n, const std::vector<LazyOp>& sources) { return n.with_sources(sources); },
      [&](const LazyOp& n) { return n.node() == &found.load() ? std::optional(unpacked) : std::nullopt; });
  return {absorb_movement(LazyOp::sink({LazyOp::store(temporary, memory, packed)})), absorb_movement(rebuild(kernel)),
          temporary};
}

}  // namespace strata
