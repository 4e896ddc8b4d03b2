// Compiles index expressions to Piecewise programs: each node becomes steps on a register.
#include "strata/loops/expr_pieces.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/expr/evaluate.h"
#include "strata/expr/node.h"

namespace strata {
namespace {

/// The reason why an expression does not compile.
struct Refusal {
  std::string why;
};

/// Larger programs cost more in registers than evaluation point by point.
constexpr std::size_t kMostNodes = 2048;

struct Bounds {
  Int128 lo, hi;
};
Bounds bounds_of(const Node* n) { return {n->lo, n->hi}; }

class Compiler {
 public:
  Compiler(std::span<const Variable> counters, std::span<const Expr> roots)
      : counters_(counters), f_(box(counters)), order_(postorder(roots)) {
    if (order_.size() > kMostNodes) throw Refusal{"it has more than 2048 operations"};
    for (std::size_t j = 0; j < counters.size(); ++j)
      STRATA_CHECK(coordinate_.emplace(counters[j].node(), j).second, domain, "[pieces] the counter ",
                   counters[j].name(), " is given twice");
    for (const Node* n : order_) {
      if (n->is(Op::Var) && !coordinate_.contains(n))
        throw Refusal{detail::message("the variable ", n->variable().name, " is not a counter")};
      for_each_operand(n, [&](const Node* operand) { ++uses_[operand]; });
    }
    for (const Expr& root : roots) ++uses_[root.node()];
    one_ = f_.load(1);
  }

  /// Emits every node that is used, sources first.
  void run() {
    for (const Node* n : order_)
      if (uses_.contains(n)) registers_[n] = emit(n);
  }
  std::uint32_t value(const Expr& root) const { return registers_.at(root.node()); }
  std::uint32_t one() const { return one_; }
  Piecewise& program() { return f_; }

 private:
  static Piecewise box(std::span<const Variable> counters) {
    Index lo, extent;
    for (const Variable& v : counters) {
      std::int64_t size = 0;
      if (!try_sub(v.max(), v.min(), size) || !try_add(size, 1, size))
        throw Refusal{detail::message("the range of ", v.name(), " leaves 64 bits")};
      lo.push_back(v.min());
      extent.push_back(size);
    }
    return {lo, extent};
  }

  /// Calls f for the sources that need registers. Constant operands of // % < == != are part of the step, and variables
  /// are part of a sum.
  template <class F>
  static void for_each_operand(const Node* n, F&& f) {
    switch (n->op) {
      case Op::Div:
      case Op::Mod:
      case Op::Lt:
      case Op::Eq:
      case Op::Ne: return f(n->src(0));
      case Op::Sum:
        for (const Term& t : n->terms())
          if (!t.atom->is(Op::Var)) f(t.atom);
        return;
      default: return for_each_child(n, f);
    }
  }

  // --- registers: each is free after its last reader ---

  std::uint32_t fresh() {
    if (free_.empty()) return f_.load(0);
    const std::uint32_t r = free_.back();
    free_.pop_back();
    f_.set(r, 0);
    return r;
  }
  void give_back(std::uint32_t r) { free_.push_back(r); }
  std::uint32_t copy(std::uint32_t r) {
    const std::uint32_t to = fresh();
    f_.add(to, r, 1);
    return to;
  }
  /// Counts one reader of n as done.
  void done(const Node* n) {
    if (--uses_.at(n) == 0) give_back(registers_.at(n));
  }
  /// The value of n in a register that may be overwritten; counts as one reader.
  std::uint32_t take(const Node* n) {
    std::size_t& uses = uses_.at(n);
    const std::uint32_t r = registers_.at(n);
    return --uses == 0 ? r : copy(r);
  }
  void add(std::uint32_t to, const Node* n, std::int64_t scale) {
    f_.add(to, registers_.at(n), scale);
    done(n);
  }

  // --- steps ---

  std::uint32_t emit(const Node* n) {
    switch (n->op) {
      case Op::Const: return f_.load(n->value());
      case Op::Var: return f_.load(0, unit(n));
      case Op::Sum: return emit_sum(n);
      case Op::Mul: return emit_product(n);
      case Op::Div:
      case Op::Mod: return emit_division(n);
      case Op::Min:
      case Op::Max: return emit_extreme(n);
      case Op::Select: return emit_select(n);
      case Op::Lt:
      case Op::Eq:
      case Op::Ne: return emit_comparison(n);
      case Op::And:
      case Op::Or: break;
    }
    return emit_logic(n);
  }
  Index unit(const Node* variable) const {
    Index slope(counters_.size(), 0);
    slope[coordinate_.at(variable)] = 1;
    return slope;
  }
  std::uint32_t emit_sum(const Node* n) {
    Index slope(counters_.size(), 0);
    for (const Term& t : n->terms())
      if (t.atom->is(Op::Var)) slope[coordinate_.at(t.atom)] = t.coefficient;
    const std::uint32_t to = f_.load(n->k0(), slope);
    for (const Term& t : n->terms())
      if (!t.atom->is(Op::Var)) add(to, t.atom, t.coefficient);
    return to;
  }
  /// The factor with the smaller range comes first: pieces are cut along it until it is constant.
  std::uint32_t emit_product(const Node* n) {
    std::uint32_t product = take(n->src(0));
    Bounds range = bounds_of(n->src(0));
    for (const Node* factor : n->sources().subspan(1)) {
      const Bounds other = bounds_of(factor);
      const std::uint32_t to = fresh(), by = registers_.at(factor);
      if (range.hi - range.lo < other.hi - other.lo) {
        f_.times(to, product, by);
      } else {
        f_.times(to, by, product);
      }
      done(factor);
      give_back(product);
      product = to;
      range = {kNegInf, kPosInf};
    }
    return product;
  }
  std::uint32_t emit_division(const Node* n) {
    const Node* by = n->src(1);
    if (!by->is(Op::Const))
      throw Refusal{detail::message("the divisor ", Expr::share(by).render(), " of ", Expr::share(n).render(),
                                    " is not a number")};
    const std::uint32_t rest = take(n->src(0)), quotient = fresh();
    f_.digit(rest, by->value(), quotient, 1);
    give_back(n->is(Op::Div) ? rest : quotient);
    return n->is(Op::Div) ? quotient : rest;
  }
  /// to += scale * [d < 0], because floor(d / P) is -1 or 0 when P exceeds |d|. Gives register d back.
  void add_negative(std::uint32_t to, std::uint32_t d, Bounds range, std::int64_t scale) {
    const Int128 p = std::max(-range.lo, range.hi + 1);
    if (p > kPosInf || range.lo <= kNegInf || range.hi >= kPosInf)
      throw Refusal{"the two sides of a comparison are too far apart for 64 bits"};
    f_.digit(d, std::max(static_cast<std::int64_t>(p), std::int64_t{1}), to, -scale);
    give_back(d);
  }
  std::uint32_t negated(std::uint32_t r) {
    const std::uint32_t to = fresh();
    f_.add(to, r, -1);
    return to;
  }
  /// A register with 1 where d != 0, else 0. Gives register d back.
  std::uint32_t emit_nonzero(std::uint32_t d, Bounds range) {
    const std::uint32_t minus = negated(d), to = fresh();
    add_negative(to, d, range, 1);
    add_negative(to, minus, {-range.hi, -range.lo}, 1);
    return to;
  }
  std::uint32_t emit_comparison(const Node* n) {
    const Bounds x = bounds_of(n->src(0));
    const std::int64_t c = n->src(1)->value();
    const std::uint32_t d = take(n->src(0));
    if (x.lo == kNegInf || x.hi == kPosInf)
      throw Refusal{detail::message("no bounds of ", Expr::share(n->src(0)).render(), " are known")};
    if (c != 0) f_.add(d, constant(c), -1);
    const Bounds range{x.lo - c, x.hi - c};
    if (n->is(Op::Lt)) {
      const std::uint32_t to = fresh();
      add_negative(to, d, range, 1);
      return to;
    }
    const std::uint32_t differs = emit_nonzero(d, range);
    if (n->is(Op::Ne)) return differs;
    const std::uint32_t to = negated(differs);
    give_back(differs);
    f_.add(to, one_, 1);
    return to;
  }
  /// A register that holds c until the next call.
  std::uint32_t constant(std::int64_t c) {
    if (!scratch_) scratch_ = f_.load(0);
    f_.set(*scratch_, c);
    return *scratch_;
  }
  /// Of k conditions: `and` is floor(sum / k), `or` is floor((sum + k - 1) / k).
  std::uint32_t emit_logic(const Node* n) {
    const auto k = static_cast<std::int64_t>(n->arity);
    const std::uint32_t total = fresh(), to = fresh();
    for (const Node* s : n->sources()) add(total, s, 1);
    if (n->is(Op::Or)) f_.add(total, one_, k - 1);
    f_.digit(total, k, to, 1);
    give_back(total);
    return to;
  }
  /// min(a, b) = b + [a - b < 0] * (a - b), max(a, b) = b + [b - a < 0] * (a - b)
  std::uint32_t emit_extreme(const Node* n) {
    const bool least = n->is(Op::Min);
    std::uint32_t best = take(n->src(0));
    Bounds range = bounds_of(n->src(0));
    for (const Node* other : n->sources().subspan(1)) {
      const Bounds b = bounds_of(other);
      f_.add(best, registers_.at(other), -1);
      const Bounds gap{range.lo - b.hi, range.hi - b.lo};
      const std::uint32_t chosen = fresh(), to = take(other);
      if (least) {
        add_negative(chosen, copy(best), gap, 1);
      } else {
        add_negative(chosen, negated(best), {-gap.hi, -gap.lo}, 1);
      }
      f_.times(to, chosen, best);
      give_back(chosen);
      give_back(best);
      best = to;
      range = least ? Bounds{std::min(range.lo, b.lo), std::min(range.hi, b.hi)}
                    : Bounds{std::max(range.lo, b.lo), std::max(range.hi, b.hi)};
    }
    return best;
  }
  /// b + [c != 0] * (a - b)
  std::uint32_t emit_select(const Node* n) {
    const Node* condition = n->src(0);
    std::uint32_t chosen = take(condition);
    if (!condition->is_boolean()) chosen = emit_nonzero(chosen, bounds_of(condition));
    const std::uint32_t gap = take(n->src(1));
    f_.add(gap, registers_.at(n->src(2)), -1);
    const std::uint32_t to = take(n->src(2));
    f_.times(to, chosen, gap);
    give_back(chosen);
    give_back(gap);
    return to;
  }

  std::span<const Variable> counters_;
  Piecewise f_;
  std::vector<const Node*> order_;
  std::unordered_map<const Node*, std::size_t> coordinate_;
  std::unordered_map<const Node*, std::size_t> uses_;  // the number of readers still to come
  std::unordered_map<const Node*, std::uint32_t> registers_;
  std::vector<std::uint32_t> free_;
  std::uint32_t one_ = 0;
  std::optional<std::uint32_t> scratch_;
};

/// The conjuncts of `valid`.
std::vector<Expr> conjuncts(const Expr& valid) {
  std::vector<Expr> out, open{valid};
  while (!open.empty()) {
    const Expr e = std::move(open.back());
    open.pop_back();
    if (e.op() != Op::And) {
      out.push_back(e);
      continue;
    }
    for (const Node* s : e.node()->sources()) open.push_back(Expr::share(s));
  }
  return out;
}

/// A condition as a range of an expression: this cuts boxes without the digits that a comparison needs.
struct Within {
  Expr e;
  std::int64_t lo, hi;
};
Within within(const Expr& condition) {
  const Node* n = condition.node();
  if (n->is(Op::Lt) && n->src(1)->value() != kNegInf) return {Expr::share(n->src(0)), kNegInf, n->src(1)->value() - 1};
  if (n->is(Op::Eq)) return {Expr::share(n->src(0)), n->src(1)->value(), n->src(1)->value()};
  if (n->is_boolean()) return {condition, 1, 1};
  return {condition != 0, 1, 1};
}

template <class F>
ExprPieces refusing(F&& compile) {
  try {
    return {compile(), {}};
  } catch (const Refusal& refusal) {
    return {std::nullopt, refusal.why};
  }
}

/// Adds the address of the top view at the registers `indices` to `address`, and restricts the indices to the view's
/// mask.
void append_top(Piecewise& f, const Strided& top, std::span<const std::uint32_t> indices, std::uint32_t address) {
  for (std::size_t t = 0; t < indices.size(); ++t) {
    if (top.end[t] <= top.begin[t]) return f.nowhere();
    if (top.begin[t] != 0 || top.end[t] != top.shape[t]) f.within(indices[t], top.begin[t], top.end[t] - 1);
    f.add(address, indices[t], top.stride[t]);
  }
}

}  // namespace

ExprPieces expr_pieces(const Expr& e, std::span<const Variable> counters, const Expr& valid) {
  return refusing([&] {
    std::vector<Within> conditions;
    std::vector<Expr> roots{e};
    for (const Expr& c : conjuncts(valid)) {
      if (c.is_constant() && c.value() != 0) continue;
      conditions.push_back(within(c));
      roots.push_back(conditions.back().e);
    }
    Compiler compiler(counters, roots);
    compiler.run();
    Piecewise& f = compiler.program();
    for (const Within& w : conditions) f.within(compiler.value(w.e), w.lo, w.hi);
    f.result(compiler.value(e));
    return f;
  });
}

ExprPieces expr_pieces(std::span<const Expr> indices, std::span<const Strided> views,
                       std::span<const Variable> counters) {
  STRATA_CHECK(indices.size() == views.back().shape.size(), shape, "[pieces] ", indices.size(),
               " indices for a view of ", views.back().shape.size(), " dimensions");
  return refusing([&] {
    Compiler compiler(counters, indices);
    compiler.run();
    Piecewise& f = compiler.program();
    std::vector<std::uint32_t> registers;
    registers.reserve(indices.size());
    for (const Expr& e : indices) registers.push_back(compiler.value(e));
    const std::uint32_t address = f.load(views.back().offset), scratch = f.load(0);
    append_top(f, views.back(), registers, address);
    for (std::size_t k = views.size() - 1; k-- > 0 && !f.is_nowhere();)
      detail::append_view(f, views[k], address, scratch);
    f.result(address);
    return f;
  });
}

}  // namespace strata
