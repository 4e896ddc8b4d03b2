// What a loop over a tensor does, decided before it runs: all that tiled.h needs and that need not be a template.
//
// A LoopPlan is index expressions over counters, seen through a stack of views, as boxes of counters on which address
// and expressions are affine. A LoopWalk yields blocks which, one after another, visit the counters in row-major order.
// A RowPlan is the contiguous rows of a tensor.
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

/// Elements in the order of their visits: for each index of a box, row-major, the same runs after one another.
struct LoopBlock {
  Index extent, step;  ///< the box, and what the address gains along each of its dimensions
  SmallVec<std::int64_t, 24> slope;  ///< what expression k gains along dimension j: slope[k * extent.size() + j]
  /// One row a run: number of elements, first address and step, then, with offsets, each expression's first value and
  /// each expression's step; first means at the box's lower corner.
  std::vector<std::int64_t> runs;
};
/// Entries of a row of LoopBlock::runs.
constexpr std::size_t run_width(std::size_t expressions) { return 3 + 2 * expressions; }

class LoopPlan {
 public:
  /// One expression a dimension of the top view, over counters _0, _1, ... that run over its shape. Without
  /// `with_offsets` blocks come without the expressions' values, and so with longer runs.
  /// @throws Error (shape) for another number of expressions than dimensions, or where one leaves its dimension;
  ///   (parse, domain, overflow) for a text, as `parse`, with the column inside of that text.
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
  bool by_pieces_ = true;  ///< false where pieces are too many, or expressions do not compile to them
  /// One row a piece: lower corner, extents, address at the lower corner and its slopes; with offsets, the same two of
  /// each expression.
  std::vector<std::int64_t> pieces_;
  std::size_t width_ = 1;
};

/// The counters in row-major order, point by point, with the values of the expressions.
class PointWalk {
 public:
  explicit PointWalk(const LoopPlan& plan);
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

class LoopWalk {
 public:
  explicit LoopWalk(const LoopPlan& plan);
  /// False when there are no more.
  bool next(LoopBlock& out);

 private:
  /// The pieces that meet one choice of the counters before `depth`, swept along counter `depth`.
  struct Frame {
    std::vector<std::size_t> pieces;  // by lower end
    std::vector<std::int64_t> cuts;   // where the set of pieces changes
    std::vector<std::size_t> active;  // the pieces on [value, end)
    std::size_t cut = 0, first = 0;   // the next cut, the next piece to become active
    std::int64_t value = 0, end = 0;
    bool striped = false;  // the active pieces differ along the last counter alone
  };
  const std::int64_t* row(std::size_t piece) const {
    return plan_.pieces_.data() + piece * plan_.width_;
  }
  void prepare(std::size_t depth, const std::vector<std::size_t>& pieces);
  void restart(std::size_t depth);
  bool next_interval(std::size_t depth);
  bool are_stripes(std::vector<std::size_t>& pieces, std::size_t depth) const;
  void emit(const std::vector<std::size_t>& pieces, std::size_t depth, LoopBlock& out) const;
  void append_run(std::size_t piece, std::size_t depth, LoopBlock& out) const;
  void append_point(LoopBlock& out);
  bool next_points(LoopBlock& out);

  const LoopPlan& plan_;
  std::size_t expressions_;  // whose values are asked for
  std::vector<Frame> frames_;
  std::size_t open_ = 0;  // frames in use
  Index fixed_;           // the counters before the last frame
  bool whole_ = false;    // no counters, one element
  std::optional<PointWalk> points_;
  std::optional<Piecewise> stack_;  // point by point, where there are several views
};

/// Rows over the dimensions after `last`, one for each valid index of the dimensions up to it.
struct RowPlan {
  Index lo, extent;                 ///< the outer indices: lo + [0, extent)
  std::int64_t rows = 0;            ///< product of extent; 0 when nothing is valid
  std::int64_t row_size = 0;        ///< elements of a row
  std::int64_t base = 0;            ///< address of the row at lo
  Index step;                       ///< of a row's address, along each outer dimension
  std::vector<std::int64_t> table;  ///< addresses by row, -1 where there is none, where no `step` says it

  /// Rows to be handed out together for this many threads.
  std::int64_t grain(std::int64_t threads) const;
};
/// @throws Error (shape) where `last` is not a dimension, or where a later one is not contiguous or masked; (budget)
RowPlan plan_rows(std::span<const Strided> views, std::int64_t last);

/// The rows from number `row` on.
class RowCursor {
 public:
  RowCursor(const RowPlan& plan, std::int64_t row);
  const Index& outer() const { return at_; }
  /// -1 where there is no row.
  std::int64_t address() const {
    return plan_.table.empty() ? address_ : plan_.table[static_cast<std::size_t>(row_)];
  }
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
