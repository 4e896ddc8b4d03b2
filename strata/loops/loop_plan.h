// The plan of a loop over a tensor, made before the loop runs: the part of tiled.h that need not be a template.
// Internal to loops/.
//
// A LoopPlan holds index expressions, seen through a stack of views, as pieces: boxes of counters on which the address
// and the expressions are affine. A LoopWalk yields blocks that together visit the counters in row-major order. A
// RowPlan lists the contiguous rows of a tensor for parallelLoops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/affine/affine.h"
#include "strata/loops/expr_pieces.h"
#include "strata/view/strided.h"

namespace strata::detail {

/// Elements in the order of their visits: for each index i of a box, in row-major order, the same list of runs, moved
/// by the sum over j of i[j] * step[j]. A box without dimensions has one index. E.g. extent (2), step (100), and one
/// run (3, 7, 1) visit the addresses 7, 8, 9, 107, 108, 109.
struct LoopBlock {
  Index extent, step;                ///< the box, and the change of the address along each of its dimensions
  SmallVec<std::int64_t, 24> slope;  ///< the change of expression k along dimension j: slope[k * extent.size() + j]
  /// One row for each run: number of elements, first address, address step; with offsets also each expression's first
  /// value and each expression's step. First values are those at the box's lower corner.
  std::vector<std::int64_t> runs;
};
/// The number of entries in a row of LoopBlock::runs.
constexpr std::size_t run_width(std::size_t expressions) { return 3 + 2 * expressions; }

class LoopPlan {
 public:
  /// Plans one expression for each dimension of the top view, over counters _0, _1, ... that run over its shape.
  /// Without `with_offsets` blocks leave out the expressions' values, which allows longer runs. Where the pieces do not
  /// decide whether an expression stays inside its dimension, the expression is evaluated at every point, in time
  /// linear in the number of points. For an empty shape the texts are only compiled.
  /// @pre views is not empty, and valid indices have addresses inside the storage
  /// @throws Error (shape) when the number of expressions is not the rank, or when an expression leaves its dimension;
  ///   (parse, domain, overflow) for a text, as `parse`, with the column inside that text.
  LoopPlan(std::span<const Strided> views, std::span<const std::string_view> texts, bool with_offsets);

 private:
  friend class LoopWalk;
  friend class PointWalk;

  void check_offsets(std::span<const Expr> expressions, std::span<const Variable> counters) const;
  bool collect(std::span<const Expr> expressions, std::span<const Variable> counters);
  void append_piece(const Piece& p, std::span<const Piecewise> functions);

  std::vector<Strided> views_;
  std::vector<std::string> texts_;
  Index shape_;
  std::size_t rank_ = 0;
  bool with_offsets_ = false;
  bool by_pieces_ = true;  ///< false when there are too many pieces, or an expression does not compile
  /// One row for each piece: lower corner, extents, the address at the lower corner and its slopes; with offsets, value
  /// and slopes of each expression too.
  std::vector<std::int64_t> pieces_;
  std::size_t width_ = 1;
};

/// Visits the counters in row-major order, point by point, and evaluates the expressions. The fallback without pieces.
class PointWalk {
 public:
  explicit PointWalk(const LoopPlan& plan);
  /// Moves to the first point, then to the next one; false after the last. The other members are for the current point.
  bool next();
  const Index& counters() const { return at_; }
  /// @throws Error (overflow, domain)
  std::int64_t value(std::size_t expression) const { return functions_[expression](); }

 private:
  AffinePrimitives names_;
  std::vector<Affine> functions_;
  std::vector<std::int64_t*> slots_;
  Index shape_, at_;
  bool started_ = false, ended_ = false;
};

/// Yields the blocks of a plan, which must outlive this object.
class LoopWalk {
 public:
  explicit LoopWalk(const LoopPlan& plan);
  /// Writes the next block to `out`; false after the last one.
  bool next(LoopBlock& out);

 private:
  /// One level of the sweep: the pieces that contain the fixed values of the counters before `depth`, swept along
  /// counter `depth`.
  struct Frame {
    std::vector<std::size_t> pieces;  // by lower bound along the counter
    std::vector<std::int64_t> cuts;   // the counter values at which a piece begins or ends
    std::vector<std::size_t> active;  // the pieces that cover [value, end)
    std::size_t cut = 0, first = 0;   // the next cut; the next piece that becomes active
    std::int64_t value = 0, end = 0;
    bool striped = false;  // the active pieces differ along the last counter alone: one block
  };
  const std::int64_t* row(std::size_t piece) const { return plan_.pieces_.data() + piece * plan_.width_; }
  void prepare(std::size_t depth, const std::vector<std::size_t>& pieces);
  void restart(std::size_t depth);
  bool next_interval(std::size_t depth);
  bool are_stripes(std::vector<std::size_t>& pieces, std::size_t depth) const;
  void emit(const std::vector<std::size_t>& pieces, std::size_t depth, LoopBlock& out) const;
  void append_run(std::size_t piece, std::size_t depth, LoopBlock& out) const;
  void append_point(LoopBlock& out);
  bool next_points(LoopBlock& out);

  const LoopPlan& plan_;
  std::size_t expressions_;  // the number of expressions whose values are asked for
  std::vector<Frame> frames_;
  std::size_t open_ = 0;  // the number of frames in use
  Index fixed_;           // the values of the counters before the last frame
  bool whole_ = false;    // there are no counters: one element
  std::optional<PointWalk> points_;
  std::optional<Piecewise> stack_;  // for the fallback, where there are several views
};

/// The rows over the dimensions after `last`: one row for each valid index of the dimensions up to `last`, the outer
/// ones. Row number r belongs to the r-th outer index of the box lo + [0, extent), in row-major order.
struct RowPlan {
  Index lo, extent;                 ///< the outer indices: lo + [0, extent)
  std::int64_t rows = 0;            ///< product of extent; 0 when no index is valid
  std::int64_t row_size = 0;        ///< number of elements in a row
  std::int64_t base = 0;            ///< address of the row at lo
  Index step;                       ///< change of a row's address along each outer dimension
  std::vector<std::int64_t> table;  ///< if rows have no common `step`: the address of each row, -1 for no row

  /// The number of rows, at least 1, that one task takes when `threads` threads share the work.
  std::int64_t grain(std::int64_t threads) const;
};
/// Rows with a common step cover the valid outer indices alone; a table covers all outer indices.
/// @throws Error (shape) when `last` is not a dimension, or when a later dimension is not contiguous or only partly
///   valid in some row; (budget) when this takes too long to decide, or above 2^26 rows without a common step.
RowPlan plan_rows(std::span<const Strided> views, std::int64_t last);

/// A cursor over the rows, starting at number `row`. The plan must outlive it. @pre row < plan.rows
class RowCursor {
 public:
  RowCursor(const RowPlan& plan, std::int64_t row);
  /// The outer index of the current row: plan.lo is the first one.
  const Index& outer() const { return at_; }
  /// The address of the current row; -1 when its outer index has no valid element. @pre advance() has not left the last
  /// row
  std::int64_t address() const { return plan_.table.empty() ? address_ : plan_.table[static_cast<std::size_t>(row_)]; }
  void advance() {
    ++row_;
    for (std::size_t j = at_.size(); j-- > 0;) {
      address_ += plan_.step[j];
      if (++at_[j] < plan_.lo[j] + plan_.extent[j]) return;
      at_[j] = plan_.lo[j];
      address_ -= plan_.step[j] * plan_.extent[j];
    }
  }

 private:
  const RowPlan& plan_;
  std::int64_t row_;
  Index at_;
  std::int64_t address_;
};

}  // namespace strata::detail
