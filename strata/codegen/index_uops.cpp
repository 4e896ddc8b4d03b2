// Lowers an Expr to UOps, one node at a time, sources first.

#include "strata/codegen/index_uops.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_set>

#include "strata/base/walk.h"
#include "strata/expr/node.h"

namespace strata {

namespace {

/// The nodes below `root`, sources before users, each once.
std::vector<const Node*> nodes_below(const Node* root) {
  std::vector<const Node*> out;
  std::unordered_set<const Node*> seen;
  detail::walk(
      root, [&](const Node* n) { return seen.insert(n).second; }, child_from_end,
      [&](const Node* n) { out.push_back(n); });
  return out;
}

std::uint64_t greatest_magnitude(const Node* n) { return std::max(magnitude(lower(n)), magnitude(upper(n))); }

/// A bound on the magnitude of every partial sum, for any order of the terms.
Int128 sum_magnitude(const Node* n) {
  Int128 total = static_cast<Int128>(magnitude(n->k0()));
  for (const Term& t : n->terms()) {
    total += static_cast<Int128>(magnitude(t.coefficient)) * static_cast<Int128>(greatest_magnitude(t.atom));
    if (total > std::numeric_limits<std::int64_t>::max()) break;
  }
  return total;
}

bool is_power_of_two(const Node* n) {
  return n->op == Op::Const && n->value() > 0 && std::has_single_bit(static_cast<std::uint64_t>(n->value()));
}

}  // namespace

DType index_width(const Expr& e) {
  Int128 most = 0;
  for (const Node* n : nodes_below(e.node()))
    most = std::max(most, n->op == Op::Sum ? sum_magnitude(n) : static_cast<Int128>(greatest_magnitude(n)));
  STRATA_CHECK(most <= std::numeric_limits<std::int64_t>::max(), overflow, "[lower] the index ", e.render(),
               " may leave 64 bits");
  return most <= std::numeric_limits<std::int32_t>::max() ? dtypes::int32 : dtypes::int64;
}

struct IndexUOps::Walk {
  DType width;
  const Lanes* lanes;
  std::unordered_map<const Node*, UOp> done;
};

UOp IndexUOps::integer(const Expr& e, DType width, const Lanes* lanes) {
  return as_integer(build(e.node(), width, lanes), width);
}

UOp IndexUOps::condition(const Expr& e, const Lanes* lanes) {
  return as_condition(build(e.node(), index_width(e), lanes));
}

UOp IndexUOps::build(const Node* root, DType width, const Lanes* lanes) {
  Walk walk{width, lanes, {}};
  for (const Node* n : nodes_below(root)) walk.done.emplace(n, node(n, walk));
  return walk.done.at(root);
}

UOp IndexUOps::node(const Node* n, const Walk& walk) {
  switch (n->op) {
    case Op::Const: return graph_.constant(walk.width, n->value());
    case Op::Var: return variable(n, walk);
    case Op::Sum: return sum(n, walk);
    case Op::Div:
    case Op::Mod: return divmod(n, walk);
    case Op::Lt:
    case Op::Eq:
    case Op::Ne: return comparison(n, walk);
    case Op::Select: {
      const UOp then = as_integer(walk.done.at(n->src(1)), walk.width);
      const UOp otherwise = as_integer(walk.done.at(n->src(2)), walk.width);
      UOp condition = as_condition(walk.done.at(n->src(0)));
      const int lanes = std::max({condition.dtype().lanes(), then.dtype().lanes(), otherwise.dtype().lanes()});
      const auto wide = [&](UOp u) { return u.dtype().lanes() == lanes ? u : graph_.broadcast(u, lanes); };
      return graph_.alu(Ops::WHERE, {wide(condition), wide(then), wide(otherwise)});
    }
    case Op::Mul:
    case Op::Min:
    case Op::Max:
    case Op::And:
    case Op::Or: return fold(n, walk);
  }
  throw InternalError("[lower] an op of the algebra that has no UOp");
}

UOp IndexUOps::variable(const Node* n, const Walk& walk) {
  const Variable v = Variable::from(Expr::share(n));
  if (walk.lanes == nullptr || !same(v, walk.lanes->variable)) return as_integer(source_.value(v), walk.width);
  std::vector<UOp> lanes;
  for (int k = 0; k < walk.lanes->count; ++k) lanes.push_back(graph_.constant(walk.width, k));
  return graph_.add(UOps::VECTORIZE, walk.width.vec(walk.lanes->count), lanes);
}

int IndexUOps::depth_of(const Node* n) {
  if (const auto it = depths_.find(n); it != depths_.end()) return it->second;
  keep_.push_back(Expr::share(n));
  int depth = 0;
  for (const Variable& v : variables(keep_.back())) depth = std::max(depth, source_.depth(v));
  depths_.emplace(n, depth);
  return depth;
}

// Adds the terms of outer loops first, so that partial sums are loop-invariant, and the constant, in which unrolled
// copies differ, last.
UOp IndexUOps::sum(const Node* n, const Walk& walk) {
  const std::span<const Term> all = n->terms();
  std::vector<std::pair<int, std::size_t>> terms;  // depth, place
  for (std::size_t k = 0; k < all.size(); ++k) terms.emplace_back(depth_of(all[k].atom), k);
  std::sort(terms.begin(), terms.end());
  UOp total;
  for (const auto& [depth, place] : terms) {
    const Term* t = &all[place];
    UOp value = as_integer(walk.done.at(t->atom), walk.width);
    const bool negative = t->coefficient < 0 && total;
    const std::int64_t factor = negative ? -t->coefficient : t->coefficient;
    if (factor != 1) value = alu(Ops::MUL, value, number(value, factor));
    total = !total ? value : alu(negative ? Ops::SUB : Ops::ADD, total, value);
  }
  if (!total) return graph_.constant(walk.width, n->k0());
  if (n->k0() == 0) return total;
  const bool negative = n->k0() < 0 && n->k0() != std::numeric_limits<std::int64_t>::min();
  return alu(negative ? Ops::SUB : Ops::ADD, total, number(total, negative ? -n->k0() : n->k0()));
}

// `//` and `%` round down, as shifts and masks do. IDIV and MOD truncate, which is the same for nonnegative operands.
UOp IndexUOps::divmod(const Node* n, const Walk& walk) {
  const Node* divisor = n->src(1);
  const bool is_div = n->op == Op::Div;
  const UOp a = as_integer(walk.done.at(n->src(0)), walk.width);
  if (is_power_of_two(divisor)) {
    const std::int64_t d = divisor->value();
    if (is_div) return alu(Ops::SHR, a, number(a, std::countr_zero(static_cast<std::uint64_t>(d))));
    return alu(Ops::AND, a, number(a, d - 1));
  }
  const UOp b = as_integer(walk.done.at(divisor), walk.width);
  if (lower(n->src(0)) >= 0) return alu(is_div ? Ops::IDIV : Ops::MOD, a, b);
  UOp rest = alu(Ops::MOD, a, b);  // has the sign of a
  const UOp below = alu(Ops::CMPLT, rest, number(rest, 0));
  if (!is_div) {
    const UOp shifted = alu(Ops::ADD, rest, b);
    return graph_.alu(Ops::WHERE, {below, shifted, rest});
  }
  const UOp quotient = alu(Ops::IDIV, a, b);
  return alu(Ops::SUB, quotient, as_integer(below, walk.width));
}

UOp IndexUOps::comparison(const Node* n, const Walk& walk) {
  const Ops op = n->op == Op::Lt ? Ops::CMPLT : n->op == Op::Eq ? Ops::CMPEQ : Ops::CMPNE;
  return alu(op, as_integer(walk.done.at(n->src(0)), walk.width), as_integer(walk.done.at(n->src(1)), walk.width));
}

UOp IndexUOps::fold(const Node* n, const Walk& walk) {
  const bool logical = n->op == Op::And || n->op == Op::Or;
  const Ops op = n->op == Op::Mul   ? Ops::MUL
                 : n->op == Op::Min ? Ops::MIN
                 : n->op == Op::Max ? Ops::MAX
                 : n->op == Op::And ? Ops::AND
                                    : Ops::OR;
  UOp total;
  for (const Node* s : n->sources()) {
    const UOp known = walk.done.at(s);
    const UOp value = logical ? as_condition(known) : as_integer(known, walk.width);
    total = total ? alu(op, total, value) : value;
  }
  return total;
}

UOp IndexUOps::as_integer(UOp value, DType width) { return graph_.cast(value, width); }

UOp IndexUOps::as_condition(UOp value) {
  if (value.dtype().is_bool()) return value;
  return graph_.alu(Ops::CMPNE, {value, number(value, 0)});
}

UOp IndexUOps::alu(Ops op, UOp a, UOp b) {
  const int lanes = std::max(a.dtype().lanes(), b.dtype().lanes());
  if (a.dtype().lanes() != lanes) a = graph_.broadcast(a, lanes);
  if (b.dtype().lanes() != lanes) b = graph_.broadcast(b, lanes);
  return graph_.alu(op, {a, b});
}

}  // namespace strata
