#include "strata/codegen/as_expr.h"

#include <cmath>

#include "strata/codegen/coordinates.h"

namespace strata {

namespace {

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

}  // namespace

std::optional<Expr> as_expr(const LazyOp& n, const std::vector<Expr>& at) { return AsExpr()(n, at); }

}  // namespace strata
