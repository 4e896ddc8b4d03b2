#include "strata/spmd/reads.h"

#include <algorithm>
#include <unordered_map>

namespace strata {

namespace {

/// A load, seen from a node of the kernel.
struct Read {
  int slot = 0;
  ShapeTracker st;  // index of the node, then of the loops -> address
  friend bool operator==(const Read&, const Read&) = default;
};
using Reads = std::vector<Read>;

class ReadsOf {
 public:
  explicit ReadsOf(std::span<const LazyOp> values) : values_(values), nodes_(postorder(values)) {
    for (const LazyNode* n : nodes_) find_loops(*n);
  }

  std::optional<KernelReads> run(const Ints& shape, std::size_t slots) {
    for (const LazyNode* n : nodes_) {
      Reads reads;
      for (std::size_t k = 0; k < n->src.size(); ++k)
        for (const Read& r : reads_.at(n->src[k].node()))
          if (runs(*n, k)) add(reads, {r.slot, moved(*n, k, r.st)});
      if (n->op == Ops::LOAD) {
        const auto& arg = std::get<BufferArg>(n->arg);
        add(reads, {arg.slot, in_loops(arg.st)});
      }
      if (reads.size() > kMostKernelReads * slots) return std::nullopt;
      reads_.emplace(n, std::move(reads));
    }
    KernelReads out;
    out.of.resize(slots);
    for (const Int& size : loops_) out.loops.push_back(size.value());
    for (const LazyOp& value : values_)
      for (const Read& r : reads_.at(value.node())) {
        std::vector<ShapeTracker>& of = out.of[static_cast<std::size_t>(r.slot)];
        ShapeTracker st = r.st.reshape(with_loops(shape)).simplify();
        if (std::find(of.begin(), of.end(), st) == of.end()) of.push_back(std::move(st));
        if (of.size() > kMostKernelReads) return std::nullopt;
      }
    for (const auto& [n, axes] : loops_of_)
      if (is_reduce(n->op)) out.reductions.emplace_back(n, axes);
    return out;
  }

 private:
  static void add(Reads& to, Read read) {
    if (std::find(to.begin(), to.end(), read) == to.end()) to.push_back(std::move(read));
  }

  /// Loops over axes of operands, by node, in the order in which moved() takes them.
  void find_loops(const LazyNode& n) {
    std::vector<std::size_t> own;
    const auto loop = [&](const Int& size) {  // one of no steps is 1 long, so that it ends no other read: runs()
      own.push_back(loops_.size());
      loops_.push_back(size == Int(0) ? Int(1) : size);
    };
    const auto axis_of = [](std::int64_t axis) { return static_cast<std::size_t>(axis); };
    if (is_reduce(n.op)) {
      for (const std::int64_t axis : std::get<Axes>(n.arg)) loop(n.src[0].shape()[axis_of(axis)]);
    } else if (is_scan(n.op)) {
      loop(n.shape[axis_of(std::get<AxisArg>(n.arg).axis)]);
    } else if (n.op == Ops::SCATTER) {
      const std::size_t axis = axis_of(std::get<AxisArg>(n.arg).axis);
      loop(n.shape[axis]), loop(n.src[1].shape()[axis]);
    } else if (n.op == Ops::GATHER) {
      loop(n.src[0].shape().back());
    } else if (n.op == Ops::ORDER) {
      loop(n.src[0].shape()[axis_of(std::get<OrderArg>(n.arg).axis)]);
    }
    if (!own.empty()) loops_of_.emplace_back(&n, std::move(own));
  }
  const std::vector<std::size_t>& loops_at(const LazyNode& n) const {
    return std::find_if(loops_of_.begin(), loops_of_.end(), [&](const auto& of) { return of.first == &n; })->second;
  }

  /// Whether the loops through which `n` reads its operand `k` have steps.
  static bool runs(const LazyNode& n, std::size_t k) {
    const auto has_elements = [&](std::size_t operand) { return !(product(n.src[operand].shape()) == Int(0)); };
    if (is_movement(n.op) || is_elementwise(n.op)) return true;
    return n.op == Ops::SCATTER && k > 0 ? has_elements(1) : has_elements(k);
  }

  Ints with_loops(const Ints& shape) const {
    Ints out = shape;
    for (const Int& size : loops_) out.push_back(size);
    return out;
  }
  ShapeTracker in_loops(const ShapeTracker& st) const {
    Ints ones = st.shape();
    for (std::size_t k = 0; k < loops_.size(); ++k) ones.push_back(1);
    return st.reshape(ones).expand(with_loops(st.shape()));
  }

  /// `st` of the operand `k` of `n` as one of `n`.
  ShapeTracker moved(const LazyNode& n, std::size_t k, const ShapeTracker& st) const {
    const std::size_t rank = n.src[k].shape().size();
    if (is_movement(n.op)) return movement(n, st, rank);
    if (is_reduce(n.op)) {
      const Axes& axes = std::get<Axes>(n.arg);
      ShapeTracker out = st;
      for (std::size_t j = 0; j < axes.size(); ++j)
        out = looped(out, rank, static_cast<std::size_t>(axes[j]), loops_at(n)[j], 1);
      return out;
    }
    if (is_scan(n.op)) {
      const auto axis = static_cast<std::size_t>(std::get<AxisArg>(n.arg).axis);
      return looped(st, rank, axis, loops_at(n)[0], n.shape[axis]);
    }
    if (n.op == Ops::SCATTER) {
      const auto axis = static_cast<std::size_t>(std::get<AxisArg>(n.arg).axis);
      return looped(st, rank, axis, loops_at(n)[k == 0 ? 0 : 1], n.shape[axis]);
    }
    if (n.op == Ops::ORDER) {
      const auto axis = static_cast<std::size_t>(std::get<OrderArg>(n.arg).axis);
      return looped(st, rank, axis, loops_at(n)[0], n.shape[axis]);
    }
    if (n.op == Ops::GATHER && k == 0)
      return looped(st, rank, rank - 1, loops_at(n)[0], 1).reshape(with_loops(n.shape));
    return st;
  }

  /// `axis` runs in a loop of its own; in its place is an axis of `size` on which nothing depends.
  /// @pre nothing depends on the loop yet
  static ShapeTracker looped(const ShapeTracker& st, std::size_t rank, std::size_t axis, std::size_t loop,
                             const Int& size) {
    Axes order;
    for (std::size_t j = 0; j < st.rank(); ++j) order.push_back(static_cast<std::int64_t>(j));
    std::swap(order[axis], order[rank + loop]);
    Mask one;
    for (const Int& s : st.shape()) one.push_back({0, s});
    one[axis] = {0, 1};
    Ints shape = st.shape();
    const ShapeTracker out = st.permute(order).shrink(one);
    shape[axis] = size;
    return out.expand(shape);
  }

  static ShapeTracker movement(const LazyNode& n, const ShapeTracker& st, std::size_t rank) {
    const Ints& all = st.shape();
    const auto with_rest = [&](Ints shape) {
      for (std::size_t j = rank; j < all.size(); ++j) shape.push_back(all[j]);
      return shape;
    };
    switch (n.op) {
      case Ops::RESHAPE: return st.reshape(with_rest(std::get<Ints>(n.arg)));
      case Ops::EXPAND: return st.expand(with_rest(std::get<Ints>(n.arg)));
      case Ops::PERMUTE: {
        Axes order = std::get<Axes>(n.arg);
        for (std::size_t j = rank; j < all.size(); ++j) order.push_back(static_cast<std::int64_t>(j));
        return st.permute(order);
      }
      case Ops::PAD: {
        Padding padding = std::get<Padding>(n.arg);
        for (std::size_t j = rank; j < all.size(); ++j) padding.push_back({0, 0});
        return st.pad(padding);
      }
      case Ops::SHRINK: {
        Mask bounds = std::get<Mask>(n.arg);
        for (std::size_t j = rank; j < all.size(); ++j) bounds.push_back({0, all[j]});
        return st.shrink(bounds);
      }
      default: {
        Ints steps = std::get<Ints>(n.arg);
        for (std::size_t j = rank; j < all.size(); ++j) steps.push_back(1);
        return st.stride(steps);
      }
    }
  }

  std::span<const LazyOp> values_;
  std::vector<const LazyNode*> nodes_;
  Ints loops_;
  std::vector<std::pair<const LazyNode*, std::vector<std::size_t>>> loops_of_;
  std::unordered_map<const LazyNode*, Reads> reads_;
};

}  // namespace

std::optional<KernelReads> reads_of(std::span<const LazyOp> values, const Ints& shape, std::size_t slots) {
  return ReadsOf(values).run(shape, slots);
}

}  // namespace strata
