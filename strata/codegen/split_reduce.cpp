// The rewrite of the graph.

#include "strata/codegen/split_reduce.h"

#include <algorithm>
#include <unordered_map>

namespace strata {

namespace {

constexpr std::int64_t kLongPart = 1024;  // elements; from here on parts are multiples of kWholeVectors
constexpr std::int64_t kWholeVectors = 64;

class Splitting {
 public:
  Splitting(const LazyOp& kernel, const Opt& opt)
      : kernel_(kernel), opt_(opt), axes_(kernel), out_{{}, kernel, {}} {
    find_axis();
    next_slot_ = static_cast<int>(buffers_of(kernel).size());
  }

  SplitReduction run() {
    for (const LazyNode* n : postorder(kernel_)) {
      std::vector<LazyOp> sources;
      for (const LazyOp& s : n->src) sources.push_back(made_.at(s.node()));
      const bool is_split = is_reduce(n->op) && &axes_.group_of(n) == group_;
      made_.emplace(n, is_split ? in_parts(*n, sources[0]) : handle_of(*n).with_sources(sources));
    }
    for (const std::vector<LazyOp>& stores : stores_) out_.first.push_back(LazyOp::sink(stores));
    out_.rest = made_.at(kernel_.node());
    return std::move(out_);
  }

 private:
  void find_axis() {
    const auto fail = [&](const auto&... why) {
      throw Error(ErrorKind::domain, detail::message("[", opt_.text(), "] ", why...));
    };
    if (opt_.axis >= axes_.axes().size() || opt_.axis < axes_.outputs())
      fail("axis ", opt_.axis, " is not reduced");
    for (const ReduceGroup& g : axes_.groups())
      if (g.first <= opt_.axis && opt_.axis < g.first + g.count) group_ = &g;
    if (group_->level != 0) fail("below the reductions over axis ", opt_.axis, " there are others");
    const Int& size = axes_.axes()[opt_.axis].size;
    if (!size.is_number()) fail("axis ", opt_.axis, " has the symbolic size ", size.render());
    if (opt_.amount < 2 || opt_.amount > size.value() / 2)
      fail("axis ", opt_.axis, " has ", size.value(), " turns, less than two a part");
    part_ = size.value() / opt_.amount;
    if (part_ >= kLongPart) part_ -= part_ % kWholeVectors;
  }

  /// The handle of a node of the kernel: one that its users hold.
  LazyOp handle_of(const LazyNode& n) {
    if (handles_.empty()) {
      handles_.emplace(kernel_.node(), kernel_);
      for (const LazyNode* user : postorder(kernel_))
        for (const LazyOp& s : user->src) handles_.emplace(s.node(), s);
    }
    return handles_.at(&n);
  }

  LazyOp in_parts(const LazyNode& n, const LazyOp& x) {
    const Axes& axes = std::get<Axes>(n.arg);
    const auto d = static_cast<std::size_t>(axes[opt_.axis - group_->first]);
    const std::int64_t end = part_ * opt_.amount, size = x.shape()[d].value();
    const LazyOp parts = reduced_parts(n.op, between(x, d, 0, end), axes, d);
    const int slot = next_slot_++;
    out_.temporaries.push_back(slot);
    add_store(LazyOp::store(slot, ShapeTracker::from_shape(parts.shape()), parts));
    const LazyOp loaded = LazyOp::load(slot, n.dtype, ShapeTracker::from_shape(parts.shape()));
    LazyOp all = LazyOp::reduce(n.op, loaded, {static_cast<std::int64_t>(d)});
    if (end == size) return all;
    const LazyOp left = LazyOp::reduce(n.op, between(x, d, end, size), axes);
    return LazyOp::alu(combining_op(n.op), {all, left});
  }

  /// `x` with dimension `d` from `begin` up to `end`.
  static LazyOp between(const LazyOp& x, std::size_t d, std::int64_t begin, std::int64_t end) {
    Mask bounds;
    for (std::size_t t = 0; t < x.shape().size(); ++t)
      bounds.push_back(t == d ? Extent{begin, end} : Extent{0, x.shape()[t]});
    return x.shrink(bounds);
  }

  /// The shape of `x` with the axes of size 1, dimension `d` of a size for each part.
  LazyOp reduced_parts(Ops op, const LazyOp& x, const Axes& axes, std::size_t d) const {
    Ints cut, kept = x.shape();
    for (std::size_t t = 0; t < x.shape().size(); ++t) {
      cut.push_back(t == d ? Int(opt_.amount) : x.shape()[t]);
      if (t == d) cut.push_back(part_);
    }
    Axes inner;
    for (const std::int64_t a : axes) {
      kept[static_cast<std::size_t>(a)] = 1;
      inner.push_back(static_cast<std::size_t>(a) < d ? a : a + 1);
    }
    kept[d] = opt_.amount;
    return LazyOp::reduce(op, x.reshape(cut), inner).reshape(kept);
  }

  /// Stores of the same shape share a kernel, and with it what they load.
  void add_store(const LazyOp& store) {
    for (std::vector<LazyOp>& stores : stores_)
      if (stores[0].shape() == store.shape()) return stores.push_back(store);
    stores_.push_back({store});
  }

  LazyOp kernel_;
  Opt opt_;
  KernelAxes axes_;
  const ReduceGroup* group_ = nullptr;
  std::int64_t part_ = 0;  // turns of a part
  int next_slot_ = 0;
  std::unordered_map<const LazyNode*, LazyOp> handles_, made_;
  std::vector<std::vector<LazyOp>> stores_;  // by kernel
  SplitReduction out_;
};

}  // namespace

SplitReduction split_reduction(const LazyOp& kernel, const Opt& opt) {
  return Splitting(kernel, opt).run();
}

}  // namespace strata
