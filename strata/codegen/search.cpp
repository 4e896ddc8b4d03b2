#include "strata/codegen/search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "strata/base/interrupt.h"
#include "strata/codegen/bounds.h"
#include "strata/codegen/cycles.h"
#include "strata/codegen/linearize.h"
#include "strata/codegen/stream_opts.h"
#include "strata/codegen/thread_opts.h"

namespace strata {

namespace {

constexpr double kMostByCopies = 1.5;       // times of the default's time that copies make up for
constexpr double kShorter = 0.93;           // of the best list's time, from which copies are kept
constexpr std::size_t kMostRounds = 3;      // of copies
constexpr std::int64_t kMostUnrolled = 32;  // of the body, with all UPCASTs and UNROLLs
constexpr std::size_t kMostAxes = 4;        // innermost axes of the outputs that get lanes or copies
constexpr std::int64_t kFewestLanes = 4;

bool is_parallel(const std::vector<Opt>& opts) {
  return std::any_of(opts.begin(), opts.end(), [](const Opt& o) { return o.kind == Opt::Kind::PARALLEL; });
}

/// A kernel with `opts` as a list of UOps, and the trip count of its parallel loop.
struct Listed {
  UOpGraph uops;
  std::optional<Int> parallel;
};
Listed listed(const LazyOp& kernel, std::span<const Opt> opts, const Target& target) {
  KernelAxes axes(kernel);
  axes.apply(opts);
  Lowered lowered = lower(kernel, axes, target);
  return {linearize(lowered, target.contract), lowered.parallel};
}

class ListSearch {
 public:
  ListSearch(const LazyOp& kernel, std::vector<Opt> opts, const Target& target, const SearchLimits& limits)
      : kernel_(kernel), target_(target), limits_(limits), default_(std::move(opts)) {}

  std::vector<Opt> run() {
    std::optional<double> now = cycles_of(default_);
    if (!now || *now < limits_.least_cycles || *now < limits_.far_from_limit * limit()) return default_;
    budget_ = uops_ + static_cast<std::size_t>(std::min(limits_.most_uops, *now / limits_.cycles_of_uop));
    if (std::vector<Opt> tails = with_tails(); tails.size() > default_.size())
      if (const auto cycles = cycles_of(tails); cycles && *cycles < *now && is_proven(tails)) {
        default_ = std::move(tails);
        now = cycles;
      }
    const auto end =
        std::find_if(default_.begin(), default_.end(), [](const Opt& o) { return o.kind != Opt::Kind::MERGE; });
    const std::vector<Opt> merges(default_.begin(), end);
    Candidate best{merges, {}, std::numeric_limits<double>::infinity()};
    for (const Opt& lanes : lanes_of(merges)) try_list(best, merges, {lanes});
    if (best.cycles > kMostByCopies * *now) return default_;
    for (std::size_t round = 0; round < kMostRounds; ++round) {
      const Candidate before = best;
      for (const Opt& copies : copies_of(before)) {
        std::vector<Opt> next = before.loops;
        next.push_back(copies);
        try_list(best, merges, std::move(next));
      }
      if (best.cycles > kShorter * before.cycles) {
        best = before;
        break;
      }
    }
    if (best.cycles >= limits_.much_shorter * *now) return default_;
    const std::vector<Opt> out = whole(best.merges, best.loops);
    return is_proven(out) ? out : default_;
  }

 private:
  struct Candidate {
    std::vector<Opt> merges, loops;
    double cycles;
  };

  /// Cycles that every list takes: arithmetic in whole vectors, and the bytes of all buffers once.
  double limit() const {
    const KernelCost cost = cost_of(kernel_);
    const Machine& m = target_.machine();
    const double lanes = m.path_bytes / static_cast<double>(widest());
    std::size_t level = 0;
    while (level + 1 < m.refills().size() && cost.bytes > m.cache_bytes()[level + 1]) ++level;
    const double memory = cost.bytes > m.l1_bytes ? cost.bytes / m.refills()[level] : 0;
    return std::max(cost.operations / (2 * lanes * m.multiplies), memory);
  }
  /// The bytes of the widest element.
  std::size_t widest() const {
    std::size_t out = 1;
    for (const BufferUse& use : buffers_of(kernel_)) out = std::max(out, use.dtype.itemsize());
    return out;
  }
  static std::int64_t size_of(const LoopAxis& axis) { return axis.size.is_number() ? axis.size.value() : 0; }

  /// LANES along each axis that has enough elements: the innermost output axes, and the last axis of each group.
  std::vector<Opt> lanes_of(const std::vector<Opt>& merges) const {
    KernelAxes axes(kernel_);
    axes.apply(merges);
    const auto most = static_cast<std::int64_t>(static_cast<std::size_t>(target_.vector_bytes) / widest());
    std::vector<Opt> out;
    const auto add = [&](std::size_t a) {
      const auto size = static_cast<std::uint64_t>(size_of(axes.axes()[a]));
      if (size < 4 || most < 4) return;
      const auto lanes = std::min<std::int64_t>(most, static_cast<std::int64_t>(std::bit_floor(size)));
      out.push_back({Opt::Kind::LANES, a, lanes, 0, {}});
      if (lanes >= 8) out.push_back({Opt::Kind::LANES, a, lanes / 2, 0, {}});
    };
    for (std::size_t a = axes.outputs(), tried = 0; a-- > 0 && tried < kMostAxes; ++tried) add(a);
    for (const ReduceGroup& group : axes.groups())
      if (group.count > 0) add(group.first + group.count - 1);
    return out;
  }
  /// The default list, with shorter vectors for what vectors leave over of an axis.
  std::vector<Opt> with_tails() const {
    KernelAxes axes(kernel_);
    axes.apply(default_);
    std::vector<Opt> tails;
    for (std::size_t a = 0; a < axes.axes().size(); ++a) {
      const bool has_lanes = std::any_of(default_.begin(), default_.end(), [&](const Opt& o) {
        return o.kind == Opt::Kind::LANES && o.axis == a && o.segment == 0;
      });
      if (!has_lanes || (a >= axes.outputs() && !target_.reassociate)) continue;
      for (std::size_t s = 1; s < axes.axes()[a].segments.size(); ++s) {
        const Segment& tail = axes.axes()[a].segments[s];
        const std::int64_t size = tail.size().is_number() ? tail.size().value() : 0;
        if (tail.parts.size() != 1 || tail.parts[0].kind != PartKind::loop || size < kFewestLanes) continue;
        tails.push_back(
            {Opt::Kind::LANES, a, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size))), s, {}});
        try {
          axes.apply(tails.back());
        } catch (const Error&) {
          return default_;
        }
      }
    }
    const auto at = std::find_if(default_.begin(), default_.end(), [](const Opt& o) {
      return o.kind == Opt::Kind::STREAM || o.kind == Opt::Kind::PARALLEL || o.kind == Opt::Kind::GUARD;
    });
    std::vector<Opt> out(default_.begin(), at);
    out.insert(out.end(), tails.begin(), tails.end());
    out.insert(out.end(), at, default_.end());
    return out;
  }
  /// UPCASTs and UNROLLs of the loops of a candidate.
  std::vector<Opt> copies_of(const Candidate& of) const {
    KernelAxes axes(kernel_);
    axes.apply(of.merges);
    axes.apply(of.loops);
    std::int64_t copies = 1;
    for (const Opt& opt : of.loops)
      if (opt.kind != Opt::Kind::LANES) copies *= opt.amount;
    std::vector<Opt> out;
    const std::size_t first = axes.outputs() > kMostAxes ? axes.outputs() - kMostAxes : 0;
    for (std::size_t a = first; a < axes.axes().size(); ++a) {
      const Part& part = axes.axes()[a].segments[0].parts.front();
      if (part.kind != PartKind::loop || !part.size.is_number()) continue;
      for (const std::int64_t n : {std::int64_t{2}, std::int64_t{4}, std::int64_t{8}}) {
        if (n > part.size.value() || copies * n > kMostUnrolled) continue;
        out.push_back({Opt::Kind::UPCAST, a, n, 0, {}});
        if (a >= axes.outputs()) out.push_back({Opt::Kind::UNROLL, a, n, 0, {}});
      }
    }
    return out;
  }

  /// The list with the Opts that depend on its loops: streaming stores, threads.
  std::vector<Opt> whole(const std::vector<Opt>& merges, const std::vector<Opt>& loops) const {
    std::vector<Opt> out = merges;
    out.insert(out.end(), loops.begin(), loops.end());
    KernelAxes axes(kernel_);
    axes.apply(out);
    const auto add = [&](const std::vector<Opt>& more) {
      axes.apply(more);
      out.insert(out.end(), more.begin(), more.end());
    };
    add(stream_opts(kernel_, buffers_of(kernel_)));
    if (is_parallel(default_)) add(thread_opts(kernel_, axes, std::vector<std::size_t>(axes.axes().size(), 0), true));
    return out;
  }
  void try_list(Candidate& best, const std::vector<Opt>& merges, std::vector<Opt> loops) {
    check_interrupt_often();
    if (uops_ > budget_) return;
    std::vector<Opt> list;
    try {
      list = whole(merges, loops);
    } catch (const Error&) {
      return;  // not legal
    }
    if (is_parallel(default_) && !is_parallel(list)) return;
    if (const std::optional<double> cycles = cycles_of(list); cycles && *cycles < best.cycles)
      best = {merges, std::move(loops), *cycles};
  }
  /// Nothing where lower() refuses the list.
  std::optional<double> cycles_of(const std::vector<Opt>& opts) {
    try {
      const Listed list = listed(kernel_, opts, target_);
      uops_ += list.uops.size();
      return predicted_cycles(list.uops, target_.machine(), target_.vector_bytes, list.parallel).total();
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  bool is_proven(const std::vector<Opt>& opts) const {
    KernelAxes axes(kernel_);
    axes.apply(opts);
    try {
      prove_bounds(lower(kernel_, axes, target_));
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  const LazyOp& kernel_;
  const Target& target_;
  const SearchLimits& limits_;
  std::vector<Opt> default_;
  std::size_t uops_ = 0, budget_ = 0;  // of the lists tried so far; at most
};

}  // namespace

std::vector<Opt> searched(const LazyOp& kernel, std::vector<Opt> opts, const Target& target,
                          const SearchLimits& limits) {
  const KernelAxes axes(kernel);
  const bool has_order = axes.scan() || axes.scatter();
  if (target.instances || has_order || (!opts.empty() && makes_kernels(opts[0].kind))) return opts;
  return ListSearch(kernel, std::move(opts), target, limits).run();
}

}  // namespace strata
