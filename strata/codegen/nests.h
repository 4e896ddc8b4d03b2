// The loops of a kernel under construction: variables, LOOPs, and the coordinates that they give.
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

/// The nest of one choice of segments.
struct Nest {
  struct Axis {
    std::size_t axis;
    Expr begin;
    std::vector<std::pair<Expr, Int>> parts;  ///< the coordinate of each part, and its stride
  };
  /// A part that is a loop; without a LOOP where its trip count is 1.
  struct LoopPart {
    std::size_t axis, part;  ///< axes[axis].parts[part]
    UOp loop;
  };
  std::vector<Axis> axes;
  std::vector<std::size_t> segments;  ///< of each of the axes
  std::vector<LoopPart> order;        ///< outermost first
  std::vector<UOp> loops;             ///< outermost first
  const Lanes* lanes = nullptr;
  std::vector<std::pair<Variable, int>> copies;  ///< unrolled, each with an accumulator; and how many
  std::vector<std::pair<Variable, int>> iterations;  ///< unrolled, into one accumulator

  // Of a reduction: which of its loops share an accumulator.
  std::vector<std::size_t> levels;  ///< how many of `loops` do, outermost first: a level adds up what the next one comes to
  bool is_ordered = false;  ///< as ir/sum_order.h says, lanes too; else lanes are added up last
  std::size_t scalar_levels =
      0;  ///< ordered: the first levels, which add up what the lanes come to; the others have a sum a lane
  /// Elements that the lanes of the innermost level begin, and do not fill: they go into its sums last.
  struct Tail {
    std::vector<Expr> coordinates;
    Expr guard;  ///< where they are there
  };
  std::optional<Tail> tail;

  std::vector<Expr> coordinates() const;
};

/// In which order a group of reductions is added up.
enum class SumOrder : std::uint8_t {
  free,     ///< as the loops are
  bounded,  ///< long loops as levels, so that no accumulator adds up more than some dozens of values
  defined,  ///< as ir/sum_order.h says
};

/// All values of unrolled variables, the last one fastest; one empty choice where there are none.
std::vector<Substitution> choices(const std::vector<std::pair<Variable, int>>& unrolled);

/// Of a bounded sum.
struct SumLevels {
  std::int64_t run = 64;   ///< iterations that the innermost accumulator adds up, at most
  std::int64_t level = 8;  ///< sums that each one around it adds up, at most
};

/// Of each group of the kernel's reductions.
std::vector<SumOrder> sum_orders(const LazyOp& kernel, const KernelAxes& axes, const Target& target);

class Nests {
 public:
  /// Adds LOOPs, counters, ranges and the parallel range to `out`. `parameter` gives the UOp of a variable of the kernel.
  /// `orders`: of each group of reductions.
  Nests(const KernelAxes& axes, Lowered& out, IndexUOps& index,
        std::function<UOp(const Variable&)> parameter, std::vector<SumOrder> orders);

  /// The nests over output axes, one for each choice of segments.
  std::vector<Nest> of_outputs(const std::vector<std::size_t>& axes);
  /// The nests of a group of reductions at an index that is written with the variables of `around`. Called again for the same
  /// variables and `apart`, they are the same.
  std::vector<Nest> of_group(const ReduceGroup& group, std::span<const Expr> around,
                             std::string_view apart = {});

  /// Loops of reductions that are made from now on are not those that were made before.
  void begin_apart() { ++apart_; }
  /// The counter of a loop of `trip_count` directly inside of `around`; made where `path` is not there yet.
  Variable counter(const std::string& path, std::int64_t trip_count, int depth, UOp around) {
    return loop(path, trip_count, depth, false, around);
  }
  /// The lanes called `name`.
  const Lanes* lanes(const std::string& name, int count);
  /// The LOOP of a variable; empty where it is none of a loop.
  UOp loop_of(const Variable& v) const;
  /// How many loops are around the inside of the loop of `v`, more for those of reductions; 0 for other variables.
  int depth_of(const Variable& v) const;
  /// The lanes that `a` or `b` depends on; null for none.
  const Lanes* lanes_of(const Expr& a, const Expr& b) const;
  /// What holds, beyond their bounds, for the loop variables that `expressions` are written with: in their loops, symbolic sizes
  /// are larger than the counters.
  Expr ranges_of(std::span<const Expr> expressions) const;
  /// That the loops whose counters `around` is written with have iterations; those of counters in `index` aside: what depends on a
  /// counter is in its loop anyway, and other values may be moved in front of it.
  Expr have_iterations(const Expr& around, const Expr& index) const;

 private:
  struct LoopVariable {
    UOp loop;
    int depth;
  };
  enum class Role : std::uint8_t { output, reduction };

  Nest nest(const std::vector<std::size_t>& axes, const std::vector<std::size_t>& segments,
            std::string path, Role role, bool outer_lanes);
  Nest ordered(const ReduceGroup& group, const std::string& path, bool outer_lanes);
  void open_digits(Nest& out, std::span<const Int> sizes, std::string path, int lane_axis);
  std::vector<std::size_t> levels_of(const Nest& nest, std::span<const std::int64_t> trip_counts,
                                     std::size_t group) const;
  /// `range`: what holds of the counter where `trip_count` is no number; empty: that it is below `trip_count`.
  Variable loop(const std::string& path, const Int& trip_count, int depth, bool is_parallel,
                UOp around, const std::function<Expr(const Variable&)>& range = {});
  const std::vector<Segment>& segments_of(std::size_t axis) const { return segments_[axis]; }
  UOp parallel_end(std::string_view name);
  UOp last_call(const Int& trip_count);
  UOp leftover(std::size_t axis, std::size_t segment, UOp around, Nest& out);
  void unrolled_part(const Part& part, const std::string& name, bool outer_lanes, Expr& value,
                     Nest& out);
  std::size_t order_of(std::size_t axis, std::size_t at, Role role) const;
  std::vector<std::vector<std::size_t>> segment_choices(const std::vector<std::size_t>& axes) const;

  const KernelAxes& axes_;
  Lowered& out_;
  IndexUOps& index_;
  std::function<UOp(const Variable&)> parameter_;
  std::vector<SumOrder> orders_;                // by group
  std::vector<SumLevels> levels_;               // by group
  std::vector<std::vector<Segment>> segments_;  // by axis: the axes', with long loops of bounded sums cut
  std::map<std::string, Variable> paths_;
  std::unordered_map<std::string, LoopVariable> loops_;
  std::unordered_map<std::string, Lanes> lanes_;
  std::unordered_map<std::string, Expr> ranges_;  // by variable
  UOp last_call_;
  int apart_ = 0;
};

}  // namespace strata
