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
#include "strata/schedule/again.h"
#include "strata/schedule/domain.h"

namespace strata {

namespace {

constexpr int kCheap = 4;  // operations an element that several kernels may each do
constexpr double kMostWork = 1 << 20;
constexpr int kMostRounds = 4;
constexpr double kMostOverlap = 1.5;  // of a reduction inside of a kernel: how often each element is made
constexpr std::size_t kMostAxes = 63, kMostArrivals = 64;

/// Axes of a kernel, as bits: those of its output, then one for each axis of its reductions.
using AxisSet = std::uint64_t;
constexpr AxisSet kScrambled = AxisSet{1} << 63;  // several axes, not in their order

/// A kernel while it is put together.
struct Forming {
  const LazyNode* root = nullptr;
  Ints domain;                    // row-major the elements of the root
  std::vector<double> sizes;      // of its axes
  std::vector<std::size_t> same;  // for each of its axes: the first one whose loop it shares
  std::vector<AxisSet> together;  // for each: those that one reduction adds up as one sequence
  SmallVec<AxisSet, 6> dims;      // on which of them each dimension of its output depends
  AxisSet outputs = 0;            // those of its output
  std::vector<AxisSet> rows;  // of each reduction: the output axes that it depends on, where it is not on all
  std::size_t nodes = 0;
  bool is_part = false;  // of a CONCAT
};

/// A use of a node: in which kernel, on which of its axes each dimension depends, and which axes' loops it is inside of.
struct Arrival {
  std::size_t kernel;
  SmallVec<AxisSet, 6> dims;
  AxisSet scope;
  std::uint64_t shifts = 0;  // by which shrinks, pads and strides the reader sees it

  AxisSet depends() const {
    AxisSet out = 0;
    for (const AxisSet d : dims) out |= d;
    return out & ~kScrambled;
  }
  /// Of the same element in the same turn of the same loops.
  bool reads_as(const Arrival& o) const {
    return kernel == o.kernel && shifts == o.shifts &&
           std::equal(dims.begin(), dims.end(), o.dims.begin(), o.dims.end());
  }
  bool operator==(const Arrival& o) const { return scope == o.scope && reads_as(o); }
};

bool is_one(const Int& size) { return size == Int(1); }
double count_of(const Int& size) {
  return static_cast<double>(std::max<std::int64_t>(size.vmax(), 1));
}

double turns(AxisSet axes, const Forming& kernel) {
  double out = 1;
  for (AxisSet left = axes & ~kScrambled; left != 0; left &= left - 1)
    out *= kernel.sizes[static_cast<std::size_t>(std::countr_zero(left))];
  return out;
}

/// A dimension, or the part of it that is one axis.
struct Factor {
  Int size;
  AxisSet axes;
};

/// A dimension that is several whole axes of the kernel, as these.
void add_factors(const Int& size, AxisSet axes, const Forming& kernel, SmallVec<Factor, 6>& out) {
  const bool is_exact = std::popcount(axes) > 1 && (axes & kScrambled) == 0 && size.is_number() &&
                        turns(axes, kernel) == count_of(size);
  if (!is_exact) return out.push_back({size, axes});
  for (AxisSet left = axes; left != 0; left &= left - 1) {
    const AxisSet one = left & ~(left - 1);
    out.push_back({static_cast<std::int64_t>(turns(one, kernel)), one});
  }
}
/// As one dimension, of which the axes of `a` are the outer part.
AxisSet joined_axes(AxisSet a, AxisSet b) {
  const bool in_order = a == 0 || b == 0 || std::bit_floor(a) < (b & ~(b - 1));
  return a | b | (in_order ? 0 : kScrambled);
}

/// The dimensions of a reshape's operand by those of its result: groups whose sizes have the same product are apart.
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
      const bool more_above = b == below.size() || (a < above.size() && left.is_number() &&
                                                    right.is_number() && left.value() < right.value());
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

  std::vector<Cut> run() {
    place_all();
    for (int round = 1; options_.fuse && finds_more(round); ++round) place_all();
    std::vector<Cut> out;
    for (const LazyOp& n : order_) {
      const Info& info = info_.at(n.node());
      if (info.why == Boundary::none) continue;
      out.push_back({n, info.why, info.inside ? kernels_[*info.inside].root : nullptr, {}});
      if (!info.inside) out.back().domain = kernels_[info.own].domain;
    }
    return out;
  }

 private:
  struct Info {
    double work = 0;  // operations an element, down to memory or a reduction
    Boundary why = Boundary::none;
    std::optional<std::size_t> inside;    // the kernel that stores it beside its own
    std::size_t own = 0;                  // else that of its own
    std::vector<Arrival> arrivals, uses;  // those that are passed on; and all
    std::size_t kernel = 0, loops = 0;    // of a reduction: the first axis of its loops
    int depth = 0;           // how many reductions are one above another, down to memory
    bool is_copied = false;  // to another device, as it stands
    bool overflows = false;  // more uses than are told apart
  };

  static bool is_memory(const LazyNode& n) { return n.op == Ops::EMPTY || is_realized(n); }
  static bool is_leaf(const LazyNode& n) { return n.src.empty() || is_memory(n); }

  /// What is not realized, sources first.
  void order_nodes(std::span<const LazyOp> roots) {
    for (const LazyOp& root : roots)
      detail::walk(
          &root,
          [&](const LazyOp* n) {
            return !is_memory(*n->node()) && info_.try_emplace(n->node()).second;
          },
          needed_source, [&](const LazyOp* n) { order_.push_back(*n); });
  }

  void place_all() {
    kernels_.clear();
    for (auto& [node, info] : info_) info = Info();
    for (const LazyOp& n : order_) note_work(*n.node());
    for (std::size_t k = order_.size(); k-- > 0;) {
      check_interrupt_often();
      place(*order_[k].node());
    }
  }

  void note_work(const LazyNode& n) {
    if (is_reduce(n.op) || is_forced(n)) return;
    if (dear_.contains(&n)) return;
    double work = is_elementwise(n.op) ? work_of(n.op) : 0;
    for (const LazyOp& s : needed(n))
      if (const auto it = info_.find(s.node()); it != info_.end())
        work += passed_work(*s.node(), n, it->second.work);
    info_.at(&n).work = std::min(work, kMostWork);
  }

  static bool is_forced(const LazyNode& n) {
    return n.op == Ops::CONTIGUOUS || n.op == Ops::FROM || n.op == Ops::CONCAT;
  }

  void place(const LazyNode& n) {
    Info& info = info_.at(&n);
    info.uses = info.arrivals;
    const Boundary why = boundary(n, info);
    if (why != Boundary::none) {
      info.why = why;
      info.inside = home(n, info);
      info.own = kernels_.size();
      if (info.inside)
        std::erase_if(info.arrivals, [&](const Arrival& a) { return a.kernel != *info.inside; });
      else
        info.arrivals.assign(1, begin_kernel(n));
    }
    std::vector<Arrival> arrivals = std::move(info.arrivals);
    if (is_reduce(n.op) && arrivals.size() > 1)
      arrivals.resize(1);  // all read the same: it is done once
    for (Arrival& at : arrivals) {
      ++kernels_[at.kernel].nodes;
      pass_on(n, at);
    }
  }

  // --- the rules ---

  Boundary boundary(const LazyNode& n, const Info& info) const {
    if (asked_.contains(&n)) return Boundary::asked;
    if (n.src.empty()) return Boundary::none;  // constants are written where they are used
    if (is_forced(n)) return Boundary::contiguous;
    if (dear_.contains(&n)) return Boundary::repeated;
    if (is_movement(n.op)) return info.overflows ? Boundary::shared : Boundary::none;
    if (!options_.fuse) return Boundary::shared;
    if (info.overflows) return Boundary::shared;
    if (is_cheap_constant(n, info.work)) return Boundary::none;
    const bool several = owners(info) > 1;
    if (several && (is_reduce(n.op) || info.work > kCheap)) return Boundary::shared;
    for (const Arrival& at : info.arrivals) {
      const Forming& kernel = kernels_[at.kernel];
      if (kernel.nodes >= options_.most_nodes) return Boundary::large;
      if (is_reduce(n.op) && !fits(n, at, kernel)) return Boundary::unaligned;
      if (!is_reduce(n.op) && info.work * (repetitions(n, at, kernel) - 1) > kMemoryWork)
        return Boundary::repeated;
    }
    const bool differently =
        is_reduce(n.op) &&
        std::any_of(info.arrivals.begin(), info.arrivals.end(),
                    [&](const Arrival& at) { return !at.reads_as(info.arrivals[0]); });
    return differently ? Boundary::unaligned : Boundary::none;
  }

  static std::size_t owners(const Info& info) {
    SmallVec<std::size_t, 8> known;
    for (const Arrival& at : info.arrivals)
      if (std::find(known.begin(), known.end(), at.kernel) == known.end())
        known.push_back(at.kernel);
    return known.size();
  }

  /// How often the kernel would compute one element: the turns of loops that it does not depend on, which are around some that it
  /// does. Loops of reductions are inside of those over outputs; rows of reductions are outermost.
  static double repetitions(const LazyNode& n, const Arrival& at, const Forming& kernel) {
    return std::max(times(n, at, kernel), 1.0);
  }
  /// The same on the average: less than once where it is seen in part.
  static double times(const LazyNode& n, const Arrival& at, const Forming& kernel) {
    const AxisSet depends = at.depends();
    AxisSet outside = around(at, kernel) & ~depends;
    if (is_of_outputs(at, kernel)) {
      const bool is_of_rows = std::any_of(kernel.rows.begin(), kernel.rows.end(),
                                          [&](AxisSet row) { return (depends & ~row) == 0; });
      outside &= is_of_rows ? 0 : kernel.outputs;
    }
    return turns(depends | outside, kernel) / elements(n);
  }
  /// It stands in no loop of a reduction.
  static bool is_of_outputs(const Arrival& at, const Forming& kernel) {
    return (at.depends() & ~kernel.outputs) == 0;
  }
  /// The loops that it stands in: those down to the innermost that it depends on. (Inner loops are later axes.)
  static AxisSet around(const Arrival& at, const Forming& kernel) {
    AxisSet depends = at.depends();
    if (depends == 0) return 0;
    for (AxisSet left = depends; left != 0; left &= left - 1)
      depends |= kernel.together[static_cast<std::size_t>(std::countr_zero(left))];
    return (at.scope | depends) & (2 * std::bit_floor(depends) - 1);
  }
  /// The elements that go into one.
  static double reduced_count(const LazyNode& n) {
    double out = 1;
    for (const std::int64_t axis : std::get<Axes>(n.arg))
      out *= count_of(n.src[0].shape()[static_cast<std::size_t>(axis)]);
    return out;
  }
  /// How often an element is met by loops that it depends on: windows overlap, and an axis may be one and many in parts.
  static double overlaps(const LazyNode& n, const Arrival& at, const Forming& kernel) {
    return std::max(turns(at.depends(), kernel) / elements(n), 1.0);
  }
  static double elements(const LazyNode& n) {
    double out = 1;
    for (const Int& size : n.shape) out *= count_of(size);
    return out;
  }

  /// Whether a reduction finds a place in the loops of the kernel where it is done once for each of its elements.
  static bool fits(const LazyNode& n, const Arrival& at, const Forming& kernel) {
    const AxisSet depends = at.depends(), missing = kernel.outputs & ~depends;
    if (kernel.sizes.size() + std::get<Axes>(n.arg).size() > kMostAxes) return false;
    if (overlaps(n, at, kernel) > kMostOverlap) return false;
    if (!is_of_outputs(at, kernel)) {                     // in another one's loops,
      if (reduced_count(n) >= kMemoryWork) return false;  // where loops of its own are better,
      if (missing != 0) return false;                     // which are in those over `missing`,
      return times(n, at, kernel) <= kMostOverlap;        // or in more that it is the same in
    }
    if (missing == 0) return true;
    return std::all_of(kernel.rows.begin(), kernel.rows.end(), [&](AxisSet row) {
      return (row & ~depends) == 0 || (depends & ~row) == 0;  // rows in rows
    });
  }

  // --- what is made again ---

  /// Notes what the next round gives memory. False where it is nothing.
  bool finds_more(int round) {
    const std::vector<PlacedNode> placed = placed_nodes();
    std::vector<const LazyNode*> more;
    if (round < kMostRounds) more = made_again(placed);
    if (more.empty() && round < 2 * kMostRounds)
      more = made_too_often(placed, round + 1 == 2 * kMostRounds);
    dear_.insert(more.begin(), more.end());
    return !more.empty();
  }
  std::vector<PlacedNode> placed_nodes() {
    find_same_loops();
    std::vector<PlacedNode> placed;
    for (const LazyOp& n : order_) {
      const Info& info = info_.at(n.node());
      const bool may_move = info.why >= Boundary::shared && info.why != Boundary::large && !info.inside;
      placed.push_back({n.node(), info.why != Boundary::none, may_move, all_times(*n.node(), info)});
    }
    return placed;
  }
  /// Reductions of the same sizes, with as many below them, share their loops.
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
      Forming& kernel = kernels_[info.kernel];
      std::vector<double> sizes;
      for (const std::int64_t axis : std::get<Axes>(n.arg))
        if (const Int& size = n.src[0].shape()[static_cast<std::size_t>(axis)]; !is_one(size))
          sizes.push_back(count_of(size));
      const std::size_t at =
          first.try_emplace({info.kernel, info.depth, sizes}, info.loops).first->second;
      for (std::size_t k = 0; k < sizes.size() && info.loops + k < kernel.same.size(); ++k)
        kernel.same[info.loops + k] = at + k;
    }
  }
  /// How often each element is made, in all kernels and loops.
  double all_times(const LazyNode& n, const Info& info) const {
    double out = 0;
    std::vector<Arrival> known;
    for (const Arrival& use : info.uses) {
      const Forming& kernel = kernels_[use.kernel];
      Arrival at = use;
      for (AxisSet& d : at.dims) d = shared_axes(d, kernel);
      if (std::none_of(known.begin(), known.end(), [&](const Arrival& k) { return k.reads_as(at); }))
        out += times(n, use, kernel);
      known.push_back(std::move(at));
    }
    return out;
  }
  static AxisSet shared_axes(AxisSet axes, const Forming& kernel) {
    AxisSet out = axes & kScrambled;
    for (AxisSet left = axes & ~kScrambled; left != 0; left &= left - 1)
      out |= AxisSet{1} << kernel.same[static_cast<std::size_t>(std::countr_zero(left))];
    return out;
  }

  // --- kernels ---

  static void add_axis(Forming& kernel, const Int& size) {
    kernel.same.push_back(kernel.sizes.size());
    kernel.together.push_back(0);
    kernel.sizes.push_back(count_of(size));
  }

  /// The kernel that may store `n` beside its own result, as it has each element at hand where it makes that of its own. Of
  /// those that use `n`, it is the last one begun: it waits for none of the others.
  std::optional<std::size_t> home(const LazyNode& n, const Info& info) const {
    if (!options_.fuse || n.src.empty() || is_forced(n) || info.overflows || info.is_copied ||
        info.arrivals.empty())
      return std::nullopt;
    const auto at =
        std::max_element(info.arrivals.begin(), info.arrivals.end(),
                         [](const Arrival& a, const Arrival& b) { return a.kernel < b.kernel; });
    const bool is_alone = std::count_if(info.arrivals.begin(), info.arrivals.end(),
                                        [&](const Arrival& a) { return a.kernel == at->kernel; }) == 1;
    const Forming& kernel = kernels_[at->kernel];
    if (!is_alone || kernel.nodes >= options_.most_nodes || !(kernel.root->shape == n.shape) ||
        (kernel.is_part && info.arrivals.size() > 1) ||
        (info.arrivals.size() > 1 && is_reduce(n.op) && !fits(n, *at, kernel)))
      return std::nullopt;
    if (!std::equal(at->dims.begin(), at->dims.end(), kernel.dims.begin(), kernel.dims.end()))
      return std::nullopt;
    return at->kernel;
  }

  Arrival begin_kernel(const LazyNode& n) {
    Forming kernel;
    kernel.root = &n;
    kernel.domain = options_.fuse ? domain_of(n) : n.shape;
    Arrival at{kernels_.size(), {}, 0};
    SmallVec<Factor, 6> factors;
    for (const Int& size : kernel.domain) {
      const bool is_axis = !is_one(size) && kernel.sizes.size() < kMostAxes;
      factors.push_back({size, is_axis ? AxisSet{1} << kernel.sizes.size() : 0});
      if (is_axis) add_axis(kernel, size);
    }
    at.dims = through_reshape(factors, n.shape);
    kernel.outputs = at.scope = at.depends();
    kernel.dims = at.dims;
    kernels_.push_back(std::move(kernel));
    return at;
  }

  void pass_on(const LazyNode& n, Arrival& at) {
    if (is_leaf(n)) return;
    if (n.op == Ops::FROM) return arrive(n.src[0], at, true);
    if (n.op == Ops::CONCAT) {
      for (const LazyOp& part : n.src)
        if (info_.contains(part.node())) {
          arrive(part, begin_kernel(*part.node()), false);
          kernels_.back().is_part = true;
        }
      return;
    }
    if (n.op == Ops::GATHER) return gather(n, at);
    if (is_reduce(n.op)) enter_reduction(n, at);
    if (is_movement(n.op)) at.dims = through(n, at);
    if (n.op == Ops::SHRINK || n.op == Ops::PAD || n.op == Ops::STRIDE)
      at.shifts = at.shifts * 31 + n.hash;
    for (const LazyOp& s : needed(n)) arrive(s, at, false);
  }

  /// Which elements are read may depend on all that the index depends on.
  void gather(const LazyNode& n, Arrival& at) {
    arrive(n.src[1], at, false);
    at.dims.push_back(at.depends());
    at.shifts = at.shifts * 31 + n.hash;
    arrive(n.src[0], at, false);
  }
  void enter_reduction(const LazyNode& n, Arrival& at) {
    Forming& kernel = kernels_[at.kernel];
    const AxisSet depends = at.depends();
    if ((kernel.outputs & ~depends) != 0) kernel.rows.push_back(depends);
    Info& info = info_.at(&n);
    info.kernel = at.kernel;
    info.loops = kernel.sizes.size();
    at.scope = is_of_outputs(at, kernel) ? depends : around(at, kernel);  // its loops stand there
    for (const std::int64_t axis : std::get<Axes>(n.arg)) {
      const auto d = static_cast<std::size_t>(axis);
      if (is_one(n.src[0].shape()[d]) || kernel.sizes.size() >= kMostAxes) continue;
      at.dims[d] = AxisSet{1} << kernel.sizes.size();
      at.scope |= at.dims[d];
      add_axis(kernel, n.src[0].shape()[d]);
    }
    AxisSet all = 0;
    for (std::size_t a = info.loops; a < kernel.sizes.size(); ++a) all |= AxisSet{1} << a;
    for (std::size_t a = info.loops; a < kernel.sizes.size(); ++a) kernel.together[a] = all;
  }

  SmallVec<AxisSet, 6> through(const LazyNode& n, const Arrival& at) const {
    const Ints& below = n.src[0].shape();
    const SmallVec<AxisSet, 6>& dims = at.dims;
    if (n.op == Ops::RESHAPE) {
      SmallVec<Factor, 6> factors;
      for (std::size_t t = 0; t < dims.size(); ++t)
        add_factors(n.shape[t], dims[t], kernels_[at.kernel], factors);
      return through_reshape(factors, below);
    }
    SmallVec<AxisSet, 6> out;
    for (std::size_t t = 0; t < below.size(); ++t) out.push_back(is_one(below[t]) ? 0 : dims[t]);
    if (n.op == Ops::PERMUTE) {
      const Axes& order = std::get<Axes>(n.arg);
      for (std::size_t t = 0; t < order.size(); ++t)
        out[static_cast<std::size_t>(order[t])] = dims[t];
    }
    return out;
  }

  void arrive(const LazyOp& s, const Arrival& at, bool whole) {
    const auto it = info_.find(s.node());
    if (it == info_.end()) return;  // memory
    Info& info = it->second;
    if (whole) {
      asked_.insert_or_assign(s.node(), true);
      info.is_copied = true;
      return;
    }
    if (std::find(info.arrivals.begin(), info.arrivals.end(), at) != info.arrivals.end()) return;
    if (info.arrivals.size() >= kMostArrivals)
      info.overflows = true;
    else
      info.arrivals.push_back(at);
  }

  FusionOptions options_;
  std::unordered_map<const LazyNode*, bool> asked_;
  std::vector<LazyOp> order_;
  std::unordered_map<const LazyNode*, Info> info_;
  std::unordered_set<const LazyNode*> dear_;  // what rounds before found
  std::vector<Forming> kernels_;
};

}  // namespace

std::string_view to_string(Boundary why) {
  constexpr std::array<std::string_view, 7> names = {
      "none", "asked", "contiguous", "shared", "repeated", "unaligned", "large"};
  return names[static_cast<std::size_t>(why)];
}

std::vector<Cut> boundaries(std::span<const LazyOp> roots, const FusionOptions& options) {
  return Fusing(roots, options).run();
}

}  // namespace strata
