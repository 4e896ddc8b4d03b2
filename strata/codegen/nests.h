// Nests: makes the loops of a kernel while it is lowered: the LOOPs, their counters, and the coordinates of the axes as
// expressions of counters, lanes and unrolled variables. Internal to codegen/.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/codegen/axes.h"
#include "strata/codegen/index_uops.h"
#include "strata/codegen/lower.h"

namespace strata {

/// A loop nest: one segment for each of some axes.
struct Nest {
  /// The coordinate of an axis: begin + sum of value * stride over its parts.
  struct Axis {
    std::size_t axis;
    Expr begin;
    std::vector<std::pair<Expr, Int>> parts;  ///< the value of each part, and its stride
  };
  /// A part that is a loop. `loop` is empty where the trip count is 1.
  struct LoopPart {
    std::size_t axis, part;  ///< the part axes[axis].parts[part]
    UOp loop;
  };
  std::vector<Axis> axes;
  std::vector<std::size_t> segments;  ///< the segment of each axis
  std::vector<LoopPart> order;        ///< the loop parts, outermost first
  std::vector<UOp> loops;             ///< the LOOPs, outermost first
  const Lanes* lanes = nullptr;       ///< the vectorized part, if any
  std::vector<std::pair<Variable, int>>
      copies;  ///< unrolled parts with an accumulator per copy; and the number of copies
  std::vector<std::pair<Variable, int>> iterations;  ///< unrolled parts whose copies share one accumulator
  bool reaches_beyond = false;  ///< coordinates beyond the end of an axis are left out (Segment::reaches_beyond)

  // For reductions. A level is a run of loops that share one accumulator; the accumulator of a level adds up the
  // results of the next level inside of it.
  std::vector<std::size_t> levels;  ///< the number of `loops` of each level, outermost first
  /// The order of ir/sum_order.h, including lanes; false: lanes are added up after all loops.
  bool is_ordered = false;
  /// Ordered: the outer levels, which add up scalars (the sums across lanes); further levels add up vectors.
  std::size_t scalar_levels = 0;
  /// Ordered: the elements of a last vector that has fewer than all lanes. They are added to the sums of the innermost
  /// level, last.
  struct Tail {
    std::vector<Expr> coordinates;
    Expr guard;  ///< true for the lanes and iterations that have such an element
  };
  std::optional<Tail> tail;

  /// The coordinate of each axis.
  std::vector<Expr> coordinates() const;
};

/// The order in which the reductions of a group combine their elements.
enum class SumOrder : std::uint8_t {
  free,     ///< one accumulator for all loops
  bounded,  ///< long loops are split into levels, so that an accumulator adds up at most some dozens of values
  paired,   ///< bounded, where each value is two products of DOT2: half as many values
  defined,  ///< the order of ir/sum_order.h
};

/// All combinations of values of unrolled variables, the last variable fastest; one empty substitution where there are
/// no variables.
std::vector<Substitution> choices(const std::vector<std::pair<Variable, int>>& unrolled);

/// The lengths of the levels of a bounded sum.
struct SumLevels {
  std::int64_t run = 64;   ///< most iterations of the innermost level
  std::int64_t level = 8;  ///< most iterations of each level around it
};

/// The order of each group of the kernel's reductions: `free` for groups without float sums and products.
std::vector<SumOrder> sum_orders(const LazyOp& kernel, const KernelAxes& axes, const Target& target);

/// Makes loops, each once: a loop is identified by the path of loops and segments that leads to it.
class Nests {
 public:
  /// Adds the LOOPs, counters, ranges and the parallel trip count to `out`.
  /// @param parameter returns the UOp of a variable of the kernel  @param orders the order of each group of reductions
  Nests(const KernelAxes& axes, Lowered& out, IndexUOps& index, std::function<UOp(const Variable&)> parameter,
        std::vector<SumOrder> orders);

  /// The nests over output axes, one for each choice of segments.
  std::vector<Nest> of_outputs(const std::vector<std::size_t>& axes);
  /// The nests of a group of reductions that is needed at an index with the variables of `around`, one for each choice
  /// of segments. Calls with the same variables and the same `apart` return the same loops.
  std::vector<Nest> of_group(const ReduceGroup& group, std::span<const Expr> around, std::string_view apart = {});

  /// Some of a loop's iterations, [begin, end), where `holds`; all of them elsewhere.
  struct Bounds {
    UOp holds;
    Expr begin, end;
  };
  /// From now on the loops of a reduce axis that is one loop have these bounds.
  void set_bounds(std::size_t axis, Bounds bounds) { bounds_.insert_or_assign(axis, std::move(bounds)); }
  void clear_bounds() { bounds_.clear(); }
  /// From now on reductions get new loops, and do not share those that exist.
  void begin_apart() { ++apart_; }
  /// The counter of the loop `path`, of `trip_count` iterations, directly inside of `around`; makes the loop on the
  /// first call.
  Variable counter(const std::string& path, const Int& trip_count, int depth, UOp around) {
    return loop(path, trip_count, depth, false, around);
  }
  /// The Lanes named `name`; made on the first call.
  const Lanes* lanes(const std::string& name, int count);
  /// The LOOP that counts `v`; empty where `v` is no loop counter.
  UOp loop_of(const Variable& v) const;
  /// The nesting depth of the loop of `v`, from 1; loops of reductions count from 100. 0 where `v` is no loop counter.
  int depth_of(const Variable& v) const;
  /// The Lanes on which `a` or `b` depends; null for none.
  const Lanes* lanes_of(const Expr& a, const Expr& b) const;
  /// A condition that holds inside of the loops whose counters occur in `expressions`: counter < trip count, for
  /// symbolic trip counts.
  Expr ranges_of(std::span<const Expr> expressions) const;
  /// The condition that the loops with counters in `around` have an iteration, except for loops with counters in
  /// `index`. A load that does not depend on a loop may be hoisted in front of it and would then be executed even if
  /// the loop has no iteration; a load that depends on the counter stays inside.
  Expr have_iterations(const Expr& around, const Expr& index) const;

 private:
  struct LoopVariable {
    UOp loop;
    int depth;
  };
  enum class Role : std::uint8_t { output, reduction };

  Nest nest(const std::vector<std::size_t>& axes, const std::vector<std::size_t>& segments, std::string path, Role role,
            bool outer_lanes);
  Nest ordered(const ReduceGroup& group, const std::string& path, bool outer_lanes);
  void open_digits(Nest& out, std::span<const Int> sizes, std::string path, int lane_axis);
  std::vector<std::size_t> levels_of(const Nest& nest, std::span<const std::int64_t> trip_counts,
                                     std::size_t group) const;
  /// `range`: the condition on the counter for a symbolic `trip_count`; default: counter < trip_count.
  /// `bounds`: null for all iterations; `last_end`: an earlier end
  Variable loop(const std::string& path, const Int& trip_count, int depth, bool is_parallel, UOp around,
                const std::function<Expr(const Variable&)>& range = {}, const Bounds* bounds = nullptr,
                const std::optional<Expr>& last_end = {});
  std::optional<Expr> end_of(const Nest& nest, std::size_t axis, std::size_t part) const;
  std::function<Expr(const Variable&)> range_of(const Nest& nest, std::size_t axis, std::size_t part) const;
  const Bounds* bounds_of(std::size_t axis, const Part& part) const;
  const std::vector<Segment>& segments_of(std::size_t axis) const { return segments_[axis]; }
  UOp parallel_end(std::string_view name);
  UOp last_call(const Int& trip_count);
  UOp leftover(std::size_t axis, std::size_t segment, UOp around, Nest& out);
  void unrolled_part(const Part& part, const std::string& name, bool outer_lanes, Expr& value, Nest& out);
  std::size_t order_of(std::size_t axis, std::size_t at, Role role) const;
  std::vector<std::vector<std::size_t>> segment_choices(const std::vector<std::size_t>& axes) const;

  const KernelAxes& axes_;
  Lowered& out_;
  IndexUOps& index_;
  std::function<UOp(const Variable&)> parameter_;
  std::vector<SumOrder> orders_;                // by group
  std::vector<SumLevels> levels_;               // by group
  std::vector<std::vector<Segment>> segments_;  // by axis: those of axes_, with the long loops of bounded sums split
  std::map<std::string, Variable> paths_;
  std::unordered_map<std::string, LoopVariable> loops_;
  std::unordered_map<std::string, Lanes> lanes_;
  std::unordered_map<std::string, Expr> ranges_;    // by variable
  std::unordered_map<std::size_t, Bounds> bounds_;  // by axis
  UOp last_call_;
  int apart_ = 0;
};

}  // namespace strata
