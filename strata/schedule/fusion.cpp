#include "strata/schedule/fusion.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "strata/base/interrupt.h"
#include "strata/base/small_vec.h"
#include "strata/base/walk.h"
#include "strata/graph/order_rows.h"
#include "strata/graph/step_graph.h"
#include "strata/schedule/contraction.h"
#include "strata/schedule/domain.h"
#include "strata/schedule/recompute.h"

namespace strata {

namespace {

constexpr int kCheap = 4;  // operations per element that each of several kernels may repeat
constexpr double kMostCost = 1 << 20;
constexpr int kMostRounds = 4;
constexpr double kMostOverlap = 1.5;  // how often a kernel may compute each element of a reduction inside of it
constexpr std::size_t kMostAxes = 63, kMostUses = 64;

/// A set of axes of a kernel, as bits: first the output axes, then the axes of each reduction, in the order in which
/// they are met.
using AxisSet = std::uint64_t;
constexpr AxisSet kScrambled = AxisSet{1} << 63;  // the set's axes are merged, but not in their order

/// A fusion group: nodes that become one kernel. An axis is a loop of that kernel.
struct FusionGroup {
  const LazyNode* root = nullptr;
  Ints domain;                    // the loop dimensions, which enumerate the root's elements in row-major order
  std::vector<double> sizes;      // by axis: the trip count
  std::vector<std::size_t> same;  // by axis: the first axis with which it shares a loop
  std::vector<AxisSet> together;  // by axis: all axes of the same reduction
  SmallVec<AxisSet, 6> dims;      // by dimension of the output: the axes on which it depends
  AxisSet outputs = 0;            // the output axes
  std::vector<AxisSet> rows;  // for each reduction that does not depend on all output axes: those on which it depends
  std::size_t nodes = 0;
  bool is_part = false;                            // the kernel computes a part of a CONCAT
  ReductionKind reductions = ReductionKind::none;  // the last kind among them
  bool has_reduction = false, has_scan = false;    // a scan or a SCATTER
};

/// A use of a node by a kernel: the axes on which each dimension of the node depends, and the axes whose loops are
/// around the use.
struct Use {
  std::size_t group;
  SmallVec<AxisSet, 6> dims;
  AxisSet scope;
  std::uint64_t shifts = 0;  // a hash of the shrinks, pads and strides between the node and the kernel's loops

  AxisSet depends() const {
    AxisSet out = 0;
    for (const AxisSet d : dims) out |= d;
    return out & ~kScrambled;
  }
  /// True iff both read the same element in the same iteration of the same loops.
  bool reads_as(const Use& o) const {
    return group == o.group && shifts == o.shifts && std::equal(dims.begin(), dims.end(), o.dims.begin(), o.dims.end());
  }
  bool operator==(const Use& o) const { return scope == o.scope && reads_as(o); }
};

bool is_one(const Int& size) { return size == Int(1); }

/// The product of the trip counts of the loops over `axes`.
double trip_count(AxisSet axes, const FusionGroup& group) {
  double out = 1;
  for (AxisSet left = axes & ~kScrambled; left != 0; left &= left - 1)
    out *= group.sizes[static_cast<std::size_t>(std::countr_zero(left))];
  return out;
}

/// A dimension, or a part of it that is one axis.
struct Factor {
  Int size;
  AxisSet axes;
};

/// Appends the factors of a dimension: the axes, if the dimension is exactly their product; else the dimension itself.
void add_factors(const Int& size, AxisSet axes, const FusionGroup& group, SmallVec<Factor, 6>& out) {
  const bool is_exact = std::popcount(axes) > 1 && (axes & kScrambled) == 0 && size.is_number() &&
                        trip_count(axes, group) == count_of(size);
  if (!is_exact) return out.push_back({size, axes});
  for (AxisSet left = axes; left != 0; left &= left - 1) {
    const AxisSet one = left & ~(left - 1);
    out.push_back({static_cast<std::int64_t>(trip_count(one, group)), one});
  }
}
/// The axes of a merged dimension whose outer part depends on `a` and whose inner part depends on `b`.
AxisSet joined_axes(AxisSet a, AxisSet b) {
  const bool in_order = a == 0 || b == 0 || std::bit_floor(a) < (b & ~(b - 1));
  return a | b | (in_order ? 0 : kScrambled);
}

/// The axes on which each dimension of a RESHAPE's operand (shape `below`) depends, given those of its result. Result
/// and operand are divided into the shortest runs of dimensions with equal products; a dimension depends on all axes of
/// its run.
SmallVec<AxisSet, 6> through_reshape(const SmallVec<Factor, 6>& above, const Ints& below) {
  SmallVec<AxisSet, 6> out;
  for (std::size_t t = 0; t < below.size(); ++t) out.push_back(0);
  std::size_t a = 0, b = 0;
  while (a < above.size() || b < below.size()) {
    const std::size_t first_a = a, first_b = b;
    Int left = 1, right = 1;
    AxisSet all = 0;
    const auto take = [&](bool of_above) {
      if (of_above)
        left *= above[a].size, all = joined_axes(all, above[a].axes), ++a;
      else
        right *= below[b], ++b;
    };
    if (a < above.size()) take(true);
    if (b < below.size()) take(false);
    while (!(left == right) && (a < above.size() || b < below.size())) {
      const bool more_above = b == below.size() || (a < above.size() && left.is_number() && right.is_number() &&
                                                    left.value() < right.value());
      take(more_above && a < above.size());
    }
    for (std::size_t t = first_b; t < b; ++t) out[t] = is_one(below[t]) ? 0 : all;
    if (a == first_a && b == first_b) break;
  }
  return out;
}

class Fusing {
 public:
  Fusing(std::span<const LazyOp> roots, const FusionOptions& options) : options_(options) {
    for (const LazyOp& r : roots) asked_.insert_or_assign(r.node(), true);
    order_nodes(roots);
  }

  std::vector<Materialized> run() {
    place_all();
    for (int round = 1; options_.fuse && finds_more(round); ++round) place_all();
    std::vector<Materialized> out;
    for (const LazyOp& n : order_) {
      const Info& info = info_.at(n.node());
      if (info.why == Boundary::none) continue;
      out.push_back({n, info.why, info.inside ? groups_[*info.inside].root : nullptr, {}});
      if (!info.inside) out.back().domain = groups_[info.own].domain;
    }
    return out;
  }

 private:
  struct Info {
    double cost = 0;  // operations per element, down to memory or a reduction
    Boundary why = Boundary::none;
    std::optional<std::size_t> inside;  // the group whose kernel also stores the node
    std::size_t own = 0;                // without `inside`: the group of the node's own kernel
    std::vector<Use> uses, all_uses;    // the uses that are passed on to sources; all uses
    std::size_t group = 0, loops = 0;   // of a reduction: its group, and the first axis of its loops there
    int depth = 0;                      // the most reductions on a path down to memory
    bool is_copied = false;             // copied whole to another device
    bool overflows = false;             // more than kMostUses uses, which are not told apart
  };

  static bool is_memory(const LazyNode& n) { return n.op == Ops::EMPTY || is_realized(n); }
  static bool is_leaf(const LazyNode& n) { return n.src.empty() || is_memory(n); }

  /// The nodes that are not memory, sources first.
  void order_nodes(std::span<const LazyOp> roots) {
    for (const LazyOp& root : roots)
      detail::walk(
          &root, [&](const LazyOp* n) { return !is_memory(*n->node()) && info_.try_emplace(n->node()).second; },
          needed_source, [&](const LazyOp* n) { order_.push_back(*n); });
    for (const LazyOp& n : order_)
      if (n.dtype().is_float() ? options_.bf16_dots : options_.dots)
        for (const LazyNode* cast : dot_casts(*n.node())) dot_casts_.insert(cast);
  }

  void place_all() {
    groups_.clear();
    for (auto& [node, info] : info_) info = Info();
    for (const LazyOp& n : order_) note_cost(*n.node());
    for (std::size_t k = order_.size(); k-- > 0;) {
      check_interrupt_often();
      place(*order_[k].node());
    }
  }

  void note_cost(const LazyNode& n) {
    const bool is_memory = is_forced(n) || recomputed_.contains(&n);
    reads_.note(n, is_memory);
    if (is_reduce(n.op) || is_scan(n.op) || is_memory) return;
    double cost = dot_casts_.contains(&n) ? 0 : node_cost(n);
    for (const LazyOp& s : needed(n))
      if (const auto it = info_.find(s.node()); it != info_.end()) cost += passed_cost(*s.node(), n, it->second.cost);
    info_.at(&n).cost = std::min(cost, kMostCost);
  }

  static bool is_forced(const LazyNode& n) {
    return n.op == Ops::CONTIGUOUS || n.op == Ops::FROM || n.op == Ops::CONCAT || n.op == Ops::SCATTER ||
           n.op == Ops::SCAN || n.op == Ops::ORDER;
  }

  void place(const LazyNode& n) {
    Info& info = info_.at(&n);
    info.all_uses = info.uses;
    const Boundary why = boundary(n, info);
    if (why != Boundary::none) {
      info.why = why;
      info.inside = home(n, info);
      info.own = groups_.size();
      if (info.inside)
        std::erase_if(info.uses, [&](const Use& a) { return a.group != *info.inside; });
      else
        info.uses.assign(1, begin_group(n));
    }
    std::vector<Use> uses = std::move(info.uses);
    if (is_reduce(n.op) && uses.size() > 1) uses.resize(1);  // all read the same elements: computed once
    for (Use& at : uses) {
      groups_[at.group].nodes += nodes_of(n);
      pass_on(n, at);
    }
    // What is below a view is materialized in place of the view, which may have more elements.
    if (info.overflows && why == Boundary::none && (is_movement(n.op) || is_annotation(n.op)))
      if (const auto it = info_.find(n.src[0].node()); it != info_.end()) it->second.overflows = true;
  }

  // --- the rules ---

  Boundary boundary(const LazyNode& n, const Info& info) const {
    if (asked_.contains(&n)) return Boundary::asked;
    if (n.src.empty()) return Boundary::none;  // constants are part of each kernel that uses them
    if (is_forced(n)) return Boundary::contiguous;
    if (recomputed_.contains(&n)) return Boundary::repeated;
    if (is_movement(n.op) || is_annotation(n.op)) return Boundary::none;
    if (!options_.fuse) return Boundary::shared;
    if (info.overflows) return Boundary::shared;
    if (is_cheap_constant(n, info.cost)) return Boundary::none;
    const bool several = owners(info) > 1;
    if (several && (is_reduce(n.op) || is_scan(n.op) || info.cost > kCheap)) return Boundary::shared;
    for (const Use& at : info.uses) {
      const FusionGroup& group = groups_[at.group];
      if (group.nodes >= options_.most_nodes) return Boundary::large;
      if (!goes_with_scans(n, at, group)) return Boundary::unaligned;
      if (is_reduce(n.op) && !fits(n, at, group)) return Boundary::unaligned;
      if (is_second_contraction(n, at, group)) return Boundary::contraction;
      if (is_reduce(n.op) || dot_casts_.contains(&n)) continue;
      if (info.cost * (repetitions(n, at, group) - 1) > kMemoryCost) return Boundary::repeated;
    }
    const bool differently = is_reduce(n.op) && std::any_of(info.uses.begin(), info.uses.end(),
                                                            [&](const Use& at) { return !at.reads_as(info.uses[0]); });
    return differently ? Boundary::unaligned : Boundary::none;
  }

  /// False for a scan or reduction that is not alone in the kernel, and for a scan that the kernel reads elsewhere than
  /// at the place of its own element.
  static bool goes_with_scans(const LazyNode& n, const Use& at, const FusionGroup& group) {
    if (is_reduce(n.op)) return !group.has_scan;
    if (!is_scan(n.op)) return true;
    return !group.has_scan && !group.has_reduction && at.shifts == 0 && group.domain == n.shape &&
           std::equal(at.dims.begin(), at.dims.end(), group.dims.begin(), group.dims.end());
  }

  /// True iff the kernel has a contraction and another one, or another long reduction that is outside of its loops.
  bool is_second_contraction(const LazyNode& n, const Use& at, const FusionGroup& group) const {
    if (!is_reduce(n.op)) return false;
    const ReductionKind kind = reads_.kind_of(n);
    if (std::min(kind, group.reductions) == ReductionKind::contraction) return true;
    return (at.scope & ~group.outputs) == 0 && !can_share_kernel(kind, group.reductions);
  }

  static std::size_t owners(const Info& info) {
    SmallVec<std::size_t, 8> known;
    for (const Use& at : info.uses)
      if (std::find(known.begin(), known.end(), at.group) == known.end()) known.push_back(at.group);
    return known.size();
  }

  /// How often the kernel would compute each element of `n`: the product of the trip counts of loops that are around a
  /// loop on which n depends, but on which n itself does not depend. Reduction loops are inside of output loops; the
  /// rows of reductions are outermost.
  static double repetitions(const LazyNode& n, const Use& at, const FusionGroup& group) {
    return std::max(times(n, at, group), 1.0);
  }
  /// The same on average over all elements: less than 1 where the kernel uses only a part of `n`.
  static double times(const LazyNode& n, const Use& at, const FusionGroup& group) {
    const AxisSet depends = at.depends();
    AxisSet outside = around(at, group) & ~depends;
    if (is_of_outputs(at, group)) {
      const bool is_of_rows =
          std::any_of(group.rows.begin(), group.rows.end(), [&](AxisSet row) { return (depends & ~row) == 0; });
      outside &= is_of_rows ? 0 : group.outputs;
    }
    return trip_count(depends | outside, group) / elements(n);
  }
  /// True iff the use depends on output axes only, and so is outside of all reduction loops.
  static bool is_of_outputs(const Use& at, const FusionGroup& group) { return (at.depends() & ~group.outputs) == 0; }
  /// The loops around the use: all loops of its scope down to the innermost loop on which it depends. (Inner loops are
  /// later axes.)
  static AxisSet around(const Use& at, const FusionGroup& group) {
    AxisSet depends = at.depends();
    if (depends == 0) return 0;
    for (AxisSet left = depends; left != 0; left &= left - 1)
      depends |= group.together[static_cast<std::size_t>(std::countr_zero(left))];
    return (at.scope | depends) & (2 * std::bit_floor(depends) - 1);
  }
  /// How often the loops on which `n` depends visit an element: more than once for overlapping windows.
  static double overlaps(const LazyNode& n, const Use& at, const FusionGroup& group) {
    return std::max(trip_count(at.depends(), group) / elements(n), 1.0);
  }

  /// True iff the loops of the kernel have a place for the reduction `n` where each of its elements is computed (about)
  /// once.
  static bool fits(const LazyNode& n, const Use& at, const FusionGroup& group) {
    const AxisSet depends = at.depends(), missing = group.outputs & ~depends;
    if (group.sizes.size() + std::get<Axes>(n.arg).size() > kMostAxes) return false;
    if (overlaps(n, at, group) > kMostOverlap) return false;
    if (!is_of_outputs(at, group)) {                      // inside of the loops of another reduction:
      if (reduced_count(n) >= kMemoryCost) return false;  // a long reduction is better materialized,
      if (missing != 0) return false;                     // as is one that is the same for some outputs
      return times(n, at, group) <= kMostOverlap;         // or in some iterations of the loops
    }
    if (missing == 0) return true;
    return std::all_of(group.rows.begin(), group.rows.end(), [&](AxisSet row) {
      return (row & ~depends) == 0 || (depends & ~row) == 0;  // the rows of both reductions nest
    });
  }

  // --- recomputation ---

  /// Notes the nodes that the next round materializes in addition. False if there are none.
  bool finds_more(int round) {
    const std::vector<PlacedNode> placed = placed_nodes();
    std::vector<const LazyNode*> more;
    if (round < kMostRounds) more = recomputed_nodes(placed);
    if (more.empty() && round < 2 * kMostRounds) more = excess_nodes(placed, round + 1 == 2 * kMostRounds);
    recomputed_.insert(more.begin(), more.end());
    return !more.empty();
  }
  std::vector<PlacedNode> placed_nodes() {
    find_same_loops();
    std::vector<PlacedNode> placed;
    for (const LazyOp& n : order_) {
      const Info& info = info_.at(n.node());
      const bool may_move = info.why >= Boundary::shared && info.why != Boundary::large && !info.inside;
      const bool is_dot_cast = dot_casts_.contains(n.node());
      placed.push_back({n.node(), info.why != Boundary::none, may_move, is_dot_cast, all_times(*n.node(), info)});
    }
    return placed;
  }
  /// Reductions of a kernel with equal reduced sizes and equal depth share their loops, as in KernelAxes.
  void find_same_loops() {
    std::map<std::tuple<std::size_t, int, std::vector<double>>, std::size_t> first;
    for (const LazyOp& op : order_) {
      const LazyNode& n = *op.node();
      Info& info = info_.at(&n);
      for (const LazyOp& s : needed(n))
        if (const auto it = info_.find(s.node()); it != info_.end() && it->second.why == Boundary::none)
          info.depth = std::max(info.depth, it->second.depth);
      if (!is_reduce(n.op)) continue;
      ++info.depth;
      FusionGroup& group = groups_[info.group];
      std::vector<double> sizes;
      for (const std::int64_t axis : std::get<Axes>(n.arg))
        if (const Int& size = n.src[0].shape()[static_cast<std::size_t>(axis)]; !is_one(size))
          sizes.push_back(count_of(size));
      const std::size_t at = first.try_emplace({info.group, info.depth, sizes}, info.loops).first->second;
      for (std::size_t k = 0; k < sizes.size() && info.loops + k < group.same.size(); ++k)
        group.same[info.loops + k] = at + k;
    }
  }
  /// How often each element of `n` is computed on average, by all kernels together. Uses that share loops count once.
  double all_times(const LazyNode& n, const Info& info) const {
    double out = 0;
    std::vector<Use> known;
    for (const Use& use : info.all_uses) {
      const FusionGroup& group = groups_[use.group];
      Use at = use;
      for (AxisSet& d : at.dims) d = shared_axes(d, group);
      if (std::none_of(known.begin(), known.end(), [&](const Use& k) { return k.reads_as(at); }))
        out += times(n, use, group);
      known.push_back(std::move(at));
    }
    return out;
  }
  static AxisSet shared_axes(AxisSet axes, const FusionGroup& group) {
    AxisSet out = axes & kScrambled;
    for (AxisSet left = axes & ~kScrambled; left != 0; left &= left - 1)
      out |= AxisSet{1} << group.same[static_cast<std::size_t>(std::countr_zero(left))];
    return out;
  }

  // --- kernels ---

  static void add_axis(FusionGroup& group, const Int& size) {
    group.same.push_back(group.sizes.size());
    group.together.push_back(0);
    group.sizes.push_back(count_of(size));
  }

  /// The group whose kernel can also store `n`, because it computes each element of n in the iteration of its own
  /// element at the same index. Of all groups that use `n` only the last one is considered: it depends on none of the
  /// others.
  std::optional<std::size_t> home(const LazyNode& n, const Info& info) const {
    if (!options_.fuse || n.src.empty() || is_forced(n) || info.overflows || info.is_copied || info.uses.empty())
      return std::nullopt;
    const auto at = std::max_element(info.uses.begin(), info.uses.end(),
                                     [](const Use& a, const Use& b) { return a.group < b.group; });
    const bool is_alone =
        std::count_if(info.uses.begin(), info.uses.end(), [&](const Use& a) { return a.group == at->group; }) == 1;
    const FusionGroup& group = groups_[at->group];
    if (!is_alone || group.nodes >= options_.most_nodes || !goes_with_scans(n, *at, group) ||
        !(group.root->shape == n.shape) || is_second_contraction(n, *at, group) ||
        (group.is_part && info.uses.size() > 1) || (info.uses.size() > 1 && is_reduce(n.op) && !fits(n, *at, group)))
      return std::nullopt;
    if (!std::equal(at->dims.begin(), at->dims.end(), group.dims.begin(), group.dims.end())) return std::nullopt;
    return at->group;
  }

  Use begin_group(const LazyNode& n) {
    FusionGroup group;
    group.root = &n;
    group.domain = options_.fuse ? domain_of(n) : n.shape;
    Use at{groups_.size(), {}, 0};
    SmallVec<Factor, 6> factors;
    for (const Int& size : group.domain) {
      const bool is_axis = !is_one(size) && group.sizes.size() < kMostAxes;
      factors.push_back({size, is_axis ? AxisSet{1} << group.sizes.size() : 0});
      if (is_axis) add_axis(group, size);
    }
    at.dims = through_reshape(factors, n.shape);
    group.outputs = at.scope = at.depends();
    group.dims = at.dims;
    groups_.push_back(std::move(group));
    return at;
  }

  void pass_on(const LazyNode& n, Use& at) {
    if (is_leaf(n)) return;
    if (n.op == Ops::FROM) {
      for (const LazyOp& s : n.src) add_use(s, at, true);
      return;
    }
    if (n.op == Ops::SCAN) {
      for (std::size_t k = 0; k < n.src.size(); ++k)
        if (const LoopSource source = loop_source(n, k); !source.constant) add_use(source.memory, at, true);
      return;
    }
    if (n.op == Ops::ORDER) return add_use(order_memory(n), at, true);
    if (n.op == Ops::CONCAT) {
      for (const LazyOp& part : n.src)
        if (info_.contains(part.node())) {
          add_use(part, begin_group(*part.node()), false);
          groups_.back().is_part = true;
        }
      return;
    }
    if (n.op == Ops::GATHER) return gather(n, at);
    if (n.op == Ops::SCATTER) return scatter(n, at);
    groups_[at.group].has_scan = groups_[at.group].has_scan || is_scan(n.op);
    if (is_reduce(n.op)) enter_reduction(n, at);
    if (is_movement(n.op)) at.dims = through(n, at);
    if (n.op == Ops::SHRINK || n.op == Ops::PAD || n.op == Ops::STRIDE) at.shifts = at.shifts * 31 + n.hash;
    for (const LazyOp& s : needed(n)) add_use(s, at, false);
  }

  /// The gathered axis of the values depends on all axes on which the index depends.
  void gather(const LazyNode& n, Use& at) {
    add_use(n.src[1], at, false);
    at.dims.push_back(at.depends());
    at.shifts = at.shifts * 31 + n.hash;
    add_use(n.src[0], at, false);
  }
  /// The kernel stores the target, and then goes along the axis of the values, where the target has another axis.
  void scatter(const LazyNode& n, Use& at) {
    FusionGroup& group = groups_[at.group];
    group.has_scan = true;
    add_use(n.src[0], at, false);
    const auto axis = static_cast<std::size_t>(std::get<AxisArg>(n.arg).axis);
    at.shifts = at.shifts * 31 + n.hash;
    at.dims[axis] = 0;
    if (const Int& size = n.src[2].shape()[axis]; !is_one(size) && group.sizes.size() < kMostAxes) {
      at.dims[axis] = AxisSet{1} << group.sizes.size();
      add_axis(group, size);
    }
    at.scope = at.depends();
    add_use(n.src[1], at, false);
    add_use(n.src[2], at, false);
  }
  void enter_reduction(const LazyNode& n, Use& at) {
    FusionGroup& group = groups_[at.group];
    group.reductions = std::max(group.reductions, reads_.kind_of(n));
    group.has_reduction = true;
    const AxisSet depends = at.depends();
    if ((group.outputs & ~depends) != 0) group.rows.push_back(depends);
    Info& info = info_.at(&n);
    info.group = at.group;
    info.loops = group.sizes.size();
    at.scope = is_of_outputs(at, group) ? depends : around(at, group);  // the loops around the reduction's loops
    for (const std::int64_t axis : std::get<Axes>(n.arg)) {
      const auto d = static_cast<std::size_t>(axis);
      if (is_one(n.src[0].shape()[d]) || group.sizes.size() >= kMostAxes) continue;
      at.dims[d] = AxisSet{1} << group.sizes.size();
      at.scope |= at.dims[d];
      add_axis(group, n.src[0].shape()[d]);
    }
    AxisSet all = 0;
    for (std::size_t a = info.loops; a < group.sizes.size(); ++a) all |= AxisSet{1} << a;
    for (std::size_t a = info.loops; a < group.sizes.size(); ++a) group.together[a] = all;
  }

  SmallVec<AxisSet, 6> through(const LazyNode& n, const Use& at) const {
    const Ints& below = n.src[0].shape();
    const SmallVec<AxisSet, 6>& dims = at.dims;
    if (n.op == Ops::RESHAPE) {
      SmallVec<Factor, 6> factors;
      for (std::size_t t = 0; t < dims.size(); ++t) add_factors(n.shape[t], dims[t], groups_[at.group], factors);
      return through_reshape(factors, below);
    }
    SmallVec<AxisSet, 6> out;
    for (std::size_t t = 0; t < below.size(); ++t) out.push_back(is_one(below[t]) ? 0 : dims[t]);
    if (n.op == Ops::PERMUTE) {
      const Axes& order = std::get<Axes>(n.arg);
      for (std::size_t t = 0; t < order.size(); ++t) out[static_cast<std::size_t>(order[t])] = dims[t];
    }
    return out;
  }

  void add_use(const LazyOp& s, const Use& at, bool whole) {
    const auto it = info_.find(s.node());
    if (it == info_.end()) return;  // memory
    Info& info = it->second;
    if (whole) {
      asked_.insert_or_assign(s.node(), true);
      info.is_copied = true;
      return;
    }
    if (std::find(info.uses.begin(), info.uses.end(), at) != info.uses.end()) return;
    if (info.uses.size() >= kMostUses)
      info.overflows = true;
    else
      info.uses.push_back(at);
  }

  FusionOptions options_;
  std::unordered_map<const LazyNode*, bool> asked_;
  std::vector<LazyOp> order_;
  std::unordered_map<const LazyNode*, Info> info_;
  std::unordered_set<const LazyNode*> recomputed_;  // nodes that earlier rounds found: to be materialized
  std::unordered_set<const LazyNode*> dot_casts_;   // with FusionOptions::dots, bf16_dots
  std::vector<FusionGroup> groups_;
  ElementsRead reads_;
};

}  // namespace

std::string_view to_string(Boundary why) {
  constexpr std::array<std::string_view, 8> names = {"none",     "asked",     "contiguous", "shared",
                                                     "repeated", "unaligned", "large",      "contraction"};
  return names[static_cast<std::size_t>(why)];
}

std::vector<Materialized> boundaries(std::span<const LazyOp> roots, const FusionOptions& options) {
  return Fusing(roots, options).run();
}

}  // namespace strata
