#include "strata/codegen/block_reach.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "strata/codegen/coordinates.h"
#include "strata/codegen/trim.h"
#include "strata/graph/absorb.h"

namespace strata {

namespace {

const LazyNode& value_of(const LazyOp& kernel) { return *kernel.src(0).src(0).node(); }

bool is_number(const LazyOp& n, double value) {
  if (n.op() != Ops::CONST) return false;
  const ConstArg& arg = std::get<ConstArg>(n.arg());
  return arg.value.as_double() == value &&
         std::none_of(arg.st.views().begin(), arg.st.views().end(), [](const View& v) { return v.mask().has_value(); });
}

bool is_finite(const LazyOp& n) {
  return n.op() == Ops::CONST && std::isfinite(std::get<ConstArg>(n.arg()).value.as_double());
}

/// An integer or a condition as an expression of coordinates; nothing where it depends on memory.
class AsExpr {
 public:
  std::optional<Expr> operator()(const LazyOp& n, const std::vector<Expr>& at) { return of(*n.node(), at, 0); }

 private:
  static constexpr int kDeepest = 32;

  /// Nothing where the dtype would change the value: where integers wrap, and where floats round.
  std::optional<Expr> of(const LazyNode& n, const std::vector<Expr>& at, int depth) {
    const auto out = depth > kDeepest ? std::nullopt : unrounded(n, at, depth);
    return out && holds(n.dtype, *out) ? out : std::nullopt;
  }
  static bool holds(DType dtype, const Expr& value) {
    const bool is_narrow = dtype.bits() < 64;
    if (dtype.is_bool()) return value.vmin() >= 0 && value.vmax() <= 1;
    if (dtype.is_float()) {
      const std::int64_t most = std::int64_t{1} << dtype.significand_bits();
      return value.vmin() >= -most && value.vmax() <= most;
    }
    if (dtype.is_unsigned()) return value.vmin() >= 0 && (!is_narrow || value.vmax() >> dtype.bits() == 0);
    const std::int64_t half =
        is_narrow ? std::int64_t{1} << (dtype.bits() - 1) : std::numeric_limits<std::int64_t>::max();
    return value.vmin() >= -half && value.vmax() < half;
  }
  std::optional<Expr> unrounded(const LazyNode& n, const std::vector<Expr>& at, int depth) {
    if (n.op == Ops::CONST) {
      const ConstArg& arg = std::get<ConstArg>(n.arg);
      const double value = arg.value.as_double();
      if (std::fabs(value) > 1 << 30 || value != std::floor(value)) return std::nullopt;
      return masked(Expr(static_cast<std::int64_t>(value)), arg.st.expr_idxs(at).valid);
    }
    if (n.op == Ops::IOTA) {
      const IndexExprs index = std::get<ShapeTracker>(n.arg).expr_idxs(at);
      return masked(index.index, index.valid);
    }
    if (is_movement(n.op)) {
      const Coordinates below = moved(n, {at, 1, false}, movement_of(n).simplify());
      const auto value = of(*n.src[0].node(), below.idxs, depth + 1);
      return value ? masked(*value, below.valid) : value;
    }
    if (n.op == Ops::CAST) return of(*n.src[0].node(), at, depth + 1);
    if (!is_elementwise(n.op)) return std::nullopt;
    std::vector<Expr> operands;
    for (const LazyOp& s : n.src) {
      const auto operand = of(*s.node(), at, depth + 1);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    return applied(n, operands);
  }
  static Expr masked(const Expr& value, const Expr& valid) { return select(valid, value, 0); }
  static std::optional<Expr> applied(const LazyNode& n, const std::vector<Expr>& x) {
    const bool is_bool = n.dtype.is_bool();
    switch (n.op) {
      case Ops::CMPLT: return x[0] < x[1];
      case Ops::CMPEQ: return x[0] == x[1];
      case Ops::CMPNE: return x[0] != x[1];
      case Ops::AND: return is_bool ? std::optional(x[0] && x[1]) : std::nullopt;
      case Ops::OR: return is_bool ? std::optional(x[0] || x[1]) : std::nullopt;
      case Ops::NOT: return is_bool ? std::optional(!x[0]) : std::nullopt;
      case Ops::WHERE: return select(x[0], x[1], x[2]);
      case Ops::ADD: return is_bool ? x[0] || x[1] : x[0] + x[1];
      case Ops::SUB: return x[0] - x[1];
      case Ops::MUL: return x[0] * x[1];
      default: return std::nullopt;
    }
  }
};

class Reaching {
 public:
  Reaching(const BlockBody& body, std::int64_t rows, int finite) : body_(body), rows_(rows), finite_(finite) {}

  std::optional<BlockReach> run() {
    const std::vector<BlockChain::Step>& steps = body_.chain.steps;
    for (std::size_t k = 0; k < steps.size(); ++k)
      if (steps[k].turn != BlockTurn::each || steps[k].kernel.src().size() != 1 || !add(k)) return std::nullopt;
    if (!has_scores() || weights_ < 0 || !finite_kernel_) return std::nullopt;
    return BlockReach{std::move(along_), columns_, first_end_, kGranule, *finite_kernel_};
  }

 private:
  static constexpr std::int64_t kGranule = 64, kMostColumns = 1 << 20;

  bool has_scores() const { return scores_ >= 0; }
  const LazyOp& kernel(std::size_t k) const { return body_.chain.steps[k].kernel; }
  int slot_of(std::size_t k) const { return body_.chain.steps[k].temporary; }
  static bool reads(const LazyOp& kernel, int slot) {
    const std::vector<const LazyNode*> nodes = postorder(kernel);
    return slot >= 0 && std::any_of(nodes.begin(), nodes.end(), [&](const LazyNode* n) {
             return n->op == Ops::LOAD && std::get<BufferArg>(n->arg).slot == slot;
           });
  }

  /// Reads kernel `k`; false where the columns behind the end may matter to it.
  bool add(std::size_t k) {
    if (!has_scores()) return add_scores(k), true;
    const bool of_scores = reads(kernel(k), scores_), of_weights = reads(kernel(k), weights_);
    if (of_scores) return !of_weights && weights_ < 0 && add_weights(k);
    return !of_weights || add_sum(k);
  }

  /// WHERE(condition, x, -infinity), where the condition is false behind a column.
  void add_scores(std::size_t k) {
    const LazyNode& value = value_of(kernel(k));
    if (value.op != Ops::WHERE || slot_of(k) < 0 || value.shape.empty()) return;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool is_then = is_number(value.src[2], -kInfinity);
    if (!is_then && !is_number(value.src[1], -kInfinity)) return;
    dim_ = value.shape.size() - 1;
    const Int& columns = value.shape[dim_];
    if (!columns.is_number() || columns.value() < 2 || columns.value() > kMostColumns || body_.block.max() < 1) return;
    std::vector<Expr> at;
    for (std::size_t t = 0; t < value.shape.size(); ++t) {
      if (!value.shape[t].is_number()) return;
      at.push_back(value.shape[t] == Int(1) ? Expr(0)
                                            : Expr(Variable(detail::message("at", t), 0, value.shape[t].value() - 1)));
    }
    AsExpr as_expr;
    const auto condition = as_expr(value.src[0], at);
    if (!condition) return;
    const Expr counts = is_then ? *condition : !*condition;
    const Expr column = at[dim_], block = body_.block;
    // The last column that counts for a row of block 0 is a guess for all blocks, which is then shown.
    Values first = {{body_.block, 0}};
    for (const Variable& v : variables(counts))
      if (!same(v, body_.block) && !same(Expr(v), column)) first.emplace_back(v, v.max());
    first.emplace_back(variables(column)[0], 0);
    std::int64_t last = -1;
    for (std::int64_t j = 0; j < columns.value(); ++j) {
      first.back().second = j;
      if (evaluate(counts, first) != 0) last = j;
    }
    if (last < 0 || last + 1 + rows_ > columns.value()) return;
    const Expr end = block * rows_ + (last + 1);
    if (prove(!counts, column >= end).answer != Answer::yes) return;
    scores_ = slot_of(k);
    shape_ = value.shape;
    columns_ = columns.value();
    first_end_ = last + 1;
    along_.push_back({k, dim_, std::nullopt});
  }

  static const LazyNode* unexpanded(const LazyOp& n) { return n.op() == Ops::EXPAND ? n.src(0).node() : nullptr; }
  /// Whether `n` are the scores as they were stored, column by column.
  bool is_scores(const LazyOp& n) const {
    if (!is_load_of(n, scores_)) return false;
    const ShapeTracker st = std::get<BufferArg>(n.arg()).st.simplify();
    return st.contiguous() && st.shape() == shape_;
  }
  static bool is_load_of(const LazyOp& n, int slot) {
    return n.op() == Ops::LOAD && std::get<BufferArg>(n.arg()).slot == slot;
  }
  /// exp(scores - max(scores)), perhaps scaled; 0 instead of a maximum of -infinity.
  bool add_weights(std::size_t k) {
    const LazyNode* value = &value_of(kernel(k));
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}})
      if (value->op == Ops::MUL && is_finite(value->src[at])) value = value->src[1 - at].node();
    if (value->op != Ops::EXP || value->src[0].op() != Ops::SUB || !is_scores(value->src[0].src(0))) return false;
    const LazyNode* largest = unexpanded(value->src[0].src(1));
    if (largest == nullptr) return false;
    if (largest->op == Ops::WHERE && is_number(largest->src[1], 0)) largest = largest->src[2].node();
    if (largest->op != Ops::REDUCE_MAX || !is_scores(largest->src[0])) return false;
    if (!(std::get<Axes>(largest->arg) == Axes{static_cast<std::int64_t>(dim_)})) return false;
    if (!(value->shape == value->src[0].src(0).shape()) || slot_of(k) < 0) return false;
    weights_ = slot_of(k);
    along_.push_back({k, dim_, 0});
    return true;
  }

  /// A sum of the weights, or of products with them, along columns.
  bool add_sum(std::size_t k) {
    const std::vector<const LazyNode*> nodes = postorder(kernel(k));
    std::vector<const LazyNode*> reductions;
    for (const LazyNode* n : nodes)
      if (is_reduce(n->op)) reductions.push_back(n);
    if (reductions.size() != 1 || reductions[0]->op != Ops::SUM) return false;
    const LazyNode& sum = *reductions[0];
    for (const LazyNode* n : nodes)  // all weights are below the sum
      for (const LazyOp& s : n->src)
        if (is_load_of(s, weights_) && n != &sum && !(n->op == Ops::MUL && sum.src[0].node() == n)) return false;
    const LazyOp& term = sum.src[0];
    const LazyOp* weights = &term;
    if (term.op() == Ops::MUL) {
      const std::size_t at = is_load_of(term.src(0), weights_) ? 0 : 1;
      weights = &term.src(at);
      if (!find_elements(term.src(1 - at))) return false;
    }
    if (!is_load_of(*weights, weights_)) return false;
    const ShapeTracker st = std::get<BufferArg>(weights->arg()).st.simplify();
    if (st.views().size() != 1 || st.views()[0].mask()) return false;
    const View& view = st.views()[0];
    const Axes& axes = std::get<Axes>(sum.arg);
    std::optional<std::size_t> position;
    for (std::size_t p = 0; p < axes.size(); ++p) {
      const auto t = static_cast<std::size_t>(axes[p]);
      if (view.shape()[t] == Int(columns_) && view.strides()[t] == Int(1))
        position = p;
      else if (!(view.strides()[t] == Int(0)))
        return false;
    }
    if (!position) return false;
    along_.push_back({k, std::nullopt, position});
    return true;
  }

  /// The other factor of a product: elements of one given buffer, moved.
  bool find_elements(const LazyOp& factor) {
    if (factor.op() != Ops::LOAD || finite_kernel_ || !factor.dtype().is_float()) return false;
    const BufferArg& arg = std::get<BufferArg>(factor.arg());
    for (const int own : body_.chain.temporaries)
      if (arg.slot == own) return false;
    for (const Variable& v : arg.st.vars())
      if (same(v, body_.block)) return false;
    finite_kernel_ = finite_kernel(factor, finite_);
    return true;
  }

  const BlockBody& body_;
  std::int64_t rows_;
  int finite_;
  std::size_t dim_ = 0;             // of columns
  Ints shape_;                      // of the scores
  int scores_ = -1, weights_ = -1;  // slots
  std::vector<BlockReach::Along> along_;
  std::int64_t columns_ = 0, first_end_ = 0;
  std::optional<LazyOp> finite_kernel_;
};

/// The steps of a coordinate that its loops cannot tell apart: those of the parts inside of the innermost loop. 0 where
/// a segment has no loop.
std::int64_t step_of(const LoopAxis& axis) {
  std::int64_t out = 1;
  for (const Segment& segment : axis.segments) {
    std::int64_t step = 1;
    bool has_loop = false;
    for (std::size_t p = segment.parts.size(); p-- > 0 && !has_loop;) {
      has_loop = segment.parts[p].kind == PartKind::loop && !(segment.parts[p].size == Int(1));
      if (!has_loop) step *= segment.parts[p].size.value();
    }
    if (!has_loop) return 0;
    out = std::max(out, step);
  }
  return out;
}

}  // namespace

std::optional<BlockReach> block_reach(const BlockBody& body, std::int64_t rows, int finite) {
  try {
    return Reaching(body, rows, finite).run();
  } catch (const Error&) {  // a bound or a proof that cannot be told
    return std::nullopt;
  }
}

bool end_loops(KernelAxes& axes, const BlockReach& reach, const BlockReach::Along& of, const Variable& end) {
  const bool is_scores = &of == reach.along.data();
  std::vector<std::size_t> found;
  for (std::size_t a = 0; a < axes.axes().size(); ++a) {
    const LoopAxis& axis = axes.axes()[a];
    const bool is_output = axis.group < 0;
    const std::optional<std::size_t>& wanted = is_output ? of.output : of.reduced;
    if (!wanted || !axis.is_of(*wanted) || !(axis.size == Int(reach.columns)) || axis.padded) continue;
    const std::int64_t step = step_of(axis);
    if (!is_scores && (step == 0 || reach.granule % step != 0)) return false;
    found.push_back(a);
  }
  const std::size_t wanted = (of.output ? 1 : 0) + (of.reduced ? 1 : 0);
  if (found.size() != wanted || axes.groups().size() != 1) return false;
  for (const std::size_t a : found) axes.end_at(a, end);
  return true;
}

}  // namespace strata
