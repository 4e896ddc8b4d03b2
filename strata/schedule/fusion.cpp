#include "strata/schedule/fusion.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "strata/base/small_vec.h"

namespace strata {

namespace {

constexpr double kMemoryWork = 24;  // operations that writing an element and reading it again is worth
constexpr int kCheap = 4;           // operations an element that several kernels may each do
constexpr int kMostWork = 1 << 20;
constexpr double kMostOverlap = 1.5;  // of a reduction inside of a kernel: how often each element is made
constexpr std::size_t kMostAxes = 64, kMostArrivals = 64;

/// Axes of a kernel, as bits: those of its output, then one for each axis of its reductions.
using AxisSet = std::uint64_t;

/// A kernel while it is put together.
struct Forming {
  const LazyNode* root = nullptr;
  std::vector<double> sizes;  // of its axes
  SmallVec<AxisSet, 6> dims;  // on which of them each dimension of its output depends
  AxisSet outputs = 0;        // those of its output
  std::vector<AxisSet> rows;  // of each reduction: the output axes that it depends on, where it is not on all
  std::size_t nodes = 0;
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
    return out;
  }
  /// Of the same element in the same turn of the same loops.
  bool reads_as(const Arrival& o) const {
    return kernel == o.kernel && shifts == o.shifts &&
           std::equal(dims.begin(), dims.end(), o.dims.begin(), o.dims.end());
  }
  bool operator==(const Arrival& o) const { return scope == o.scope && reads_as(o); }
};

int work_of(Ops op) {
  switch (op) {
    case Ops::NOOP:
    case Ops::BITCAST: return 0;
    case Ops::DIV:
    case Ops::RECIP:
    case Ops::SQRT:
    case Ops::IDIV:
    case Ops::MOD:
    case Ops::FLOORDIV:
    case Ops::FLOORMOD: return 4;
    case Ops::EXP:
    case Ops::EXP2:
    case Ops::LOG:
    case Ops::LOG2:
    case Ops::EXPM1:
    case Ops::LOG1P:
    case Ops::SIN:
    case Ops::COS:
    case Ops::TAN:
    case Ops::ATAN:
    case Ops::TANH:
    case Ops::ERF:
    case Ops::POW:
    case Ops::ATAN2: return 16;
    default: return 1;
  }
}

bool is_one(const Int& size) { return size == Int(1); }
double count_of(const Int& size) {
  return static_cast<double>(std::max<std::int64_t>(size.vmax(), 1));
}

/// The dimensions of a reshape's operand by those of its result: groups whose sizes have the same product are apart.
SmallVec<AxisSet, 6> through_reshape(const Ints& above, const SmallVec<AxisSet, 6>& dims,
                                     const Ints& below) {
  SmallVec<AxisSet, 6> out;
  for (std::size_t t = 0; t < below.size(); ++t) out.push_back(0);
  std::size_t a = 0, b = 0;
  while (a < above.size() || b < below.size()) {
    const std::size_t first_a = a, first_b = b;
    Int left = 1, right = 1;
    AxisSet all = 0;
    const auto take = [&](bool of_above) {
      if (of_above)
        left *= above[a], all |= dims[a], ++a;
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
    for (const LazyOp& n : order_) note_work(*n.node());
    for (std::size_t k = order_.size(); k-- > 0;) place(*order_[k].node());
    std::vector<Cut> out;
    for (const LazyOp& n : order_) {
      const Info& info = info_.at(n.node());
      if (info.why == Boundary::none) continue;
      out.push_back({n, info.why, info.inside ? kernels_[*info.inside].root : nullptr});
    }
    return out;
  }

 private:
  struct Info {
    int work = 0;  // operations an element, down to memory or a reduction
    Boundary why = Boundary::none;
    std::optional<std::size_t> inside;  // the kernel that stores it beside its own
    std::vector<Arrival> arrivals;
    bool overflows = false;  // more uses than are told apart
  };

  static bool is_memory(const LazyNode& n) { return n.op == Ops::EMPTY || is_realized(n); }
  static bool is_leaf(const LazyNode& n) { return n.src.empty() || is_memory(n); }

  /// What is not realized, sources first.
  void order_nodes(std::span<const LazyOp> roots) {
    std::vector<std::pair<LazyOp, std::size_t>> open;
    for (const LazyOp& root : roots) {
      if (is_memory(*root.node()) || !info_.try_emplace(root.node()).second) continue;
      open.emplace_back(root, 0);
      while (!open.empty()) {
        auto& [node, next] = open.back();
        const std::span<const LazyOp> below = needed(*node.node());
        if (next == below.size()) {
          order_.push_back(std::move(node));
          open.pop_back();
        } else if (const LazyOp& s = below[next++];
                   !is_memory(*s.node()) && info_.try_emplace(s.node()).second) {
          open.emplace_back(s, 0);
        }
      }
    }
  }

  void note_work(const LazyNode& n) {
    if (is_reduce(n.op) || is_forced(n)) return;
    int work = is_elementwise(n.op) ? work_of(n.op) : 0;
    for (const LazyOp& s : needed(n))
      if (const auto it = info_.find(s.node()); it != info_.end()) work += it->second.work;
    info_.at(&n).work = std::min(work, kMostWork);
  }

  static bool is_forced(const LazyNode& n) {
    return n.op == Ops::CONTIGUOUS || n.op == Ops::FROM || n.op == Ops::CONCAT;
  }

  void place(const LazyNode& n) {
    Info& info = info_.at(&n);
    const Boundary why = boundary(n, info);
    if (why != Boundary::none) {
      info.why = why;
      info.inside = why == Boundary::asked ? home(n, info) : std::nullopt;
      if (!info.inside) info.arrivals.assign(1, begin_kernel(n));
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
    if (is_movement(n.op)) return info.overflows ? Boundary::shared : Boundary::none;
    if (!options_.fuse) return Boundary::shared;
    if (info.overflows) return Boundary::shared;
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
  double repetitions(const LazyNode& n, const Arrival& at, const Forming& kernel) const {
    const AxisSet depends = at.depends();
    if (depends == 0) return 1;
    const bool in_reduction = (depends & ~kernel.outputs) != 0;
    AxisSet outside = at.scope & ~depends;
    if (!in_reduction) {
      if (std::any_of(kernel.rows.begin(), kernel.rows.end(),
                      [&](AxisSet row) { return (depends & ~row) == 0; }))
        return overlaps(n, at, kernel);
      const AxisSet below_last = 2 * std::bit_floor(depends) - 1;
      outside &= kernel.outputs & below_last;
    }
    return overlaps(n, at, kernel) * turns(outside, kernel);
  }
  /// The elements that go into one.
  static double reduced_count(const LazyNode& n) {
    double out = 1;
    for (const std::int64_t axis : std::get<Axes>(n.arg))
      out *= count_of(n.src[0].shape()[static_cast<std::size_t>(axis)]);
    return out;
  }
  static double turns(AxisSet axes, const Forming& kernel) {
    double out = 1;
    for (AxisSet left = axes; left != 0; left &= left - 1)
      out *= kernel.sizes[static_cast<std::size_t>(std::countr_zero(left))];
    return out;
  }
  /// How often an element is met by loops that it depends on: windows overlap, and an axis may be one and many in parts.
  static double overlaps(const LazyNode& n, const Arrival& at, const Forming& kernel) {
    double elements = 1;
    for (const Int& size : n.shape) elements *= count_of(size);
    return std::max(turns(at.depends(), kernel) / elements, 1.0);
  }

  /// Whether a reduction finds a place in the loops of the kernel where it is done once for each of its elements.
  static bool fits(const LazyNode& n, const Arrival& at, const Forming& kernel) {
    const AxisSet depends = at.depends(), missing = kernel.outputs & ~depends;
    if (kernel.sizes.size() + std::get<Axes>(n.arg).size() > kMostAxes) return false;
    if (overlaps(n, at, kernel) > kMostOverlap) return false;
    if ((depends & ~kernel.outputs) != 0 && reduced_count(n) >= kMemoryWork)
      return false;  // loops of its own are better
    if (missing == 0) return true;
    if ((depends & ~kernel.outputs) != 0)
      return false;  // in another one's loops, which are in those over `missing`
    return std::all_of(kernel.rows.begin(), kernel.rows.end(), [&](AxisSet row) {
      return (row & ~depends) == 0 || (depends & ~row) == 0;  // rows in rows
    });
  }

  // --- kernels ---

  /// The kernel that may store `n` beside its own result, as it has each element at hand where it makes that of its own.
  std::optional<std::size_t> home(const LazyNode& n, const Info& info) const {
    if (!options_.fuse || n.src.empty() || is_forced(n) || info.overflows || info.arrivals.size() != 1)
      return std::nullopt;
    const Arrival& at = info.arrivals[0];
    const Forming& kernel = kernels_[at.kernel];
    if (kernel.nodes >= options_.most_nodes || !(kernel.root->shape == n.shape))
      return std::nullopt;
    if (!std::equal(at.dims.begin(), at.dims.end(), kernel.dims.begin(), kernel.dims.end()))
      return std::nullopt;
    return at.kernel;
  }

  Arrival begin_kernel(const LazyNode& n) {
    Forming kernel;
    kernel.root = &n;
    Arrival at{kernels_.size(), {}, 0};
    for (const Int& size : n.shape) {
      if (is_one(size) || kernel.sizes.size() >= kMostAxes) {
        at.dims.push_back(0);
        continue;
      }
      at.dims.push_back(AxisSet{1} << kernel.sizes.size());
      kernel.sizes.push_back(count_of(size));
    }
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
        if (info_.contains(part.node())) arrive(part, begin_kernel(*part.node()), false);
      return;
    }
    if (is_reduce(n.op)) enter_reduction(n, at);
    if (is_movement(n.op)) at.dims = through(n, at.dims);
    if (n.op == Ops::SHRINK || n.op == Ops::PAD || n.op == Ops::STRIDE)
      at.shifts = at.shifts * 31 + n.hash;
    for (const LazyOp& s : needed(n)) arrive(s, at, false);
  }

  void enter_reduction(const LazyNode& n, Arrival& at) {
    Forming& kernel = kernels_[at.kernel];
    const AxisSet depends = at.depends();
    if ((kernel.outputs & ~depends) != 0) kernel.rows.push_back(depends);
    at.scope = depends;  // its loops stand there
    for (const std::int64_t axis : std::get<Axes>(n.arg)) {
      const auto d = static_cast<std::size_t>(axis);
      if (is_one(n.src[0].shape()[d])) continue;
      at.dims[d] = AxisSet{1} << kernel.sizes.size();
      at.scope |= at.dims[d];
      kernel.sizes.push_back(count_of(n.src[0].shape()[d]));
    }
  }

  static SmallVec<AxisSet, 6> through(const LazyNode& n, const SmallVec<AxisSet, 6>& dims) {
    const Ints& below = n.src[0].shape();
    if (n.op == Ops::RESHAPE) return through_reshape(n.shape, dims, below);
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
