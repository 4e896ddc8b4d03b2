#include "strata/codegen/index_bounds.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "strata/expr/node.h"
#include "strata/view/sizes.h"

namespace strata {

namespace {

constexpr int kMostDepth = 64, kMostCombined = 8;

/// A lower and an upper bound, as functions of sizes.
struct Bounds {
  Expr lo, hi;
  bool is_one() const { return same(lo, hi); }
};
/// True if the expression is proven to be >= 0.
bool is_shown(const Expr& at_least_0) { return is_nonnegative(at_least_0) == Answer::yes; }

/// The condition sum < bound; `terms` are the terms of the sum.
struct Inequality {
  std::vector<std::pair<Expr, std::int64_t>> terms;
  Expr sum, bound;
};

class IndexBounds {
 public:
  explicit IndexBounds(const Access& a) : index_(a.index) {
    std::vector<Inequality> ranges = inequalities(a.ranges);
    std::vector<Inequality> masks = inequalities(a.valid);
    find_counters(a, ranges);
    // The range of a counter may contain other counters, whose bounds the second pass knows.
    for (int pass = 0; pass < 2; ++pass)
      for (const Inequality& r : ranges) narrow(r);
    for (int k = 0; k < kMostCombined && combine(masks, ranges); ++k) {
    }
    for (const Inequality& m : masks) narrow(m);
    for (const Inequality& r : ranges) narrow(r);
  }
  Bounds operator()() { return of(index_, 0); }

 private:
  static std::vector<Inequality> inequalities(const Expr& condition) {
    const std::vector<Expr> parts = condition.op() == Op::And ? sources(condition) : std::vector{condition};
    std::vector<Inequality> out;
    for (const Expr& part : parts)
      if (part.op() == Op::Lt)
        out.push_back(inequality(Expr::share(part.node()->src(0)), Expr::share(part.node()->src(1))));
    return out;
  }
  static Inequality inequality(const Expr& sum, const Expr& bound) {
    Inequality out{{}, sum, bound};
    if (sum.op() == Op::Sum)
      for (const Term& t : sum.node()->terms()) out.terms.emplace_back(Expr::share(t.atom), t.coefficient);
    else
      out.terms.emplace_back(sum, 1);
    return out;
  }

  /// Finds the counters: all variables that do not occur in sizes. Their initial bounds are numbers.
  void find_counters(const Access& a, const std::vector<Inequality>& ranges) {
    std::vector<Variable> sizes = variables(a.size.expr()), counted;
    for (const Inequality& r : ranges)
      for (const auto& [atom, coefficient] : r.terms)
        if (coefficient >= 1 && atom.is_variable()) counted.push_back(Variable::from(atom));
    const auto holds = [](const std::vector<Variable>& all, const Variable& v) {
      return std::any_of(all.begin(), all.end(), [&](const Variable& w) { return same(v, w); });
    };
    for (const Inequality& r : ranges)
      for (const Variable& v : variables(r.sum))
        if (!holds(counted, v)) sizes.push_back(v);
    for (const Expr& e : {a.index, a.valid, a.ranges})
      for (const Variable& v : variables(e))
        if (!holds(sizes, v)) counters_.insert_or_assign(v.node(), Bounds{v.min(), v.max()});
  }
  bool is_counter(const Expr& e) const { return counters_.contains(e.node()); }

  /// Tightens the bounds of each counter that is a term of the inequality with coefficient 1 or -1.
  void narrow(const Inequality& i) {
    for (const auto& [atom, coefficient] : i.terms) {
      if (!is_counter(atom) || (coefficient != 1 && coefficient != -1)) continue;
      const Expr others = of(i.sum - atom * coefficient, 0).lo;
      Bounds& bounds = counters_.at(atom.node());
      if (coefficient == 1) {
        const Expr hi = i.bound - 1 - others;
        if (!is_shown(hi - bounds.hi)) bounds.hi = hi;
      } else {
        const Expr lo = others - i.bound + 1;
        if (!is_shown(bounds.lo - lo)) bounds.lo = lo;
      }
      known_.clear();
    }
  }

  /// The part of the sum that consists of counters, if all have positive coefficients; and the counter with the least
  /// one, which divides the others.
  struct CountedPart {
    Expr counted, last;
    std::int64_t step;  ///< the coefficient of `last`
  };
  /// Nothing for a part that is one counter.
  std::optional<CountedPart> counted_part(const Inequality& m) const {
    CountedPart out{0, 0, 0};
    for (const auto& [atom, coefficient] : m.terms) {
      if (!is_counter(atom)) continue;
      if (coefficient < 1) return std::nullopt;
      out.counted += atom * coefficient;
      if (out.step == 0 || coefficient < out.step) out.last = atom, out.step = coefficient;
    }
    if (out.step < 1) return std::nullopt;
    for (const auto& [atom, coefficient] : m.terms)
      if (is_counter(atom) && coefficient % out.step != 0) return std::nullopt;
    return same(out.counted, out.last) ? std::nullopt : std::optional(out);
  }
  /// `e`, linear in the variable `last` with a multiple of `step` as its coefficient, with `whole` - `rest` in place of
  /// step * last; nothing for another `e`.
  static std::optional<Expr> replaced(const Expr& e, const Expr& last, std::int64_t step, const Expr& whole) {
    // NOTE: term by term, as the constructor puts a quotient and what is beside it together in other ways.
    Expr without = e.op() == Op::Sum ? Expr(e.node()->k0()) : Expr(0), coefficient = 0;
    for (const auto& [atom, factor] : inequality(e, 0).terms) {
      const std::vector<Expr> factors = atom.op() == Op::Mul ? sources(atom) : std::vector{atom};
      const auto at = std::find_if(factors.begin(), factors.end(), [&](const Expr& f) { return same(f, last); });
      Expr rest = factor;
      for (auto f = factors.begin(); f != factors.end(); ++f)
        if (f != at) rest = rest * *f;
      for (const Variable& v : variables(rest))
        if (same(v, last)) return std::nullopt;
      (at != factors.end() ? coefficient : without) += rest;
    }
    const std::optional<Expr> each = divide_exactly(coefficient, step);
    return each ? std::optional(without + *each * whole) : std::nullopt;
  }
  /// For a condition such as `16*a + b < n`: introduces a counter for 16*a + b and eliminates b, so that the condition
  /// bounds the new counter; for `64*a + 16*b + 15 < n` one for 64*a + 16*b. False where no condition has this form.
  bool combine(std::vector<Inequality>& masks, std::vector<Inequality>& ranges) {
    for (const std::vector<Inequality>* all : {&masks, &ranges})
      for (const Inequality& m : *all) {
        const auto part = counted_part(m);
        if (!part || (part->step > 1 && all == &masks)) continue;
        const auto& [counted, last, step] = *part;
        const Variable whole(detail::message("counter", counters_.size()), counted.vmin(), counted.vmax());
        const Expr by = whole - (counted - last * step);
        const std::optional<Expr> index = replaced(index_, last, step, by);
        if (!index) continue;
        const Bounds bounds = of(counted, 0);
        index_ = *index;
        for (std::vector<Inequality>* others : {&masks, &ranges})
          for (Inequality& other : *others)
            if (const auto sum = replaced(other.sum, last, step, by)) other = inequality(*sum, other.bound);
        counters_.insert_or_assign(whole.node(), bounds);
        new_counters_.push_back(whole);
        known_.clear();
        return true;
      }
    return false;
  }

  Bounds of(const Expr& e, int depth) {
    if (e.is_constant()) return {e, e};
    if (const auto it = counters_.find(e.node()); it != counters_.end()) return it->second;
    if (e.is_variable()) return {e, e};
    if (const auto it = known_.find(e.node()); it != known_.end()) return it->second.second;
    const Bounds out = depth < kMostDepth ? of_node(e, depth + 1) : by_facts(e);
    known_.insert_or_assign(e.node(), std::pair{e, out});
    return out;
  }
  static Bounds by_facts(const Expr& e) { return {e.vmin(), e.vmax()}; }

  Bounds of_node(const Expr& e, int depth) {
    switch (e.op()) {
      case Op::Sum: {
        Bounds out{e.node()->k0(), e.node()->k0()};
        for (const Term& t : e.node()->terms()) {
          const Bounds x = of(Expr::share(t.atom), depth);
          out.lo += (t.coefficient > 0 ? x.lo : x.hi) * t.coefficient;
          out.hi += (t.coefficient > 0 ? x.hi : x.lo) * t.coefficient;
        }
        return out;
      }
      case Op::Mul: return product(e, depth);
      case Op::Div:
      case Op::Mod: return quotient(e, depth);
      default: break;
    }
    for (const Variable& v : variables(e))
      if (is_counter(v)) return by_facts(e);
    return {e, e};
  }
  Bounds product(const Expr& e, int depth) {
    Bounds out{1, 1};
    for (const Expr& factor : sources(e)) {
      const Bounds x = of(factor, depth);
      const bool may_scale = x.is_one() ? is_shown(x.lo) : is_shown(x.lo) && is_shown(out.lo);
      const bool is_scaled = out.is_one() && is_shown(out.lo);
      if (!may_scale && !is_scaled) return by_facts(e);
      out = {out.lo * x.lo, out.hi * x.hi};
    }
    return out;
  }
  Bounds quotient(const Expr& e, int depth) {
    const std::vector<Expr> operands = sources(e);
    const Bounds x = of(operands[0], depth), by = of(operands[1], depth);
    if (x.is_one() && by.is_one()) return {e, e};
    if (!by.is_one() || !is_shown(by.lo - 1)) return by_facts(e);
    const Expr& d = by.lo;
    if (e.op() == Op::Mod) return is_shown(x.lo) && is_shown(d - 1 - x.hi) ? x : Bounds{0, d - 1};
    const std::optional<Expr> whole = divide_exactly(x.hi + 1, d);
    return {x.lo / d, whole ? *whole - 1 : x.hi / d};
  }

  Expr index_;
  std::unordered_map<const Node*, Bounds> counters_;
  std::vector<Variable> new_counters_;
  std::unordered_map<const Node*, std::pair<Expr, Bounds>> known_;
};

/// The divisions and modulos in `e` whose second operand is no number.
std::vector<const Node*> symbolic_quotients(const Expr& e) {
  std::vector<const Node*> out, open = {e.node()};
  std::unordered_set<const Node*> seen;
  while (!open.empty()) {
    const Node* const n = open.back();
    open.pop_back();
    if (!seen.insert(n).second) continue;
    for_each_child(n, [&](const Node* child) { open.push_back(child); });
    if ((n->op == Op::Mod || n->op == Op::Div) && n->src(1)->op != Op::Const) out.push_back(n);
  }
  return out;
}

}  // namespace

Expr without_modulos(const Access& a) {
  Substitution whole;
  for (const Node* n : symbolic_quotients(a.index)) {
    const Expr x = Expr::share(n->src(0)), m = Expr::share(n->src(1));
    if (n->op == Op::Mod && lies_between_sizes({a.slot, false, x, a.valid, m, a.ranges}))
      whole.emplace_back(Expr::share(n), x);
  }
  if (whole.empty()) return a.index;
  try {
    const Expr out = substitute(a.index, whole);
    return symbolic_quotients(out).empty() ? out : a.index;
  } catch (const Error&) {  // an intermediate result exceeds 64 bits
    return a.index;
  }
}

namespace {

/// The conjunct `x % c > least` of a condition, with a variable x.
struct LeastDigit {
  Expr x, digit;
  std::int64_t c, least;
};
std::optional<LeastDigit> least_digit(const Expr& condition) {
  const std::vector<Expr> parts = condition.op() == Op::And ? sources(condition) : std::vector{condition};
  for (const Expr& part : parts) {
    if (part.op() != Op::Lt) continue;
    const Expr sum = Expr::share(part.node()->src(0));
    const std::optional<std::int64_t> bound = Expr::share(part.node()->src(1)).constant();
    if (!bound || sum.op() != Op::Sum || sum.node()->terms().size() != 1 || sum.node()->k0() != 0) continue;
    const Term& term = sum.node()->terms()[0];
    const Expr digit = Expr::share(term.atom);
    if (term.coefficient != -1 || digit.op() != Op::Mod) continue;
    const Expr x = Expr::share(digit.node()->src(0));
    const std::optional<std::int64_t> c = Expr::share(digit.node()->src(1)).constant();
    if (x.is_variable() && c) return LeastDigit{x, digit, *c, -*bound};
  }
  return std::nullopt;
}

/// The access with c*q + r in place of a size x, where x % c is more than a number: so much r is at least.
Access with_least_digit(const Access& a, const LeastDigit& d) {
  if (d.least + 1 >= d.c) return a;
  const Variable x = Variable::from(d.x);
  const Variable q("_quotient", x.min() / d.c, x.max() / d.c), r("_digit", d.least + 1, d.c - 1);
  const auto rewritten = [&](const Expr& e) {
    return substitute(substitute(e, {{d.digit, r}, {d.x / d.c, q}}), {{d.x, q * d.c + r}});
  };
  Access out = a;
  out.index = rewritten(a.index);
  out.valid = rewritten(a.valid);
  out.ranges = rewritten(a.ranges);
  out.size = rewritten(a.size.expr());
  return out;
}

}  // namespace

bool lies_between_sizes(const Access& a) {
  try {
    const Bounds bounds = IndexBounds(a)();
    if (is_shown(bounds.lo) && is_shown(a.size.expr() - 1 - bounds.hi)) return true;
    const std::optional<LeastDigit> digit = least_digit(a.valid);
    if (!digit || digit->x.vmin() < 0) return false;
    const Access split = with_least_digit(a, *digit);
    const Bounds between = IndexBounds(split)();
    return is_shown(between.lo) && is_shown(split.size.expr() - 1 - between.hi);
  } catch (const Error&) {  // an intermediate result exceeds 64 bits
    return false;
  }
}

}  // namespace strata
