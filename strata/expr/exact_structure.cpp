// Candidates of the exact pass from the structure of an expression: improved parts of a sum, the expression without an
// irrelevant source, closed forms of one variable.

#include <algorithm>
#include <map>

#include "strata/expr/exact_pass.h"
#include "strata/expr/forms.h"
#include "strata/expr/linear.h"
#include "strata/expr/substitute.h"

namespace strata {
namespace {

constexpr std::size_t kPairTerms = 8;        // the most terms of a sum whose pairs are all tried
constexpr std::uint64_t kAxisPoints = 4096;  // the largest sum of extents for closed forms
constexpr std::uint64_t kTame = std::uint64_t{1} << 60;

Expr at_slot(const Tape& tape, std::uint32_t slot) { return Expr::share(tape.node(slot)); }

bool tame(const Column& v) {
  return std::all_of(v.begin(), v.end(), [](std::int64_t x) { return magnitude(x) < kTame; });
}

}  // namespace

void ExactPass::add_structural(const Expr& e, const Column& v, Candidates& out) {
  const Tape tape(e);
  if (!budget_.charge((kBuild + sample_.count) * tape.size()) || tape.width() == Width::checked) return;
  const std::vector<Column> values = run_columns(tape, columns_for(tape), sample_.count);
  if (plain() && tame(v)) add_separable(tape, v, out);
  if (e.op() == Op::Sum)
    add_partial_sums(tape, values, out);
  else
    add_deletions(tape, values, v, out);
}

// Tries to improve groups of terms of a sum: the terms with one set of variables, and pairs of terms.
void ExactPass::add_partial_sums(const Tape& tape, const std::vector<Column>& values, Candidates& out) {
  const std::uint32_t root = tape.root(0);
  const auto in = tape.operands(root);
  const Node* n = tape.node(root);
  std::map<std::uint64_t, std::vector<std::size_t>> by_mask;
  for (std::size_t i = 0; i < in.size(); ++i) by_mask[costs_.mask(at_slot(tape, in[i]))].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (const auto& [mask, group] : by_mask)
    if (group.size() > 2 && group.size() < in.size()) groups.push_back(group);
  if (in.size() > 2 && in.size() <= kPairTerms)
    for (std::size_t i = 0; i < in.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) groups.push_back({j, i});
  for (const auto& group : groups) {
    Column v(sample_.count, 0);
    std::vector<Expr> part;
    for (const std::size_t i : group) {
      const std::int64_t k = n->terms()[i].coefficient;
      for (std::size_t p = 0; p < v.size(); ++p) v[p] += k * values[in[i]][p];
      part.push_back(at_slot(tape, in[i]) * k);
    }
    const Expr before = sum(part);
    if (const auto better = improve_once(before, v, false))
      try_candidate(out, [&] { return at_slot(tape, root) - before + *better; });
  }
}

// Tries to delete sources of min, max, and, or that never decide, and terms of a divided or compared sum that do not
// matter.
void ExactPass::add_deletions(const Tape& tape, const std::vector<Column>& values, const Column& v, Candidates& out) {
  const std::uint32_t root = tape.root(0);
  const auto in = tape.operands(root);
  const Op op = tape.node(root)->op;
  if (op == Op::Div || op == Op::Mod || op == Op::Lt || op == Op::Eq || op == Op::Ne)
    return add_term_deletions(tape, values, v, out);
  const bool least = op == Op::Min || op == Op::And, most = op == Op::Max || op == Op::Or;
  if ((!least && !most) || in.size() < 3) return;
  for (std::size_t skip = 0; skip < in.size(); ++skip) {
    std::vector<Expr> rest;
    Column w(v.size(), least ? kPosInf : kNegInf);
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (i == skip) continue;
      rest.push_back(at_slot(tape, in[i]));
      for (std::size_t p = 0; p < w.size(); ++p)
        w[p] = least ? std::min(w[p], values[in[i]][p]) : std::max(w[p], values[in[i]][p]);
    }
    if (w != v) continue;
    try_candidate(out, [&] {
      Expr form = rest[0];
      for (const Expr& x : std::span(rest).subspan(1))
        form = op == Op::Min ? min(form, x) : op == Op::Max ? max(form, x) : op == Op::And ? form && x : form || x;
      return form;
    });
  }
}

void ExactPass::add_term_deletions(const Tape& tape, const std::vector<Column>& values, const Column& v,
                                   Candidates& out) {
  const std::uint32_t root = tape.root(0);
  const auto in = tape.operands(root);
  const Node* n = tape.node(root);
  const Node* inner = tape.node(in[0]);
  if (!inner->is(Op::Sum)) return;
  const Column& left = values[in[0]];
  const Column& right = values[in[1]];
  const auto outer = [&](std::int64_t x, std::int64_t y) -> std::int64_t {
    switch (n->op) {
      case Op::Div: return floor_div(x, y);
      case Op::Mod: return floor_mod(x, y);
      case Op::Lt: return x < y;
      case Op::Eq: return x == y;
      default: return x != y;
    }
  };
  // Does the node without term i (without the constant, for i == terms) differ from the node by a constant only?
  for (std::size_t i = 0; i <= inner->terms().size(); ++i) {
    const bool is_term = i < inner->terms().size();
    if (!is_term && inner->k0() == 0) continue;
    const std::int64_t k = is_term ? inner->terms()[i].coefficient : inner->k0();
    const Column* term = is_term ? &values[tape.operands(in[0])[i]] : nullptr;
    bool agrees = true;
    std::int64_t shift = 0;
    for (std::size_t p = 0; p < v.size() && agrees; ++p) {
      const std::int64_t w = outer(left[p] - (is_term ? k * (*term)[p] : k), right[p]);
      if (p == 0) shift = v[p] - w;
      agrees = v[p] - w == shift;
    }
    if (!agrees) continue;
    const Expr gone = is_term ? Expr::share(inner->terms()[i].atom) * k : Expr(k);
    try_candidate(out, [&] {
      const Expr sources[] = {Expr::share(inner) - gone, at_slot(tape, in[1])};
      return rebuild(n, sources) + shift;
    });
  }
}

// Tests e = f_1(x_1) + ... + f_n(x_n) - (n - 1) f(low corner), where f_j is e along axis j; then the f_j have closed
// forms.
void ExactPass::add_separable(const Tape& tape, const Column& v, Candidates& out) {
  const Box box = tape.box();
  const std::size_t n = box.size();
  std::uint64_t points = 0;
  for (const Interval& r : box) {
    if (r.extent() > kAxisPoints || r.extent() < 2) return;
    points += r.extent();
  }
  if (points > kAxisPoints || n == 0 || n > 8 || !budget_.take(tape, points)) return;
  std::vector<Column> columns(n);
  for (std::size_t axis = 0; axis < n; ++axis)
    for (std::int64_t x = box[axis].lo; x <= box[axis].hi; ++x)
      for (std::size_t j = 0; j < n; ++j) columns[j].push_back(j == axis ? x : box[j].lo);
  const Column f = run_columns(tape, columns, static_cast<std::size_t>(points))[tape.root(0)];
  if (!tame(f)) return;
  const std::vector<Column> at = columns_for(tape);
  const auto count = static_cast<std::int64_t>(n);
  for (std::size_t p = 0; p < v.size(); ++p) {
    __int128 value = -static_cast<__int128>(count - 1) * f[0];
    std::size_t begin = 0;
    for (std::size_t j = 0; j < n; ++j) {
      value += f[begin + static_cast<std::size_t>(at[j][p] - box[j].lo)];
      begin += static_cast<std::size_t>(box[j].extent());
    }
    if (value != v[p]) return;
  }
  Expr total = -(count - 1) * f[0];
  std::size_t begin = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const std::span table(&f[begin], static_cast<std::size_t>(box[j].extent()));
    std::vector<Expr> forms;
    try {
      forms = univariate_forms(tape.variable_handle(j), box[j].lo, table);
    } catch (const Error&) {
      return;
    }
    if (forms.empty()) return;
    total += *std::min_element(forms.begin(), forms.end(),
                               [&](const Expr& a, const Expr& b) { return costs_.cost(a) < costs_.cost(b); });
    begin += static_cast<std::size_t>(box[j].extent());
  }
  out.push_back(total);
}

}  // namespace strata
