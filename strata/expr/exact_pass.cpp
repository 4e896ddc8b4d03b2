// ExactPass: the pass, proofs of candidates, and the candidates that are found from values alone.

#include "strata/expr/exact_pass.h"

#include <algorithm>
#include <cmath>

#include "strata/expr/substitute.h"

namespace strata {
namespace {

constexpr std::size_t kProofs = 16;  // candidates of a node to try on the whole box
constexpr std::size_t kFitted = 16;  // most variables of an affine candidate under an assumption

std::uint64_t wrap(std::int64_t x) { return static_cast<std::uint64_t>(x); }

}  // namespace

ExactPass::ExactPass(const Expr& root, const Expr& valid, Budget& budget)
    : valid_(valid), budget_(budget), tape_(std::vector<Expr>{root, valid}), costs_(tape_) {
  if (plain()) {
    sample_ = make_sample(tape_.box(), tape_.size());
  } else {
    bool exhaustive = false;
    sample_ = make_valid_sample(tape_, budget_, exhaustive);
    nowhere_valid_ = exhaustive && sample_.count == 0;
  }
  if (sample_.count > 0) values_ = run_columns(tape_, sample_.columns, sample_.count);
}

Expr ExactPass::run() {
  if (nowhere_valid_) return 0;
  Expr root = Expr::share(tape_.node(tape_.root(0)));
  if (values_.empty() || !budget_.take(tape_, sample_.count)) return root;
  index_signatures();
  for (std::uint32_t slot = 0; slot <= tape_.root(0); ++slot) done_.push_back(improve(rebuilt(slot), values_[slot]));
  return done_.back();
}

// The node rebuilt over its improved sources; the old node when that is costlier.
Expr ExactPass::rebuilt(std::uint32_t slot) {
  Expr old = Expr::share(tape_.node(slot));
  std::vector<Expr> children;
  bool changed = false;
  for (const std::uint32_t s : tape_.operands(slot)) {
    children.push_back(done_[s]);
    changed |= done_[s].node() != tape_.node(s);
  }
  if (!changed) return old;
  std::vector<Expr> made;
  try_candidate(made, [&] { return rebuild(old.node(), children); });
  return !made.empty() && costs_.cost(made[0]) < costs_.cost(old) ? made[0] : old;
}

Expr ExactPass::improve(Expr e, const Column& v) {
  while (!e.is_constant()) {
    const std::optional<Expr> better = improve_once(e, v, true);
    if (!better) break;
    e = *better;
  }
  return e;
}

// The cheapest proven candidate that is cheaper than `e`. With `whole`, parts of `e` give candidates, too.
std::optional<Expr> ExactPass::improve_once(const Expr& e, const Column& v, bool whole) {
  const Node* n = e.node();
  if (n->lo == n->hi && !n->has(kBound)) return Expr(n->lo);  // a variable with one value
  if (budget_.left() == 0 || (plain() && n->has(kLinear))) return std::nullopt;
  Candidates found;
  if (std::all_of(v.begin(), v.end(), [&](std::int64_t x) { return x == v[0]; })) found.emplace_back(v[0]);
  add_drops(e, v, found);
  plain() ? add_affine(e, v, found) : add_fitted(e, v, found);
  add_known(v, found);
  if (whole && costs_.cost(e).size > 3) add_structural(e, v, found);
  const Cost now = costs_.cost(e);
  std::vector<std::pair<Cost, std::size_t>> order;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (const Cost cost = costs_.cost(found[i]); cost < now) order.emplace_back(cost, i);
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < std::min(order.size(), kProofs) && budget_.left() > 0; ++i)
    if (const Expr& candidate = found[order[i].second]; equal(e, candidate)) return candidate;
  return std::nullopt;
}

bool ExactPass::equal(const Expr& a, const Expr& b) {
  if (same(a, b)) return true;
  std::vector<Expr> roots{a, b};
  if (!plain()) roots.push_back(valid_);
  const Tape tape(roots);
  return budget_.charge(kBuild * tape.size()) && find_difference(tape, budget_, false).equal == Answer::yes;
}

// The shape of a column: value = base + unit * shape. Columns of equal shape are affine functions of each other.
std::optional<ExactPass::Signature> ExactPass::signature(const Column& v) {
  std::uint64_t h = 0;
  std::int64_t unit = 0, first = 0;
  for (const std::int64_t x : v) {
    std::int64_t d = 0;
    if (!try_sub(x, v[0], d)) return std::nullopt;
    if (first == 0) first = d;
    if (unit != 1) unit = gcd(unit, d);
  }
  if (unit == 0) return std::nullopt;
  if (first < 0) unit = -unit;
  for (const std::int64_t x : v) {
    const std::int64_t d = x - v[0];
    h = mix_hash(h, unit == -1 ? -wrap(d) : wrap(unit == 1 ? d : d / unit));  // -2^63 / -1 overflows
  }
  return Signature{h, v[0], unit};
}

void ExactPass::index_signatures() {
  for (std::uint32_t slot = 0; slot <= tape_.root(0); ++slot)
    if (const auto s = signature(values_[slot])) signatures_[s->hash].emplace_back(slot, *s);
}

// Candidates: affine functions of other nodes that have the same shape.
void ExactPass::add_known(const Column& v, Candidates& out) {
  const auto mine = signature(v);
  if (!mine) return;
  const auto at = signatures_.find(mine->hash);
  if (at == signatures_.end()) return;
  for (const auto& [slot, theirs] : at->second) {
    if (mine->unit % theirs.unit != 0) continue;
    const std::int64_t a = mine->unit / theirs.unit;
    const Expr other = slot < done_.size() ? done_[slot] : Expr::share(tape_.node(slot));
    try_candidate(out, [&, base = theirs.base] { return other * a + (Expr(mine->base) - Expr(base) * a); });
    if (a == -1 && other.node()->is_boolean() && mine->base == 1 - theirs.base)
      try_candidate(out, [&] { return !other; });
  }
}

// Candidates: `e` with variables fixed on which the sample shows no dependence, all of them at once and each alone.
void ExactPass::add_drops(const Expr& e, const Column& v, Candidates& out) {
  const std::uint64_t mask = costs_.mask(e);
  Substitution all;
  for (std::size_t x = 0; x < sample_.columns.size(); ++x) {
    if ((mask >> x & 1) == 0) continue;
    const auto base = v.begin() + static_cast<std::ptrdiff_t>(sample_.base);
    const auto flipped = base + static_cast<std::ptrdiff_t>((x + 1) * sample_.flips);
    if (plain() && !std::equal(base, base + static_cast<std::ptrdiff_t>(sample_.flips), flipped)) continue;
    const std::int64_t value = plain() ? variable(x).min() : sample_.columns[x][sample_.count / 2];
    const Substitution one{{variable(x), Expr(value)}};
    if (plain()) all.push_back(one[0]);
    const std::size_t before = out.size();
    try_candidate(out, [&] { return substitute(e, one); });
    if (plain() || out.size() == before) continue;
    const Tape tape(out.back());
    const auto values = run_columns(tape, columns_for(tape), sample_.count);
    if (values.empty() || values[tape.root(0)] != v) out.pop_back();
  }
  if (all.size() > 1) try_candidate(out, [&] { return substitute(e, all); });
}

// Candidate: the affine function through the low corner and its neighbours, if it fits the whole sample.
void ExactPass::add_affine(const Expr& e, const Column& v, Candidates& out) {
  const std::uint64_t mask = costs_.mask(e);
  std::vector<std::pair<std::size_t, std::int64_t>> slopes;
  for (std::size_t x = 0; x < sample_.columns.size(); ++x) {
    std::int64_t slope = 0;
    if (!try_sub(v[1 + x], v[0], slope)) return;
    if ((mask >> x & 1) != 0 && slope != 0) slopes.emplace_back(x, slope);
  }
  for (std::size_t i = 0; i < v.size(); ++i) {
    std::uint64_t value = wrap(v[0]);
    for (const auto& [x, slope] : slopes)
      value += wrap(slope) * (wrap(sample_.columns[x][i]) - wrap(sample_.columns[x][0]));
    if (value != wrap(v[i])) return;
  }
  try_candidate(out, [&] {
    Expr form = v[0];
    for (const auto& [x, slope] : slopes) form += (variable(x) - variable(x).min()) * slope;
    return form;
  });
}

std::vector<Column> ExactPass::columns_for(const Tape& tape) const {
  std::vector<Column> columns;
  for (const std::uint32_t slot : tape.variables()) {
    const auto same_variable = [&](std::uint32_t s) { return tape_.node(s) == tape.node(slot); };
    const auto all = tape_.variables();
    const auto at = std::find_if(all.begin(), all.end(), same_variable);
    columns.push_back(sample_.columns[static_cast<std::size_t>(at - all.begin())]);
  }
  return columns;
}

// Candidate under an assumption: the affine function through the valid points, by elimination on their differences from
// the first point.
void ExactPass::add_fitted(const Expr& e, const Column& v, Candidates& out) {
  std::vector<std::size_t> used;
  for (std::size_t x = 0; x < sample_.columns.size(); ++x)
    if ((costs_.mask(e) >> x & 1) != 0) used.push_back(x);
  if (used.empty() || used.size() > kFitted) return;
  const std::size_t n = used.size();
  std::vector<std::vector<double>> rows;  // in echelon form; the value is the last column
  std::vector<std::size_t> pivots;
  for (std::size_t i = 1; i < v.size() && rows.size() < n; ++i) {
    std::vector<double> row;
    for (const std::size_t x : used)
      row.push_back(static_cast<double>(sample_.columns[x][i]) - static_cast<double>(sample_.columns[x][0]));
    row.push_back(static_cast<double>(v[i]) - static_cast<double>(v[0]));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double factor = row[pivots[r]];
      for (std::size_t c = 0; c <= n; ++c) row[c] -= factor * rows[r][c];
    }
    const auto pivot = std::find_if(row.begin(), row.end() - 1, [](double x) { return std::abs(x) > 1e-6; });
    if (pivot == row.end() - 1) continue;
    const double scale = *pivot;
    pivots.push_back(static_cast<std::size_t>(pivot - row.begin()));
    for (double& x : row) x /= scale;
    for (auto& above : rows) {
      const double factor = above[pivots.back()];
      for (std::size_t c = 0; c <= n; ++c) above[c] -= factor * row[c];
    }
    rows.push_back(std::move(row));
  }
  // Larger slopes are not exact in doubles; elimination may also have left the range of 64 bits.
  const auto is_exact = [&](const auto& row) { return std::abs(row[n]) <= 0x1p52; };
  if (!std::all_of(rows.begin(), rows.end(), is_exact)) return;
  try_candidate(out, [&] {
    Expr form = v[0];
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::size_t x = used[pivots[r]];
      form += (variable(x) - sample_.columns[x][0]) * static_cast<std::int64_t>(std::nearbyint(rows[r][n]));
    }
    return form;
  });
}

}  // namespace strata
