// and, or, not, select. Operands of `and` and `or` are 0 or 1; `not` is pushed down to the comparisons.
#include <algorithm>
#include <array>

#include "strata/expr/build.h"
#include "strata/expr/canonical_order.h"

namespace strata {
namespace {

constexpr std::size_t kPairwiseTerms = 16;  // the most operands that are compared pairwise
constexpr std::size_t kNegatable = 64;      // the most nodes of a condition that De Morgan negates

Op dual_junction(Op op) { return op == Op::And ? Op::Or : Op::And; }

// How two operands of `and` relate, when both are conditions on one sum.
enum class Relation { none, first_implies, second_implies, exclusive };

bool opposite(const Node* x, const Node* y) {
  const LinearView a(x), b(y);
  if (a->terms.size() != b->terms.size() || a->k0 != 0 || b->k0 != 0) return false;
  for (std::size_t i = 0; i < a->terms.size(); ++i) {
    std::int64_t total = 0;
    if (a->terms[i].atom != b->terms[i].atom || !try_add(a->terms[i].coefficient, b->terms[i].coefficient, total) ||
        total != 0)
      return false;
  }
  return true;
}

// Does the condition `c` hold for x == value? Nothing when `c` is not a condition on x.
std::optional<bool> holds_at(const Node* c, const Node* x, std::int64_t value) {
  if (!(c->is(Op::Lt) || c->is(Op::Eq) || c->is(Op::Ne))) return std::nullopt;
  const std::int64_t k = c->src(1)->value();
  if (c->src(0) == x) return c->is(Op::Lt) ? value < k : (value == k) == c->is(Op::Eq);
  if (c->is(Op::Lt) && value != kNegInf && opposite(c->src(0), x)) return -value < k;
  return std::nullopt;
}

// Does one of p and q imply the other, or do they exclude each other?
Relation relate(const Node* p, const Node* q) {
  if (p->is(Op::Eq)) {
    const auto holds = holds_at(q, p->src(0), p->src(1)->value());
    if (holds) return *holds ? Relation::first_implies : Relation::exclusive;
  }
  if (q->is(Op::Eq)) {
    const auto holds = holds_at(p, q->src(0), q->src(1)->value());
    if (holds) return *holds ? Relation::second_implies : Relation::exclusive;
  }
  if (p->is(Op::Lt) && q->is(Op::Lt)) {
    const std::int64_t a = p->src(1)->value(), b = q->src(1)->value();
    if (p->src(0) == q->src(0)) return a <= b ? Relation::first_implies : Relation::second_implies;
    std::int64_t room = 0;  // x <= a-1 and -x <= b-1: some x iff 1-b <= a-1
    if (opposite(p->src(0), q->src(0)) && try_add(a, b, room) && room < 2) return Relation::exclusive;
  }
  if (p->is(Op::Lt) && q->is(Op::Ne) && p->src(0) == q->src(0) && p->src(1)->value() <= q->src(1)->value())
    return Relation::first_implies;
  if (q->is(Op::Lt) && p->is(Op::Ne) && p->src(0) == q->src(0) && q->src(1)->value() <= p->src(1)->value())
    return Relation::second_implies;
  const auto holds_in = [](const Node* part, const Node* whole) {
    if (!whole->is(Op::And)) return false;
    const auto s = whole->sources();
    return std::find(s.begin(), s.end(), part) != s.end();
  };
  if (holds_in(q, p)) return Relation::first_implies;
  if (holds_in(p, q)) return Relation::second_implies;
  return Relation::none;
}

// True when `p` absorbs `q`: p or (p and q) = p, and p and (p or q) = p.
bool absorbs(Op op, const Node* p, const Node* q) {
  if (q->op != dual_junction(op)) return false;
  const auto s = q->sources();
  return std::find(s.begin(), s.end(), p) != s.end();
}

// The number of nodes of a condition as a tree of `and` and `or`, counted up to `limit`.
std::size_t junction_size(const Node* p, std::size_t limit) {
  std::vector<const Node*> stack{p};
  std::size_t size = 0;
  while (!stack.empty() && size < limit) {
    const Node* n = stack.back();
    stack.pop_back();
    ++size;
    if (n->is(Op::And) || n->is(Op::Or)) stack.insert(stack.end(), n->sources().begin(), n->sources().end());
  }
  return size + stack.size();
}

}  // namespace

Expr Build::truth(const Expr& x) const { return x.node()->is_boolean() ? x : ne(x, 0); }

Expr Build::negate(const Expr& p) const {
  const Node* n = p.node();
  switch (n->op) {
    case Op::Lt: {  // not x < a  iff  -x < 1 - a
      const std::int64_t a = n->src(1)->value();
      STRATA_CHECK(a != kNegInf, overflow, "[not] the negation of ", p.render(), " does not fit in 64 bits");
      STRATA_FIRED(B16, {"x", shared(n->src(0))}, {"a", a});
      return lt(Expr(a - 1), shared(n->src(0)));
    }
    case Op::Eq:
      STRATA_FIRED(B17, {"x", shared(n->src(0))}, {"a", n->src(1)->value()});
      return ne(shared(n->src(0)), n->src(1)->value());
    case Op::Ne:
      STRATA_FIRED(B18, {"x", shared(n->src(0))}, {"a", n->src(1)->value()});
      return eq(shared(n->src(0)), n->src(1)->value());
    case Op::And:
    case Op::Or: {
      if (junction_size(n, kNegatable) >= kNegatable) {  // larger ones stay `p == 0`
        const Expr zero(0);
        return intern(Op::Eq, std::array{n, zero.node()});
      }
      std::vector<Expr> parts;
      for (const Node* s : n->sources()) parts.push_back(negate(shared(s)));
      if (parts.size() == 2) {
        if (n->is(Op::And)) {
          STRATA_FIRED(B14, {"p", shared(n->src(0))}, {"q", shared(n->src(1))});
        } else {
          STRATA_FIRED(B15, {"p", shared(n->src(0))}, {"q", shared(n->src(1))});
        }
      }
      return junction(dual_junction(n->op), parts);
    }
    default: STRATA_FIRED(B19, {"x", p}); return eq(p, 0);
  }
}

// Removes operands that another operand makes redundant. False when two operands decide the whole junction: it is then
// 0 for `and`, 1 for `or`.
bool Build::settle_pairs(Op op, std::vector<Expr>& terms) const {
  const bool is_and = op == Op::And;
  const auto drop = [&](std::size_t i) { terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i)); };
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t j = i + 1; j < terms.size();) {
      const Expr &p = terms[i], &q = terms[j];
      Relation r = Relation::none;
      if (is_and) {
        r = relate(p.node(), q.node());
      } else if (p.op() != Op::And && q.op() != Op::And) {  // `p or q` through `not p and not q`
        r = relate(negate(p).node(), negate(q).node());
      }
      if (absorbs(op, p.node(), q.node())) r = Relation::first_implies;
      if (absorbs(op, q.node(), p.node())) r = Relation::second_implies;
      if (r == Relation::none) {
        ++j;
        continue;
      }
      const bool keeps_first = r == Relation::first_implies;
      const Expr &kept = keeps_first ? p : q, &lost = keeps_first ? q : p;
      if (r == Relation::exclusive) {
        if (is_and) STRATA_FIRED(B39, {"p", p}, {"q", q});
        if (!is_and) STRATA_FIRED(B40, {"p", p}, {"q", q});
        return false;
      }
      if (is_and) STRATA_FIRED(B37, {"p", kept}, {"q", lost});
      if (!is_and) STRATA_FIRED(B38, {"p", lost}, {"q", kept});
      drop(keeps_first ? j : i);
      if (!keeps_first) j = i + 1;
    }
  }
  return true;
}

Expr Build::junction(Op op, std::span<const Expr> given) const {
  const std::int64_t neutral = op == Op::And ? 1 : 0;
  std::vector<Expr> terms;
  for (const Expr& e : given) {
    const Expr t = truth(e);
    if (t.op() == op) {
      for (const Node* s : t.node()->sources()) terms.push_back(shared(s));
    } else if (t.node()->lo == t.node()->hi) {
      if (t.node()->lo != neutral) return Expr(1 - neutral);
    } else {
      terms.push_back(t);
    }
  }
  if (terms.empty()) return neutral;
  sort_and_merge(terms);
  if (terms.size() <= kPairwiseTerms && !settle_pairs(op, terms)) return Expr(1 - neutral);
  if (terms.size() == 1) return terms[0];
  STRATA_CHECK(terms.size() <= kMaxArity, budget, "[", to_string(op), "] more than ", kMaxArity, " operands");
  std::vector<const Node*> nodes;
  for (const Expr& e : terms) nodes.push_back(e.node());
  return intern(op, nodes);
}

// Simplifies a select by the difference of its arms: a constant, a min or max, or a part that both arms share.
std::optional<Expr> Build::select_by_gap(const Expr& p, const Expr& a, const Expr& b) const {
  Linear gap;
  if (!combine(LinearView(a.node()), 1, LinearView(b.node()), -1, gap)) return std::nullopt;
  if (gap.terms.empty()) {  // a - b is a constant: b + p * (a - b)
    STRATA_FIRED(S48, {"p", p}, {"a", gap.k0}, {"b", 0});
    return add(b, 1, p, gap.k0);
  }
  if (p.op() == Op::Lt) {  // D < 0 with a - b in {D, D+1, -D, -D-1} is a min or a max
    Linear d = copy(LinearView(p.node()->src(0)));
    d.k0 = -p.node()->src(1)->value();
    Linear test;
    const auto is_zero = [&](std::int64_t sign, std::int64_t shift) {
      return combine(ref(gap), 1, ref(d), -sign, test) && test.terms.empty() && test.k0 == shift;
    };
    if (is_zero(1, 0) || is_zero(1, 1)) {
      if (test.k0 == 0) {
        STRATA_FIRED(S29, {"x", a}, {"y", b});
      } else {
        STRATA_FIRED(S44, {"x", a}, {"y", b});
      }
      return extremum(Op::Min, std::array{a, b});
    }
    if (is_zero(-1, 0) || is_zero(-1, -1)) {
      if (test.k0 == 0) {
        STRATA_FIRED(S30, {"x", b}, {"y", a});
      } else {
        STRATA_FIRED(S45, {"x", b}, {"y", a});
      }
      return extremum(Op::Max, std::array{a, b});
    }
  }
  const LinearView x(a.node()), y(b.node());
  Linear common;
  for (const Term& t : x->terms) {
    if (coefficient_of(y, t.atom) == t.coefficient) common.terms.push_back(t);
  }
  if (!common.terms.empty()) {
    const Expr z = sum(std::move(common)), s = add(a, 1, z, -1), t = add(b, 1, z, -1);
    STRATA_FIRED(S27, {"p", p}, {"x", s}, {"y", t}, {"z", z});
    return add(z, 1, select(p, s, t), 1);
  }
  return std::nullopt;
}

Expr Build::select(const Expr& condition, const Expr& a, const Expr& b) const {
  const Expr p = truth(condition);
  if (p.is_constant()) {
    if (p.value() != 0) {
      STRATA_FIRED(S22, {"x", a}, {"y", b});
    } else {
      STRATA_FIRED(S23, {"x", a}, {"y", b});
    }
    return p.value() != 0 ? a : b;
  }
  if (same(a, b)) {
    STRATA_FIRED(S24, {"p", p}, {"x", a});
    return a;
  }
  if (p.op() == Op::Ne) {
    const Expr q = negate(p);
    STRATA_FIRED(S31, {"p", q}, {"x", a}, {"y", b});
    return select(q, b, a);
  }
  if (a.op() == Op::Select && a.node()->src(0) == p.node()) {
    const Expr x = shared(a.node()->src(1));
    STRATA_FIRED(S32, {"p", p}, {"x", x}, {"y", shared(a.node()->src(2))}, {"z", b});
    return select(p, x, b);
  }
  if (b.op() == Op::Select && b.node()->src(0) == p.node()) {
    const Expr z = shared(b.node()->src(2));
    STRATA_FIRED(S33, {"p", p}, {"x", a}, {"y", shared(b.node()->src(1))}, {"z", z});
    return select(p, a, z);
  }
  if (auto found = select_by_gap(p, a, b)) return *std::move(found);
  return intern(Op::Select, std::array{p.node(), a.node(), b.node()});
}

}  // namespace strata
