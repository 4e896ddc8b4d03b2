// The loops of a kernel as data, and the transformations of them.
//
// A kernel has output axes (the dimensions of its stores) and, for each group of reductions, reduce axes. Two reductions
// are in one group when as many reductions are below them and they reduce the same sizes: they can share loops. Axes are
// numbered, outputs first, then group by group. An axis is cut into segments; a segment is a nest of parts, outermost first:
// its coordinate is begin + sum of part * (product of the sizes of the parts inside of it).
//
// An Opt changes the axes in one legal way; a kernel's loops are described by its list of Opts and nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

enum class PartKind : std::uint8_t {
  loop,      ///< a LOOP
  parallel,  ///< a LOOP over a part of the range that the caller chooses; outermost
  upcast,    ///< unrolled in registers; on a reduce axis each copy has an accumulator of its own
  unroll,    ///< unrolled, of a reduce axis: all copies into one accumulator
  lanes,     ///< the lanes of vectors
};
std::string_view to_string(PartKind kind);

/// One loop of a segment, or as many lanes or unrolled copies.
struct Part {
  PartKind kind = PartKind::loop;
  Int size;
  bool is_inside = false;  ///< a loop that was cut from the part in front of it, and stays inside of it
};

/// A run of an axis' coordinates from `begin` on, and the nest that it is cut into.
struct Segment {
  Int begin;
  std::vector<Part> parts;  ///< outermost first
  Int size() const;
};

/// An axis: its size, and its segments, which together are all of it.
struct LoopAxis {
  Int size;
  int group = -1;  ///< of reductions; -1 for an output axis
  /// The dimensions of the stores (of a group: the places among the reduced axes) that it runs over, row-major, and their
  /// sizes: one, until axes are merged.
  std::vector<std::size_t> dims;
  Ints sizes;
  std::vector<Segment> segments;
  bool padded = false;  ///< true iff the segments reach beyond `size`
};

/// Reductions that share their loops.
struct ReduceGroup {
  int level = 0;                     ///< reductions below them
  std::size_t first = 0, count = 0;  ///< their axes
};

/// A buffer whose elements are copied to scratch memory inside of the outermost loop of an output axis.
struct Stage {
  std::size_t axis = 0;
  int slot = 0;
};

/// One transformation. In text: `UPCAST 0 4`, `REORDER 1 0`, `LANES 1 8 @1` (of the second segment), `STREAM 0`.
struct Opt {
  enum class Kind : std::uint8_t {
    SPLIT,   ///< axis, n: the innermost loop becomes one of n iterations inside of another (a tile)
    UPCAST,  ///< axis, n: n iterations of the innermost loop at once, in registers; reductions get n accumulators
    UNROLL,  ///< axis, n: the same of a reduce axis with one accumulator
    LANES,   ///< axis, n: as vectors of n lanes
    PARALLEL,  ///< axis: the outermost loop runs on several threads
    REORDER,   ///< a permutation of the output axes: the order of their loops, outermost first
    CUT,       ///< axis, at: two segments, before and from `at` on
    STAGE,  ///< axis, buffer: inside of the outermost loop of the axis, what is loaded of the buffer is first copied to
            ///< scratch memory, in the order in which it is used
    PADTO,  ///< axis, n: the loop gets iterations beyond its end, to a multiple of n; they load and store nothing
    MERGE,  ///< axis: it and the next one become one axis over both; later axes count one less
    SPLITREDUCE,  ///< axis, n: a reduce axis in n parts, each of which a thread can do (split_reduce.h); the first Opt of a list
    STREAM,       ///< buffer: its vectors are stored past the caches, which keep what is read
    GUARD,  ///< buffer: accesses that cannot be shown to stay inside are made where they do alone; loads give 0 elsewhere
  };
  Kind kind = Kind::SPLIT;
  std::size_t axis = 0;
  std::int64_t amount = 0;
  std::size_t segment = 0;
  std::vector<std::size_t> order;

  std::string text() const;
  bool operator==(const Opt&) const = default;
};
std::string_view to_string(Opt::Kind kind);
/// Opts separated by commas. @throws Error (parse)
std::vector<Opt> parse_opts(std::string_view text);
std::string text_of(std::span<const Opt> opts);

/// The axes of a kernel, as its Opts have left them.
class KernelAxes {
 public:
  /// One segment of one loop an axis. @throws Error (domain) unless `kernel` is a SINK, (shape) where its stores have
  /// different ranks, or sizes that are neither equal nor 1
  explicit KernelAxes(const LazyOp& kernel);

  /// @throws Error (domain) naming the Opt and why it is not legal; nothing has changed then
  void apply(const Opt& opt);
  /// One after another, those before the one that is not legal. Linear in axes and Opts for MERGEs in the order of their axes.
  void apply(std::span<const Opt> opts);

  const std::vector<LoopAxis>& axes() const { return axes_; }
  std::size_t outputs() const { return outputs_; }
  const std::vector<ReduceGroup>& groups() const { return groups_; }
  const ReduceGroup& group_of(const LazyNode* reduction) const {
    return groups_[group_of_.at(reduction)];
  }
  /// Output axes, outermost loops first.
  const std::vector<std::size_t>& order() const { return order_; }
  const std::vector<Stage>& stages() const { return stages_; }
  bool streams(int slot) const { return holds(streamed_, slot); }
  bool guards(int slot) const { return holds(guarded_, slot); }
  /// The axis with a parallel part, or -1.
  int parallel_axis() const;
  /// A line an axis: `0 output 4096: loop 1024, upcast 4 | loop 3`.
  std::string text() const;

 private:
  LoopAxis& axis_of(const Opt& opt);
  void split(const Opt& opt, PartKind kind);
  void cut(const Opt& opt);
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
  std::vector<int> streamed_, guarded_;  // slots
  std::unordered_map<const LazyNode*, std::size_t> group_of_;
};

}  // namespace strata
