// The default Opts, chosen from the strides of a kernel's loads and stores along its axes.
#include "strata/codegen/heuristic.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <optional>

#include "strata/codegen/access_uops.h"
#include "strata/codegen/interleave.h"
#include "strata/codegen/legal.h"
#include "strata/codegen/packed_windows.h"
#include "strata/codegen/register_tile.h"
#include "strata/codegen/rows.h"
#include "strata/codegen/scan_opts.h"
#include "strata/codegen/split_reduce.h"
#include "strata/codegen/stream_opts.h"
#include "strata/codegen/thread_opts.h"
#include "strata/codegen/unguarded.h"
#include "strata/ir/sum_order.h"

namespace strata {

namespace {

constexpr std::int64_t kCopiesOfUnknown = 8;     // copies of an axis of symbolic size
constexpr std::int64_t kWorthStaging = 64;       // fewest outputs that must reuse a staged tile
constexpr std::int64_t kFarApart = 512;          // bytes between rows from which staging pays
constexpr std::int64_t kBeyondCaches = 1 << 23;  // bytes of a matrix that caches do not keep
constexpr std::size_t kShortBody = 64;           // UOps: a body up to this size is unrolled to hide latency
constexpr double kWorthCopies = 1 << 20;         // operations of a kernel that pay for compiling unrolled code
constexpr std::int64_t kShortWindow = 8;         // longest innermost reduce loop that is unrolled completely
constexpr std::int64_t kLongBody = 160;          // most vector multiply-adds of an unrolled body
constexpr std::int64_t kWorthCutting = 8;        // fewest iterations without conditions that a CUT must yield
constexpr double kWorthGathering = 4;            // operations per element worth 1 in the score of output_lanes()

/// The target for analysis: lowering keeps one loop per axis.
Target as_written(Target target) {
  target.reassociate = true;
  target.bounded = false;
  return target;
}

class Choice {
 public:
  Choice(const LazyOp& kernel, const Target& target, std::span<const int> kept, bool may_trim,
         bool may_be_parallel = true)
      : kernel_(kernel),
        target_(target),
        kept_(kept),
        may_trim_(may_trim && !target.instances),
        may_be_parallel_(may_be_parallel),
        axes_(kernel),
        plain_(lower(kernel, axes_, as_written(target))),
        main_(axes_.axes().size(), 0),
        counters_(plain_.counters) {
    for (const Access& a : plain_.accesses) widest_ = std::max(widest_, dtype_of(a).itemsize());
    for (const Access& a : plain_.accesses) strides_.push_back(strides_of(a, counters_, axes_.axes().size()));
  }

  std::vector<Opt> opts() {
    merge_axes();
    if (pack_windows()) {
      streams();
      threads(false);
      return std::move(opts_);
    }
    cut_guards();
    if (const std::optional<Opt> order = rows_outside(plain_.graph, axes_, counters_)) {
      axes_.apply(*order);
      opts_.push_back(*order);
    }
    if (lanes() < 2) {
      threads();
      return std::move(opts_);
    }
    const int reduced = contiguous_reduction(), lane_axis = output_lanes(true);
    if (lane_axis < 0 && axes_.groups().empty() && interleave()) {
      streams();
      threads();
      return std::move(opts_);
    }
    if (lane_axis >= 0 && (reduced < 0 || reuses_along(lane_axis) || can_stage(lane_axis))) {
      output_vectors(static_cast<std::size_t>(lane_axis));
    } else if (!register_tile() && reduced >= 0) {
      row_stages(lane_axis);
    }
    streams();
    threads();
    return std::move(opts_);
  }

 private:
  DType dtype_of(const Access& a) const { return plain_.buffers[static_cast<std::size_t>(a.slot)].dtype; }
  std::int64_t size(std::size_t axis) const {
    const Int n = axes_.axes()[axis].segments[main_[axis]].size();
    return n.is_number() ? n.value() : std::min(n.vmax(), kUnknownSize);
  }
  bool is_known(std::size_t axis) const { return axes_.axes()[axis].size.is_number(); }
  std::int64_t lanes() const {
    return std::min<std::int64_t>(target_.vector_bytes / static_cast<std::int64_t>(widest_), DType::kMostLanes);
  }

  void add(Opt::Kind kind, std::size_t axis, std::int64_t amount) {
    const Opt opt{kind, axis, amount, main_[axis], {}};
    axes_.apply(opt);
    opts_.push_back(opt);
  }

  void add(std::span<const Opt> opts) {
    axes_.apply(opts);
    opts_.insert(opts_.end(), opts.begin(), opts.end());
  }

  // --- how accesses move ---

  bool depends(std::size_t access, std::size_t axis) const {
    const AxisStride& s = strides_[access][axis];
    return !s.is_linear || s.by != 0 || s.guarded;
  }

  // --- merging: adjacent axes that every access traverses with one stride become one axis ---

  /// An axis, or several axes that are being merged.
  struct Run {
    Int size;
    int group;
    bool is_one_somewhere;  // some store has size 1 along one of its dimensions
  };
  Run run_of(const LoopAxis& axis) const {
    bool is_one = false;
    if (axis.group < 0)
      for (const LazyOp& s : kernel_.src())
        for (const std::size_t t : axis.dims) is_one = is_one || s.shape()[t] == Int(1);
    return {axis.size, axis.group, is_one};
  }

  /// Merges axes in one pass, as there may be thousands.
  void merge_axes() {
    const std::vector<LoopAxis>& axes = axes_.axes();
    if (axes.empty()) return;
    std::vector<Opt> merges;
    std::vector<std::size_t> place(axes.size(), 0);  // the new number of each axis
    Run run = run_of(axes[0]);
    std::size_t at = 0;
    for (std::size_t b = 1; b < axes.size(); ++b) {
      const Run next = run_of(axes[b]);
      const bool is_merged = can_merge(run, next, at, b);
      if (is_merged) {
        merges.push_back({Opt::Kind::MERGE, at, 0, 0, {}});
        run = {run.size * next.size, run.group, run.is_one_somewhere || next.is_one_somewhere};
      } else {
        ++at;
        run = next;
      }
      place[b] = at;
      for (auto& strides : strides_)
        if (!is_merged || !(next.size == Int(1))) strides[at] = strides[b];
    }
    for (auto& strides : strides_) strides.resize(at + 1);
    for (auto& [v, axis] : counters_) axis = place[axis];
    main_.resize(at + 1);
    axes_.apply(merges);
    opts_.insert(opts_.end(), merges.begin(), merges.end());
  }
  /// True iff axis `second` can be merged into the run `first`; a and b are their indices in strides_.
  bool can_merge(const Run& first, const Run& second, std::size_t a, std::size_t b) const {
    if (first.group != second.group || !first.size.is_number() || !second.size.is_number()) return false;
    if (first.group >= 0 && keeps_order(static_cast<std::size_t>(first.group))) return false;
    if (first.size.value() == 0 || second.size.value() == 0) return false;
    for (const Run* run : {&first, &second})
      if (run->is_one_somewhere && !(run->size == Int(1))) return false;
    if (first.size == Int(1) || second.size == Int(1)) return true;
    for (const auto& strides : strides_) {
      const AxisStride &outer = strides[a], &inner = strides[b];
      std::int64_t whole = 0;
      if (outer.guarded || inner.guarded || !outer.is_known || !inner.is_known) return false;
      if (!try_mul(inner.by, second.size.value(), whole) || whole != outer.by) return false;
    }
    return true;
  }

  // --- cutting: axes are cut where conditions of loads and stores begin to hold for all values of other counters ---

  void cut_guards() {
    const std::size_t axes = axes_.axes().size();
    const std::vector<Unguarded> all = unguarded(plain_.accesses, counters_, axes);
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (!is_known(axis)) continue;
      const std::int64_t begin = all[axis].begin, end = std::min(all[axis].end, size(axis));
      if (end - begin < kWorthCutting || (axis >= axes_.outputs() && !target_.reassociate)) continue;
      const bool has_tail = end < size(axis);
      if (begin > 0) {
        add(Opt::Kind::CUT, axis, begin);
        main_[axis] = 1;
      }
      if (has_tail) add(Opt::Kind::CUT, axis, end);
    }
  }

  // --- vectors ---

  /// The output axis to vectorize: all stores are contiguous along it, and its score (contiguous loads +2, constant
  /// ones +1, those chosen from vectors 0, scattered ones -2, plus arithmetic()) is the largest positive one. -1: none.
  /// With `is_short` it may be shorter than a vector.
  int output_lanes(bool is_short = false) const {
    const int gain = arithmetic();
    int best = -1, best_score = 0;
    for (std::size_t a = 0; a < axes_.outputs(); ++a) {
      if (is_short ? lanes_of_row(a) == 0 : size(a) < lanes()) continue;
      int score = gain;
      bool stores_fit = true;
      for (std::size_t k = 0; k < strides_.size(); ++k) {
        const AxisStride& s = strides_[k][a];
        if (plain_.accesses[k].is_store) stores_fit = stores_fit && s.is_linear && s.by == 1;
        if (!is_scattered(s))
          score += s.by == 1 ? 2 : 1;
        else if (!(target_.shuffles && s.is_linear && s.by > 1 && s.by <= kMostStride) && crossed_axis(k, a) < 0)
          score -= 2;
      }
      if (stores_fit && score > best_score) best = static_cast<int>(a), best_score = score;
    }
    return best;
  }
  /// The lanes of vectors along an output axis. A short row is one vector of a power of two of lanes, where its size is
  /// that power or masks are cheap; 0 where it has fewer than three elements.
  std::int64_t lanes_of_row(std::size_t axis) const {
    if (size(axis) >= lanes()) return lanes();
    const std::vector<Segment>& segments = axes_.axes()[axis].segments;
    if (!is_known(axis) || segments.size() != 1 || segments[0].parts.size() != 1 || size(axis) < 3) return 0;
    const auto out = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size(axis))));
    return out == size(axis) || target_.shuffles ? out : 0;
  }
  /// The gain of vector arithmetic in the score of output_lanes(), for kernels without reductions.
  int arithmetic() const {
    if (!axes_.groups().empty()) return 0;
    double elements = 1;
    for (std::size_t a = 0; a < axes_.outputs(); ++a)
      elements *= static_cast<double>(std::max<std::int64_t>(axes_.axes()[a].size.vmax(), 1));
    const double operations = cost_of(kernel_).operations / elements;
    return static_cast<int>(std::min(operations / kWorthGathering, 1e6));
  }
  static bool is_scattered(const AxisStride& s) { return !s.is_linear || s.by < -1 || s.by > 1; }
  /// For an access `k` that is scattered along axis `a`: the output axis along which it is contiguous, so that tiles
  /// over both axes use whole cache lines. -1 for none.
  int crossed_axis(std::size_t k, std::size_t a) const {
    if (!is_scattered(strides_[k][a])) return -1;
    for (std::size_t b = 0; b < axes_.outputs(); ++b)
      if (b != a && strides_[k][b].is_linear && strides_[k][b].by == 1 && is_known(b) && size(b) >= lanes())
        return static_cast<int>(b);
    return -1;
  }
  /// True iff the sums of the group must keep the order of ir/sum_order.h.
  bool keeps_order(std::size_t group) const {
    if (target_.reassociate) return false;
    const std::vector<SumOrder> orders = sum_orders(kernel_, axes_, target_);
    return orders[group] == SumOrder::defined;
  }
  /// The number of lanes along the last axis of a group; 0: no lanes are possible.
  std::int64_t lanes_along(std::size_t group) const {
    const ReduceGroup& g = axes_.groups()[group];
    if (!keeps_order(group)) return g.count == 0 ? lanes() : lanes_along_row(size(g.first + g.count - 1), lanes());
    Ints sizes;
    for (std::size_t j = 0; j < g.count; ++j) sizes.push_back(axes_.axes()[g.first + j].size);
    const bool is_last = lane_axis_of({sizes.data(), sizes.size()}) == static_cast<int>(g.count) - 1;
    return is_last && is_known(g.first + g.count - 1) ? kSumLanes : 0;
  }
  /// The last axis of the first group, if all loads are contiguous or constant along it; else -1.
  int contiguous_reduction() const {
    if (axes_.groups().empty()) return -1;
    const ReduceGroup& group = axes_.groups().front();
    if (group.count == 0) return -1;
    const std::size_t axis = group.first + group.count - 1;
    const std::int64_t along = lanes_along(0);
    if (along == 0 || size(axis) < along) return -1;
    bool some = false;
    for (std::size_t k = 0; k < strides_.size(); ++k) {
      const AxisStride& s = strides_[k][axis];
      if (plain_.accesses[k].is_store) continue;
      if (!s.is_linear || (s.by != 0 && s.by != 1)) return -1;
      some = some || s.by == 1;
    }
    return some ? static_cast<int>(axis) : -1;
  }
  bool in_reduction(std::size_t access) const {
    const ReduceGroup& group = axes_.groups().front();
    for (std::size_t k = 0; k < group.count; ++k)
      if (depends(access, group.first + k)) return true;
    return false;
  }
  /// True iff a load inside of the reduction is contiguous along the output axis: vectors of outputs pay.
  bool reuses_along(int axis) const {
    for (std::size_t k = 0; k < strides_.size(); ++k) {
      const AxisStride& s = strides_[k][static_cast<std::size_t>(axis)];
      if (!plain_.accesses[k].is_store && s.is_linear && s.by == 1 && in_reduction(k)) return true;
    }
    return false;
  }
  /// An output axis besides the lane axis along which some load of the reduction is constant, for reuse by unrolling.
  /// -1 for none.
  int reused_axis(std::size_t lane_axis) const {
    for (std::size_t a = axes_.outputs(); a-- > 0;) {
      if (a == lane_axis || size(a) < (is_known(a) ? 2 : kCopiesOfUnknown)) continue;
      for (std::size_t k = 0; k < strides_.size(); ++k)
        if (!plain_.accesses[k].is_store && in_reduction(k) && !depends(k, a)) return static_cast<int>(a);
    }
    return -1;
  }

  /// The largest divisor of trip_count in 2 to `most`; else the amount with the least remainder, if that is small;
  /// else 1.
  static std::int64_t fitting(std::int64_t trip_count, std::int64_t most) {
    std::int64_t best = 1, best_left = trip_count;
    for (std::int64_t n = std::min(trip_count, most); n > 1; --n) {
      if (trip_count % n == 0) return n;
      if (trip_count >= 4 * n && trip_count % n < best_left) best = n, best_left = trip_count % n;
    }
    return best;
  }

  /// The number of unrolled copies that hide the latency of a body. Long bodies hide it themselves, and a small kernel
  /// does not make up for the time of compiling more code.
  std::int64_t copies() const {
    const std::size_t body = plain_.graph.size();
    if (body <= kShortBody) return 4;
    return body <= 2 * kShortBody && cost_of(kernel_).operations >= kWorthCopies ? 2 : 1;
  }

  void output_vectors(std::size_t axis) {
    const std::int64_t along = lanes_of_row(axis);
    STRATA_ASSERT(along > 0, "[heuristic] a row of axis ", axis, " has no vectors");
    const std::int64_t vectors = size(axis) / along;
    if (vectors == 0) add(Opt::Kind::PADTO, axis, along);
    add(Opt::Kind::LANES, axis, along);
    const bool reduces = !axes_.groups().empty();
    if (!reduces && tiles(axis)) return;
    const int other = reduces ? reused_axis(axis) : -1;
    std::int64_t left = target_.vector_registers - 4, body = 1;
    // Sums over columns read whole rows: longer runs of a row are better for memory.
    const std::int64_t most = other >= 0 ? 2 : reduces ? target_.vector_registers / 2 : copies();
    const std::int64_t wide = std::min<std::int64_t>(is_known(axis) ? vectors : reduces ? 2 : 1, most);
    if (const std::int64_t n = wide > 1 && is_known(axis) ? fitting(vectors, wide) : wide; n > 1) {
      add(Opt::Kind::UPCAST, axis, n);
      left /= n;
      body = n;
    }
    if (other < 0) return;
    const auto rows = static_cast<std::size_t>(other);
    const std::int64_t n = is_known(rows) ? fitting(size(rows), left) : std::min(left, kCopiesOfUnknown);
    if (n < size(rows)) stage_rows(axis, rows);
    if (n > 1)
      for (const Opt& opt : copy_opts(axes_.axes()[rows], rows, main_[rows], n)) {
        axes_.apply(opt);
        opts_.push_back(opt);
      }
    if (axes_.groups().size() == 1) unroll_windows(body * n);
  }

  /// Lanes along interleaved_axis(). False where there is no such axis.
  bool interleave() {
    if (!target_.shuffles) return false;
    const auto found = interleaved_axis(axes_, plain_.accesses, strides_, counters_, lanes());
    if (!found) return false;
    add(Opt::Kind::UPCAST, found->axis, found->places);
    add(Opt::Kind::LANES, found->axis, found->lanes);
    return true;
  }

  /// Packs the loads of a convolution (packed_windows.h). False where that does not pay.
  bool pack_windows() {
    if (lanes() < 2 || axes_.groups().size() != 1 || keeps_order(0)) return false;
    const bool across = output_lanes() < 0 || !can_stage(output_lanes());
    std::vector<Opt> chosen =
        packed_windows({kernel_, opts_, axes_, plain_, strides_, lanes(), target_, across, kept_, may_trim_});
    if (chosen.empty()) return false;
    const auto loops = std::find_if(chosen.begin(), chosen.end(), [](const Opt& o) { return !makes_kernels(o.kind); });
    axes_.apply(std::span(loops, chosen.end()));
    opts_.insert(opts_.end(), loops, chosen.end());
    if (std::none_of(loops, chosen.end(), [](const Opt& o) { return o.kind == Opt::Kind::STAGE; }))
      unroll_windows(copies_of(chosen));
    opts_.insert(opts_.begin(), chosen.begin(), loops);
    return true;
  }

  /// The unrolled copies of the body.
  static std::int64_t copies_of(const std::vector<Opt>& opts) {
    std::int64_t out = 1;
    for (const Opt& o : opts)
      if (o.kind == Opt::Kind::UPCAST) out *= o.amount;
    return out;
  }

  /// Applies best_tile() (register_tile.h) to a kernel with one group of reductions. False where a tile does not pay.
  bool register_tile() {
    if (axes_.groups().size() != 1 || axes_.groups()[0].count == 0) return false;
    TileProblem problem;
    problem.lanes = lanes();
    problem.registers = target_.vector_registers;
    problem.reassociates = target_.reassociate;
    for (std::size_t a = 0; a < axes_.axes().size(); ++a) {
      const bool is_whole = is_known(a) && main_[a] == 0 && axes_.axes()[a].segments.size() == 1;
      problem.sizes.push_back(is_whole && is_reduced_along(a) ? size(a) : 0);
      problem.is_output.push_back(a < axes_.outputs());
      problem.stores_along.push_back(true);
    }
    for (std::size_t k = 0; k < strides_.size(); ++k) {
      if (plain_.accesses[k].is_store) {
        for (std::size_t a = 0; a < problem.sizes.size(); ++a)
          problem.stores_along[a] = problem.stores_along[a] && strides_[k][a].is_linear && strides_[k][a].by == 1;
      } else if (in_reduction(k)) {
        problem.loads.push_back(tile_access(k));
      }
    }
    if (problem.loads.empty()) return false;
    const RegisterTile tile = best_tile(problem);
    const bool is_some =
        tile.lane_axis >= 0 || std::any_of(tile.copies.begin(), tile.copies.end(), [](auto n) { return n > 1; });
    if (!is_some || tile.accumulators() < 2) return false;
    if (tile.lane_axis >= 0) add(Opt::Kind::LANES, static_cast<std::size_t>(tile.lane_axis), tile.lanes);
    std::int64_t body = 1;
    for (std::size_t a = tile.copies.size(); a-- > 0;) {
      if (tile.copies[a] > 1) add(Opt::Kind::UPCAST, a, tile.copies[a]);
      body *= tile.copies[a];
    }
    unroll_windows(body);
    return true;
  }
  /// False for an output axis along which the reduction has one value, as the mean of a row has.
  bool is_reduced_along(std::size_t axis) const {
    for (std::size_t k = 0; k < strides_.size(); ++k)
      if (!plain_.accesses[k].is_store && in_reduction(k) && depends(k, axis)) return true;
    return false;
  }
  TileAccess tile_access(std::size_t access) const {
    TileAccess out;
    for (const AxisStride& s : strides_[access])
      out.along.push_back(!s.is_linear || s.by < 0 || s.by > 1 || s.guarded ? TileAccess::Along::scattered
                          : s.by == 1                                       ? TileAccess::Along::contiguous
                                                                            : TileAccess::Along::stays);
    return out;
  }
  /// Unrolls small reduce axes: those on which conditions depend, and a short innermost one, whose loop overhead would
  /// exceed its body. A long innermost loop is unrolled by 2, so that the levels of a long bounded sum end half as
  /// often.
  void unroll_windows(std::int64_t body) {
    if (keeps_order(0)) return;
    const ReduceGroup& group = axes_.groups()[0];
    for (std::size_t a = group.first + group.count; a-- > group.first;) {
      const std::int64_t n = is_known(a) ? size(a) : 0;
      const bool is_innermost = a + 1 == group.first + group.count;
      bool is_wanted = is_innermost && n <= kShortWindow;
      for (const auto& strides : strides_) is_wanted = is_wanted || strides[a].guarded;
      const std::vector<Segment>& segments = axes_.axes()[a].segments;
      const bool is_loop = segments.size() == 1 && segments[0].parts.size() == 1;
      const std::int64_t copies = is_wanted ? n : is_innermost && n % 2 == 0 ? 2 : 0;
      if (!is_loop || copies < 2 || body * copies > kLongBody) continue;
      add(Opt::Kind::UNROLL, a, copies);
      body *= copies;
    }
  }

  /// Tiles the loops for a load that is contiguous along another axis than the stores (a transpose), so that each cache
  /// line is used completely while it is cached.
  bool tiles(std::size_t axis) {
    int across = -1;
    for (std::size_t k = 0; k < strides_.size() && across < 0; ++k)
      if (!plain_.accesses[k].is_store) across = crossed_axis(k, axis);
    if (across < 0) return false;
    const auto inner = static_cast<std::size_t>(across);
    add(Opt::Kind::SPLIT, inner, lanes());
    const Opt order = columns_outside(axes_, axis, inner);
    if (order.order != axes_.order()) {
      axes_.apply(order);
      opts_.push_back(order);
    }
    return true;
  }

  /// Stages a matrix that is read again for each of many outputs (along axis `rows`) and whose rows are far apart or
  /// run across the lanes: its columns are copied to scratch memory once. For few outputs nothing is copied, but a
  /// large matrix is read in an order in which it comes from memory once.
  void stage_rows(std::size_t axis, std::size_t rows) {
    std::vector<Opt> chosen = staging(axes_, axis, rows);
    if (chosen.empty() && bytes_of(matrix_to_stage(axis, rows)) >= kBeyondCaches)
      chosen = {columns_outside(axes_, axis, rows)};
    add(chosen);
  }
  /// The bytes of buffer `slot`; 0 for a symbolic size, and for slot -1.
  std::int64_t bytes_of(int slot) const {
    if (slot < 0) return 0;
    const BufferUse& use = plain_.buffers[static_cast<std::size_t>(slot)];
    return use.size.is_number() ? use.size.value() * static_cast<std::int64_t>(use.dtype.itemsize()) : 0;
  }
  /// The REORDER that puts the loop over axis `rows` directly inside of the loop over `axis`, both innermost.
  static Opt columns_outside(const KernelAxes& axes, std::size_t axis, std::size_t rows) {
    Opt out{Opt::Kind::REORDER, 0, 0, 0, {}};
    for (const std::size_t a : axes.order())
      if (a != axis && a != rows) out.order.push_back(a);
    out.order.push_back(axis);
    out.order.push_back(rows);
    return out;
  }
  /// True iff a matrix can be staged for lanes along the output axis.
  bool can_stage(int axis) const {
    const auto lane_axis = static_cast<std::size_t>(axis);
    const int rows = reused_axis(lane_axis);
    if (rows < 0 || size(lane_axis) < lanes()) return false;
    KernelAxes tried = axes_;
    tried.apply(Opt{Opt::Kind::LANES, lane_axis, lanes(), main_[lane_axis], {}});
    return !staging(tried, lane_axis, static_cast<std::size_t>(rows)).empty();
  }
  /// The REORDER and STAGE for stage_rows(); empty where there is no such matrix, or its tile cannot be staged (which
  /// lower() finds out).
  std::vector<Opt> staging(KernelAxes axes, std::size_t axis, std::size_t rows) const {
    const int slot = size(rows) >= kWorthStaging ? matrix_to_stage(axis, rows) : -1;
    if (slot < 0) return {};
    const Opt order = columns_outside(axes, axis, rows);
    const Opt stage{Opt::Kind::STAGE, axis, slot, 0, {}};
    try {
      axes.apply(order);
      axes.apply(stage);
      lower(kernel_, axes, target_);
    } catch (const Error&) {
      return {};
    }
    return {order, stage};
  }
  /// The slot of the only matrix that stage_rows() could stage; -1 for none or several.
  int matrix_to_stage(std::size_t axis, std::size_t rows) const {
    const ReduceGroup& group = axes_.groups().front();
    if (group.count == 0) return -1;
    int slot = -1;
    for (std::size_t k = 0; k < strides_.size(); ++k) {
      const Access& a = plain_.accesses[k];
      const AxisStride &along = strides_[k][axis], &down = strides_[k][group.first + group.count - 1];
      const auto width = static_cast<std::int64_t>(dtype_of(a).itemsize());
      const bool is_far = along.by == 1 && std::abs(down.by) * width >= kFarApart;
      const bool lies_across = is_scattered(along) && down.by == 1;
      if (a.is_store || !along.is_linear || !down.is_linear || depends(k, rows)) continue;
      if (!is_far && !lies_across) continue;
      if (slot >= 0) return -1;
      slot = a.slot;
    }
    return slot;
  }

  /// Vectorizes each group of reductions along its last axis, and the stores along `lane_axis`.
  void row_stages(int lane_axis) {
    for (std::size_t g = 0; g < axes_.groups().size(); ++g) {
      const ReduceGroup& group = axes_.groups()[g];
      if (group.count == 0) continue;
      const std::size_t a = group.first + group.count - 1;
      const std::int64_t along = lanes_along(g), vectors = along == 0 ? 0 : size(a) / along;
      if (vectors < 1) continue;
      add(Opt::Kind::LANES, a, along);
      if (keeps_order(g)) continue;
      if (const std::int64_t n = std::min(vectors / 2, copies()); n > 1) add(Opt::Kind::UPCAST, a, n);
    }
    if (lane_axis >= 0 && size(static_cast<std::size_t>(lane_axis)) >= lanes() &&
        !gathers_rows(static_cast<std::size_t>(lane_axis)))
      add(Opt::Kind::LANES, static_cast<std::size_t>(lane_axis), lanes());
  }
  /// True iff lanes along the output axis would belong to different rows, so that the loads of reductions would be
  /// scattered.
  bool gathers_rows(std::size_t axis) const {
    for (std::size_t k = 0; k < strides_.size(); ++k)
      if (!plain_.accesses[k].is_store && in_reduction(k) && is_scattered(strides_[k][axis])) return true;
    return false;
  }

  void streams() { add(stream_opts(kernel_, plain_.buffers)); }

  /// @param reorders whether an axis that is not the outermost one may become it
  void threads(bool reorders = true) {
    if (may_be_parallel_) add(thread_opts(kernel_, axes_, main_, reorders));
  }

  LazyOp kernel_;
  Target target_;
  std::span<const int> kept_;
  bool may_trim_, may_be_parallel_;
  KernelAxes axes_;
  Lowered plain_;
  std::vector<std::size_t> main_;  // by axis: the segment that Opts transform; after cutting that without conditions
  std::vector<std::pair<Variable, std::size_t>> counters_;  // those of plain_, with the current numbers of their axes
  std::vector<std::vector<AxisStride>> strides_;            // by access, by axis
  std::size_t widest_ = 1;
  std::vector<Opt> opts_;
};

}  // namespace

std::vector<Opt> loop_opts(const LazyOp& kernel, const Target& target, std::span<const int> kept, bool may_trim) {
  if (const KernelAxes axes(kernel); axes.scan() || axes.scatter()) return scan_opts(kernel, target);
  const std::vector<Opt> out = Choice(kernel, target, kept, may_trim).opts();
  return is_within_scratch(kernel, out, target) ? out : Choice(kernel, target, kept, may_trim, false).opts();
}

}  // namespace strata
