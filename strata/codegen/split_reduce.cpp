// SPLITREDUCE as a rewrite of the kernel's graph.

#include "strata/codegen/split_reduce.h"

#include <algorithm>
#include <unordered_map>

#include "strata/codegen/nests.h"
#include "strata/ir/sum_order.h"

namespace strata {

namespace {

constexpr std::int64_t kParts = 64;       // the number of parts for threads
constexpr std::int64_t kLongPart = 1024;  // elements; longer parts are multiples of kWholeVectors
constexpr std::int64_t kWholeVectors = 64;
constexpr std::int64_t kTermsOfAPart = 256;  // fewest terms that pay for a partial result in memory

/// part_lengths() (ir/sum_order.h) for a reduce axis of a kernel.
std::vector<std::int64_t> lengths_in_order(const KernelAxes& axes, std::size_t axis) {
  const auto group = static_cast<std::size_t>(axes.axes()[axis].group);
  const ReduceGroup& of = axes.groups()[group];
  Ints sizes;
  for (std::size_t j = 0; j < of.count; ++j) sizes.push_back(axes.axes()[of.first + j].size);
  return part_lengths({sizes.data(), sizes.size()}, axis - of.first);
}

/// The largest number of parts up to kParts that the order of sums over the axis allows; 0 for none.
std::int64_t most_in_order(const KernelAxes& axes, std::size_t axis) {
  std::int64_t out = 0;
  for (const std::int64_t parts : parts_in_order(axes, axis))
    if (parts <= kParts) out = parts;
  return out;
}

class Splitting {
 public:
  Splitting(const LazyOp& kernel, const Opt& opt, const Target& target)
      : kernel_(kernel), opt_(opt), axes_(kernel), out_{{}, kernel, {}} {
    find_axis();
    const auto group = static_cast<std::size_t>(group_ - axes_.groups().data());
    if (sum_orders(kernel, axes_, target)[group] == SumOrder::defined) keep_order();
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
    if (opt_.axis >= axes_.axes().size() || opt_.axis < axes_.outputs()) fail("axis ", opt_.axis, " is not reduced");
    for (const ReduceGroup& g : axes_.groups())
      if (g.first <= opt_.axis && opt_.axis < g.first + g.count) group_ = &g;
    if (group_->level != 0) fail("the reductions over axis ", opt_.axis, " have other reductions below");
    const Int& size = axes_.axes()[opt_.axis].size;
    if (!size.is_number()) fail("axis ", opt_.axis, " has the symbolic size ", size.render());
    if (opt_.amount < 2 || opt_.amount > size.value() / 2)
      fail("axis ", opt_.axis, " has ", size.value(), " iterations, fewer than two per part");
    part_ = size.value() / opt_.amount;
    if (part_ >= kLongPart) part_ -= part_ % kWholeVectors;
  }
  void keep_order() {
    lengths_ = lengths_in_order(axes_, opt_.axis);
    const std::int64_t size = axes_.axes()[opt_.axis].size.value();
    while (!lengths_.empty() && (size - 1) / lengths_.back() + 1 > opt_.amount) lengths_.pop_back();
    if (lengths_.empty() || (size - 1) / lengths_.back() + 1 != opt_.amount)
      fail("a sum of floats keeps the defined order, which does not split into ", opt_.amount, " parts of axis ",
           opt_.axis);
    part_ = lengths_.back();
  }
  template <class... Why>
  [[noreturn]] void fail(const Why&... why) const {
    throw Error(ErrorKind::domain, detail::message("[", opt_.text(), "] ", why...));
  }

  /// The LazyOp of a node of the kernel, as its users hold it.
  LazyOp handle_of(const LazyNode& n) {
    if (handles_.empty()) {
      handles_.emplace(kernel_.node(), kernel_);
      for (const LazyNode* user : postorder(kernel_))
        for (const LazyOp& s : user->src) handles_.emplace(s.node(), s);
    }
    return handles_.at(&n);
  }

  /// Replaces reduction `n` of operand `narrow`: stores its partial results to a temporary, and combines them.
  LazyOp in_parts(const LazyNode& n, const LazyOp& narrow) {
    const Axes& axes = std::get<Axes>(n.arg);
    const LazyOp x = narrow.cast(accumulator_of(n.op, n.dtype));
    const auto d = static_cast<std::size_t>(axes[opt_.axis - group_->first]);
    const std::int64_t size = x.shape()[d].value(), whole = std::min(opt_.amount, size / part_);
    const std::int64_t end = part_ * whole;
    const LazyOp parts = reduced_parts(n.op, between(x, d, 0, end), axes, d, whole);
    const int slot = next_slot_++;
    out_.temporaries.push_back(slot);
    add_store(LazyOp::store(slot, ShapeTracker::from_shape(parts.shape()), parts));
    const LazyOp loaded = LazyOp::load(slot, x.dtype(), ShapeTracker::from_shape(parts.shape()));
    const auto left = [&] { return LazyOp::reduce(n.op, between(x, d, end, size), axes); };
    if (is_ordered(n.op, n.dtype) && !lengths_.empty()) {
      std::vector<LazyOp> sums;
      for (std::int64_t p = 0; p < whole; ++p) sums.push_back(between(loaded, d, p, p + 1));
      if (end < size) sums.push_back(left());
      return digit_by_digit(n.op, std::move(sums)).cast(n.dtype);
    }
    LazyOp all = LazyOp::reduce(n.op, loaded, {static_cast<std::int64_t>(d)});
    if (end < size) all = LazyOp::alu(combining_op(n.op), {all, left()});
    return all.cast(n.dtype);
  }

  /// Combines the sums of parts in the order of ir/sum_order.h.
  LazyOp digit_by_digit(Ops op, std::vector<LazyOp> sums) const {
    for (std::size_t k = lengths_.size(); k-- > 0;) {
      const std::size_t count = k == 0 ? sums.size() : static_cast<std::size_t>(lengths_[k - 1] / lengths_[k]);
      std::vector<LazyOp> above;
      for (std::size_t first = 0; first < sums.size(); first += count) {
        LazyOp sum = sums[first];
        for (std::size_t p = first + 1; p < std::min(first + count, sums.size()); ++p)
          sum = LazyOp::alu(combining_op(op), {sum, sums[p]});
        above.push_back(sum);
      }
      sums = std::move(above);
    }
    return sums[0];
  }

  /// The elements [begin, end) of dimension `d` of x.
  static LazyOp between(const LazyOp& x, std::size_t d, std::int64_t begin, std::int64_t end) {
    Mask bounds;
    for (std::size_t t = 0; t < x.shape().size(); ++t)
      bounds.push_back(t == d ? Extent{begin, end} : Extent{0, x.shape()[t]});
    return x.shrink(bounds);
  }

  /// The partial results: x reduced over `axes`, where dimension `d` keeps the size `parts`.
  LazyOp reduced_parts(Ops op, const LazyOp& x, const Axes& axes, std::size_t d, std::int64_t parts) const {
    Ints cut, kept = x.shape();
    for (std::size_t t = 0; t < x.shape().size(); ++t) {
      cut.push_back(t == d ? Int(parts) : x.shape()[t]);
      if (t == d) cut.push_back(part_);
    }
    Axes inner;
    for (const std::int64_t a : axes) {
      kept[static_cast<std::size_t>(a)] = 1;
      inner.push_back(static_cast<std::size_t>(a) < d ? a : a + 1);
    }
    kept[d] = parts;
    return LazyOp::reduce(op, x.reshape(cut), inner).reshape(kept);
  }

  /// Stores of equal shape become one kernel, so that common loads are shared.
  void add_store(const LazyOp& store) {
    for (std::vector<LazyOp>& stores : stores_)
      if (stores[0].shape() == store.shape()) return stores.push_back(store);
    stores_.push_back({store});
  }

  LazyOp kernel_;
  Opt opt_;
  KernelAxes axes_;
  const ReduceGroup* group_ = nullptr;
  std::int64_t part_ = 0;              // the length of a part
  std::vector<std::int64_t> lengths_;  // where sums keep their order: part_lengths(), down to `part_`
  int next_slot_ = 0;
  std::unordered_map<const LazyNode*, LazyOp> handles_, made_;
  std::vector<std::vector<LazyOp>> stores_;  // by kernel
  SplitReduction out_;
};

}  // namespace

SplitReduction split_reduction(const LazyOp& kernel, const Opt& opt, const Target& target) {
  return Splitting(kernel, opt, target).run();
}

std::optional<Opt> worthwhile_split(const LazyOp& kernel, const Target& target) {
  const KernelAxes axes(kernel);
  if (axes.groups().size() != 1) return std::nullopt;
  std::int64_t outputs = 1, reduced = 1;
  for (std::size_t a = 0; a < axes.axes().size(); ++a) {
    const Int& size = axes.axes()[a].size;
    std::int64_t& product = a < axes.outputs() ? outputs : reduced;
    if (!size.is_number() || !try_mul(product, std::max<std::int64_t>(size.value(), 1), product)) return std::nullopt;
  }
  if (outputs >= kParts || reduced < 2 * kWorkForThreads) return std::nullopt;
  const bool is_ordered = sum_orders(kernel, axes, target)[0] == SumOrder::defined;
  for (std::size_t a = axes.outputs(); a < axes.axes().size(); ++a) {
    if (axes.axes()[a].size.value() < 2 * kParts) continue;
    const std::int64_t parts = is_ordered ? most_in_order(axes, a) : kParts;
    if (parts > 1) return Opt{Opt::Kind::SPLITREDUCE, a, parts, 0, {}};
  }
  return std::nullopt;
}

std::vector<Opt> splits_to_pack(const LazyOp& kernel, const Target& target) {
  const KernelAxes axes(kernel);
  if (axes.groups().size() != 1 || target.instances) return {};
  if (sum_orders(kernel, axes, target)[0] == SumOrder::defined) return {};
  std::int64_t terms = 1;
  for (std::size_t a = 0; a < axes.axes().size(); ++a) {
    const Int& size = axes.axes()[a].size;
    if (!size.is_number() || size.value() < 1) return {};
    if (a >= axes.outputs() && !try_mul(terms, size.value(), terms)) return {};
  }
  std::int64_t bytes = 0;  // of a vector of outputs for each term: a row of a panel
  if (!try_mul(terms, target.vector_bytes, bytes) || bytes <= target.scratch_bytes / 4) return {};
  std::vector<Opt> out;
  for (std::size_t a = axes.outputs(); a < axes.axes().size(); ++a) {
    const std::int64_t size = axes.axes()[a].size.value();
    for (std::int64_t parts = 2; parts <= size / 2; parts = parts * 2) {
      // A partial result is worth kTermsOfAPart terms at least.
      if (size % parts != 0 || bytes / parts > target.scratch_bytes / 4 || terms / parts < kTermsOfAPart) continue;
      out.push_back({Opt::Kind::SPLITREDUCE, a, parts, 0, {}});
      break;
    }
  }
  return out;
}

std::vector<std::int64_t> parts_in_order(const KernelAxes& axes, std::size_t axis) {
  std::vector<std::int64_t> out;
  const Int& size = axes.axes()[axis].size;
  for (const std::int64_t length : lengths_in_order(axes, axis)) out.push_back((size.value() - 1) / length + 1);
  return out;
}

}  // namespace strata
