// KernelAxes: the loops of a kernel as data, and Opt: the loop transformations (split, vectorize, unroll, reorder,
// parallelize, ...). heuristic.h chooses Opts; lower.h generates the loops that KernelAxes describes.
//
// A kernel has output axes (the dimensions of its stores) and, for each group of reductions, reduce axes. Two
// reductions are in one group if they reduce the same sizes and the longest chains of reductions below them are equally
// long; a group can share loops. Axes are numbered: outputs first, then group by group. An axis consists of segments,
// which cover consecutive ranges of its coordinates. A segment is a nest of parts (loops, lanes, unrolled copies),
// outermost first; its coordinate is
//   begin + sum over parts of value * (product of the sizes of the parts further inside).
// E.g. axis 0 of size 4099 after LANES 0 8: `loop 512, lanes 8 | loop 3`: coordinates 8*i + lane, then 4096 + i.
//
// The loops of the output axes nest by depth, then by order(): the outermost loops of all axes, then the second loops
// of all axes, and so on. E.g. SPLIT 0 8, SPLIT 1 8 tiles axes 0 and 1: loops 0, 1, then the inner loops of 0, 1. Lanes
// and unrolled copies are innermost.
//
// The axis of an ASSOCIATIVE_SCAN is innermost: what it has is one loop, or LANES of a group (ir/scan_order.h). The
// other axes of such a kernel have one loop each.
//
// A SCATTER has two nests: the output axes, which store the target, and all but that of the SCATTER, around the loop of
// the SCATTER's own axis (a group of one axis, which has one loop), which changes elements.
//
// An Opt changes the axes in one legal way. The list of Opts determines the loops of a kernel completely.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// How the values of a part are enumerated.
enum class PartKind : std::uint8_t {
  loop,      ///< a LOOP
  parallel,  ///< the outermost LOOP, over the subrange [begin0, end0) that each call gets
  upcast,    ///< unrolled in registers; on a reduce axis each copy has an accumulator of its own
  unroll,    ///< unrolled, on reduce axes only; all copies share one accumulator
  lanes,     ///< the lanes of vectors
};
std::string_view to_string(PartKind kind);

/// A loop of a segment, its lanes, or its unrolled copies.
struct Part {
  PartKind kind = PartKind::loop;
  Int size;  ///< trip count, number of lanes or copies
  /// The loop is directly inside of the loop in front of it, not inside of the loops of that depth of other axes. Opts
  /// leave it false; lowering sets it for the levels of long sums.
  bool is_inside = false;
};

/// The coordinates [begin, begin + size()) of an axis, as a nest of parts.
struct Segment {
  Int begin;
  std::vector<Part> parts;      ///< outermost first
  bool reaches_beyond = false;  ///< coordinates beyond the end of the axis are left out
  Int size() const;             ///< the product of the parts' sizes
};

/// An axis; its segments together cover it.
struct LoopAxis {
  Int size;
  int group = -1;  ///< the group of reductions; -1 for an output axis
  /// The dimensions of the stores (of a reduce axis: the positions among the reduced axes) that the axis enumerates in
  /// row-major order, and their sizes. One dimension until axes are merged.
  std::vector<std::size_t> dims;
  Ints sizes;
  std::vector<Segment> segments;
  bool padded = false;  ///< true iff the segments reach beyond `size`

  /// True iff the coordinate is that of dimension `dim`: all others have size 1.
  bool is_of(std::size_t dim) const {
    bool found = false;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      if (dims[k] != dim && !(sizes[k] == Int(1))) return false;
      found = found || dims[k] == dim;
    }
    return found;
  }
  /// True iff the outermost loop has one iteration.
  bool is_once() const { return segments.size() == 1 && segments[0].parts[0].size == Int(1); }
};

/// A group of reductions with common loops.
struct ReduceGroup {
  int level = 0;                     ///< the most reductions on a path below a reduction of the group
  std::size_t first = 0, count = 0;  ///< the group's axes: [first, first + count)
};

/// A buffer whose elements are copied to scratch memory inside of the outermost loop of output axis `axis`.
struct Stage {
  std::size_t axis = 0;
  int slot = 0;
};

/// The ASSOCIATIVE_SCAN or SCATTER of a kernel, and the dimension along which it runs.
struct Along {
  const LazyNode* node = nullptr;
  std::size_t dim = 0;
};

/// The iterations of a reduce axis that count (trim.h), where the int32 in buffer `finite` is 1.
struct Trim {
  std::size_t position = 0;  ///< of the axis, among the reduced dimensions
  int finite = -1;           ///< the slot
  Expr begin, end;           ///< the iterations [begin, end), over the variables of `outputs`
  /// By dimension of the store: the variable that stands for the coordinate; 0 where the size is at most 1.
  std::vector<Expr> outputs;
};

/// One loop transformation. As text: `UPCAST 0 4`, `REORDER 1 0`, `LANES 1 8 @1` (of the second segment), `STREAM 0`.
/// SPLIT, UPCAST, UNROLL and LANES take n >= 2. Iterations that n leaves over become a segment of their own; if the
/// segment has a second loop already, n has to divide the trip count.
struct Opt {
  enum class Kind : std::uint8_t {
    SPLIT,     ///< axis, n: splits the innermost loop into an outer loop and an inner loop of n iterations (a tile)
    UPCAST,    ///< axis, n: unrolls n iterations of the innermost loop in registers; reductions get n accumulators
    UNROLL,    ///< axis, n: unrolls n iterations on a reduce axis, with one accumulator; on an output axis as UPCAST
    LANES,     ///< axis, n: vectorizes the innermost loop with n lanes; one axis of the outputs, and one of each group
    PARALLEL,  ///< axis: distributes the outermost loop over threads. Axes before it in order() have outermost loops of
               ///< one iteration, and each store depends on it
    REORDER,   ///< a permutation of all output axes: the order of their loops, outermost first; a parallel loop stays
               ///< outermost
    CUT,       ///< axis, at: cuts a segment of one loop in two, at the coordinate `at`
    STAGE,  ///< axis, buffer: inside of the outermost loop of the axis, first copies the elements that are loaded from
            ///< the buffer to scratch memory, in the order of their use
    PADTO,  ///< axis, n: rounds the trip count of an untransformed axis up to a multiple of n; the added iterations
            ///< load and store nothing
    MERGE,  ///< axis: fuses the axis and the next one, of its kind and untransformed, into one; the numbers of later
            ///< axes decrease by 1
    SPLITREDUCE,  ///< axis, n: splits a reduction into n partial reductions for threads (split_reduce.h): two kernels
                  ///< of one. First in a list; KernelAxes::apply() refuses it
    SPLITSCAN,    ///< axis: computes the totals in front of the blocks of a long scan first, so that threads can share
                  ///< the blocks (split_scan.h): three kernels of one. First in a list; KernelAxes::apply() refuses it
    PACK,   ///< axis, n, buffer: copies the elements that are loaded from the buffer to memory of their own, in blocks
            ///< of n along the output axis (pack.h): two kernels of one. In front of all others in a list;
            ///< KernelAxes::apply() refuses it
    DOT,    ///< reduce axis, buffer: adds up products of bytes four at a time, on words that kernels of their own make;
            ///< the buffer is that of the weights (dot.h). First in a list; KernelAxes::apply() refuses it
    TRIM,   ///< reduce axis, buffer: the loop of the axis leaves out iterations that a PAD makes 0, where the buffer is
            ///< finite, which a kernel of its own finds (trim.h). In front of all others in a list, beside PACKs;
            ///< KernelAxes::apply() refuses it
    BLOCK,  ///< axis, n: computes the CONTIGUOUS nodes of the kernel, and what uses them, in blocks of n rows of the
            ///< output axis (block.h). The only Opt of a list; KernelAxes::apply() refuses it
    STREAM,  ///< buffer: vector stores to the buffer bypass the caches, which keep the data that is read
    GUARD,   ///< buffer: accesses that are not proven to be in bounds get a condition; loads give 0 where it is false
  };
  Kind kind = Kind::SPLIT;
  std::size_t axis = 0;            ///< of all kinds but REORDER, STREAM and GUARD
  std::int64_t amount = 0;         ///< n, the coordinate `at`, or the slot of the buffer
  std::size_t segment = 0;         ///< the segment of the axis, 0 for the first
  std::vector<std::size_t> order;  ///< of REORDER
  int slot = 0;                    ///< of PACK: the buffer

  std::string text() const;
  bool operator==(const Opt&) const = default;
};
std::string_view to_string(Opt::Kind kind);
/// Whether an Opt of this kind makes kernels that run first. Such Opts are in front of all others in a list.
constexpr bool makes_kernels(Opt::Kind kind) {
  return kind == Opt::Kind::SPLITREDUCE || kind == Opt::Kind::SPLITSCAN || kind == Opt::Kind::PACK ||
         kind == Opt::Kind::DOT || kind == Opt::Kind::TRIM;
}
/// Parses Opts separated by commas, e.g. "LANES 0 8, PARALLEL 0". KernelAxes::apply() checks whether they are legal.
/// @throws Error (parse) with the column
std::vector<Opt> parse_opts(std::string_view text);
/// The inverse of parse_opts().
std::string text_of(std::span<const Opt> opts);

/// The axes of a kernel after zero or more Opts.
class KernelAxes {
 public:
  /// The untransformed axes: each has one segment of one loop. @throws Error (domain) unless `kernel` is a SINK, and
  /// where an ASSOCIATIVE_SCAN or SCATTER is beside a reduction or another of them, a scan has another shape than a
  /// store, or a SCATTER is not what a store stores; (shape) where
  /// its stores have different ranks, or sizes that are neither equal nor 1
  explicit KernelAxes(const LazyOp& kernel);

  /// @throws Error (domain) naming the Opt and why it is illegal; the axes are unchanged then
  void apply(const Opt& opt);
  /// Applies the Opts in order; on an Error the Opts before the illegal one stay applied. Consecutive MERGEs in
  /// ascending order of axes take linear time together.
  void apply(std::span<const Opt> opts);

  const std::vector<LoopAxis>& axes() const { return axes_; }
  /// The number of output axes: axes() begins with them.
  std::size_t outputs() const { return outputs_; }
  const std::vector<ReduceGroup>& groups() const { return groups_; }
  /// @pre `reduction` is a reduction of the kernel
  const ReduceGroup& group_of(const LazyNode* reduction) const { return groups_[group_of_.at(reduction)]; }
  /// The output axes in the order of their loops, outermost first.
  const std::vector<std::size_t>& order() const { return order_; }
  const std::vector<Stage>& stages() const { return stages_; }
  /// The TRIMs, as trim() (trim.h) makes them: they change no axis.
  const std::vector<Trim>& trims() const { return trims_; }
  void add(Trim trim) { trims_.push_back(std::move(trim)); }
  /// From now on the loops of an axis end where the coordinate reaches the value of `end`, a variable of at most the
  /// axis's size, or, where a step of the innermost loop has several coordinates, behind the step that reaches it.
  void end_at(std::size_t axis, const Variable& end) { ends_.insert_or_assign(axis, end); }
  /// The end of an axis that was given one; null for others.
  const Variable* end_of(std::size_t axis) const {
    const auto it = ends_.find(axis);
    return it == ends_.end() ? nullptr : &it->second;
  }
  /// Whether a STREAM, or a GUARD, names the buffer `slot`.
  bool streams(int slot) const { return holds(streamed_, slot); }
  bool guards(int slot) const { return holds(guarded_, slot); }
  /// The scan of the kernel, if it has one, and its axis; -1 for none.
  const std::optional<Along>& scan() const { return scan_; }
  int scan_axis() const { return scan_ ? axis_of_dim(scan_->dim) : -1; }
  /// Whether the scan is a LazyOp::scan_behind() of a block or more: threads can share the blocks.
  bool has_shared_blocks() const;
  /// The SCATTER of the kernel, if it has one; the output axis of its dimension.
  const std::optional<Along>& scatter() const { return scatter_; }
  int scatter_axis() const { return scatter_ ? axis_of_dim(scatter_->dim) : -1; }
  /// The axis with a parallel part; -1 for none.
  int parallel_axis() const;
  /// The axes as text, one per line: `0 output 4099: loop 1024, upcast 4 | loop 3`.
  std::string text() const;

 private:
  void find_scan();
  void find_scatter();
  int axis_of_dim(std::size_t dim) const;
  void check_scan(const Opt& opt) const;
  void check_scatter(const Opt& opt) const;
  LoopAxis& axis_of(const Opt& opt);
  void split(const Opt& opt, PartKind kind);
  void cut(const Opt& opt);
  /// The first axis in `order` whose outermost loop has more than one iteration, or `axis`, whichever comes first.
  std::size_t outermost_loop(const std::vector<std::size_t>& order, std::size_t axis) const;
  void make_parallel(const Opt& opt);
  void reorder(const Opt& opt);
  void merge(std::span<const Opt> opts);
  void pad_to(const Opt& opt);
  void stage(const Opt& opt);
  void stream(const Opt& opt);
  void guard(const Opt& opt);
  static bool holds(const std::vector<int>& slots, int slot) {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
  }
  std::vector<bool> running_over(const LoopAxis& axis) const;
  void remove_axes(const std::vector<bool>& is_gone);
  void check_lanes(const Opt& opt) const;
  void check_copies(const Opt& opt) const;

  LazyOp kernel_;
  std::vector<LoopAxis> axes_;
  std::size_t outputs_ = 0;
  std::vector<std::size_t> order_;
  std::vector<ReduceGroup> groups_;
  std::vector<Stage> stages_;
  std::vector<Trim> trims_;
  std::unordered_map<std::size_t, Variable> ends_;  // by axis
  std::vector<int> streamed_, guarded_;             // slots
  std::optional<Along> scan_, scatter_;
  std::unordered_map<const LazyNode*, std::size_t> group_of_;
};

}  // namespace strata
