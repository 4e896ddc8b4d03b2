// Movement ops as substitutions of index expressions.

#include "strata/codegen/coordinates.h"

#include <optional>

#include "strata/base/fork.h"

namespace strata {

namespace {

Coordinates padded(Coordinates at, const Padding& padding, const Ints& below) {
  std::vector<Expr> conditions = {at.valid};
  for (std::size_t t = 0; t < at.idxs.size(); ++t) {
    const auto& [before, after] = padding[t];
    at.idxs[t] -= before.expr();
    if (!(before == Int(0))) conditions.push_back(at.idxs[t] >= 0);
    if (!(after == Int(0))) conditions.push_back(at.idxs[t] < below[t].expr());
  }
  at.valid = all_of(conditions);
  if (!at.valid.constant())
    for (Expr& e : at.idxs) e = simplify_under(e, at.valid);
  at.is_zero = true;
  return at;
}

/// The index of a RESHAPE's operand, if the shapes differ in dimensions of size 1 alone; else nothing. An index outside
/// of the shape, of a padded axis, stays one.
std::optional<std::vector<Expr>> without_ones(const Ints& above, const std::vector<Expr>& idxs, const Ints& below) {
  std::vector<Expr> out(below.size(), Expr(0));
  std::size_t a = 0, b = 0;
  while (true) {
    while (a < above.size() && above[a] == Int(1)) ++a;
    while (b < below.size() && below[b] == Int(1)) ++b;
    if (a == above.size() || b == below.size()) break;
    if (!(above[a] == below[b])) return std::nullopt;
    out[b++] = idxs[a++];
  }
  if (a < above.size() || b < below.size()) return std::nullopt;
  return out;
}

}  // namespace

void set_dims(std::vector<Expr>& idxs, std::span<const std::int64_t> positions, std::span<const std::size_t> of,
              std::span<const Expr> at, const KernelAxes& axes) {
  for (std::size_t k = 0; k < of.size(); ++k) {
    const LoopAxis& axis = axes.axes()[of[k]];
    const std::vector<Expr> digits = axis.dims.size() == 1 ? std::vector<Expr>{at[k]} : unravel(at[k], axis.sizes);
    for (std::size_t d = 0; d < digits.size(); ++d)
      idxs[positions.empty() ? axis.dims[d] : static_cast<std::size_t>(positions[axis.dims[d]])] = digits[d];
  }
}

void MergedDims::set_dims(std::vector<Expr>& idxs, std::span<const std::int64_t> positions,
                          std::span<const std::size_t> of, std::span<const Expr> at) {
  strata::set_dims(idxs, positions, of, at, axes_);
  for (std::size_t k = 0; k < of.size(); ++k) {
    const LoopAxis& axis = axes_.axes()[of[k]];
    std::vector<std::size_t> dims = axis.dims;
    for (std::size_t& d : dims)
      if (!positions.empty()) d = static_cast<std::size_t>(positions[d]);
    if (dims.size() == 1 || dims.back() - dims.front() != dims.size() - 1) continue;
    auto run = std::find_if(runs_.begin(), runs_.end(),
                            [&](const Run& r) { return r.first == dims[0] && r.sizes == axis.sizes; });
    if (run == runs_.end()) run = runs_.insert(runs_.end(), {dims[0], axis.sizes, {}});
    const auto digits = std::span<const Expr>(idxs).subspan(dims[0], dims.size());
    const bool is_known = std::any_of(run->coordinates.begin(), run->coordinates.end(),
                                      [&](const Digits& d) { return has_digits(d, digits); });
    if (!is_known) run->coordinates.push_back({{digits.begin(), digits.end()}, at[k]});
  }
}

/// The coordinate whose digits `idxs` has in the dimensions of `run`; null where there is none.
const Expr* MergedDims::coordinate_of(const Run& run, const ShapeTracker& st, const std::vector<Expr>& idxs) const {
  const std::size_t end = run.first + run.sizes.size();
  if (end > st.rank()) return nullptr;
  for (std::size_t t = run.first; t < end; ++t)
    if (!(st.shape()[t] == run.sizes[t - run.first])) return nullptr;
  const auto digits = std::span<const Expr>(idxs).subspan(run.first, run.sizes.size());
  const auto found = std::find_if(run.coordinates.begin(), run.coordinates.end(),
                                  [&](const Digits& d) { return has_digits(d, digits); });
  return found == run.coordinates.end() ? nullptr : &found->coordinate;
}

IndexExprs MergedDims::index(const ShapeTracker& st, const std::vector<Expr>& idxs) {
  if (runs_.empty() || st.views().size() != 1) return st.expr_idxs(idxs);
  Ints shape;
  std::vector<Expr> merged;
  for (std::size_t t = 0; t < st.rank();) {
    const Expr* coordinate = nullptr;
    Int size = st.shape()[t];
    std::size_t end = t + 1;
    for (const Run& run : runs_) {
      if (run.first == t) coordinate = coordinate_of(run, st, idxs);
      if (coordinate == nullptr) continue;
      size = product(run.sizes);
      end = t + run.sizes.size();
      break;
    }
    merged.push_back(coordinate == nullptr ? idxs[t] : *coordinate);
    shape.push_back(size);
    t = end;
  }
  if (shape.size() == st.rank()) return st.expr_idxs(idxs);
  const ShapeTracker whole = st.reshape(shape);
  return whole.views().size() == 1 ? whole.expr_idxs(merged) : st.expr_idxs(idxs);
}

Coordinates moved(const LazyNode& n, Coordinates at, const ShapeTracker& simple) {
  const Ints& below = n.src[0].shape();
  switch (n.op) {
    case Ops::PERMUTE: {
      const Axes& order = std::get<Axes>(n.arg);
      const std::vector<Expr> above = at.idxs;
      for (std::size_t t = 0; t < order.size(); ++t) at.idxs[static_cast<std::size_t>(order[t])] = above[t];
      return at;
    }
    case Ops::EXPAND:
      for (std::size_t t = 0; t < at.idxs.size(); ++t)
        if (below[t] == Int(1)) at.idxs[t] = 0;
      return at;
    case Ops::SHRINK: {
      const Mask& bounds = std::get<Mask>(n.arg);
      for (std::size_t t = 0; t < at.idxs.size(); ++t) at.idxs[t] += bounds[t].begin.expr();
      return at;
    }
    case Ops::PAD: return padded(std::move(at), std::get<Padding>(n.arg), below);
    case Ops::RESHAPE:
      if (std::optional<std::vector<Expr>> same_sizes = without_ones(n.shape, at.idxs, below)) {
        at.idxs = *std::move(same_sizes);
        return at;
      }
      [[fallthrough]];
    default: at.idxs = unravel(simple.expr_idxs(at.idxs).index, below); return at;
  }
}

std::vector<Expr> substituted(std::vector<Expr> of, const Substitution& map) {
  if (!map.empty())
    for (Expr& e : of) e = substitute(e, map);
  return of;
}

bool has_no_terms(const LazyNode& n) {
  const Ints& shape = n.src[0].shape();
  return std::any_of(shape.begin(), shape.end(), [](const Int& size) { return size == Int(0); });
}

const ShapeTracker& no_tracker() {
  static const ShapeTracker& none =
      *new ShapeTracker(ShapeTracker::from_shape({}));  // never destroyed: threads may outlive it
  return none;
}

namespace {
const ForkHook tracker_hook(ForkOrder::tables, [] { no_tracker(); }, [] {});
}  // namespace

}  // namespace strata
