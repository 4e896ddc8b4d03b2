#include "strata/schedule/late_division.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "strata/graph/blocks.h"
#include "strata/graph/rebuild.h"

namespace strata {

namespace {

bool is_constant(const LazyOp& n, double value) {
  const LazyNode* at = n.node();
  while (is_movement(at->op) && at->op != Ops::PAD) at = at->src[0].node();
  return at->op == Ops::CONST && std::get<ConstArg>(at->arg).value.as_double() == value &&
         std::none_of(std::get<ConstArg>(at->arg).st.views().begin(), std::get<ConstArg>(at->arg).st.views().end(),
                      [](const View& v) { return v.mask().has_value(); });
}

/// `n`, or what it is where `n` is WHERE(it == other, replacement, it).
const LazyNode* unless(const LazyNode* n, double other, double replacement) {
  if (n->op != Ops::WHERE || !is_constant(n->src[1], replacement)) return n;
  const LazyNode& is_other = *n->src[0].node();
  if (is_other.op != Ops::CMPEQ) return n;
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
    if (is_other.src[k] == n->src[2] && is_constant(is_other.src[1 - k], other)) return n->src[2].node();
  return n;
}

/// The operand of an EXPAND; null for others.
const LazyNode* expanded_from(const LazyOp& n) { return n.op() == Ops::EXPAND ? n.src(0).node() : nullptr; }

/// Weights e / sum(e), in a CONTIGUOUS node.
struct Weights {
  LazyOp e;                ///< exp(x - max(x))
  LazyOp total;            ///< sum(e), or what replaces it, with reduced axes of size 1
  LazyOp sum;              ///< sum(e)
  std::int64_t count = 0;  ///< of the elements of a sum, at most
};

/// Reads the weights of the CONTIGUOUS node `n`; nothing where it has others.
std::optional<Weights> weights_of(const LazyNode& n) {
  const LazyOp& quotient = n.src[0];
  if (quotient.op() != Ops::DIV || !quotient.dtype().is_float()) return std::nullopt;
  const LazyOp& e = quotient.src(0);
  const LazyNode* const total = expanded_from(quotient.src(1));
  if (total == nullptr || e.op() != Ops::EXP || e.src(0).op() != Ops::SUB) return std::nullopt;
  const LazyNode* const sum = unless(total, 0, 1);
  if (sum->op != Ops::SUM || !(sum->src[0] == e)) return std::nullopt;
  const LazyNode* largest = expanded_from(e.src(0).src(1));
  if (largest == nullptr) return std::nullopt;
  largest = unless(largest, -std::numeric_limits<double>::infinity(), 0);
  if (largest->op != Ops::REDUCE_MAX || !(largest->src[0] == e.src(0).src(0))) return std::nullopt;
  if (!(std::get<Axes>(largest->arg) == std::get<Axes>(sum->arg))) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t axis : std::get<Axes>(sum->arg))
    if (!try_mul(count, std::max<std::int64_t>(e.shape()[static_cast<std::size_t>(axis)].vmax(), 1), count))
      return std::nullopt;
  const LazyOp& divisor = quotient.src(1).src(0);
  return Weights{e, divisor, sum == total ? divisor : divisor.src(2), count};
}

class LateDivision {
 public:
  explicit LateDivision(const LazyOp& kernel) : kernel_(kernel) {
    for (const LazyNode* n : postorder(kernel))
      for (const LazyOp& s : n->src) users_[s.node()].push_back(n);
  }

  LazyOp run() {
    for (const LazyNode* n : postorder(kernel_))
      if (n->op == Ops::CONTIGUOUS)
        if (std::optional<Weights> found = weights_of(*n);
            found && are_products(*n, *n, std::get<Axes>(found->sum.arg())))
          weights_.emplace(n, *found);
    if (weights_.empty()) return kernel_;
    detail::Rebuild build([this](const LazyOp& n, const std::vector<LazyOp>& sources) { return made(n, sources); });
    return build(kernel_);
  }

 private:
  /// Whether all uses of `n`, moved or not, are factors of products that are added up along its rows alone: along the
  /// axes `reduced` of `weights`, those of their sum.
  bool are_products(const LazyNode& n, const LazyNode& weights, const Axes& reduced) const {
    const auto users = users_.find(&n);
    if (users == users_.end()) return false;
    return std::all_of(users->second.begin(), users->second.end(), [&](const LazyNode* user) {
      if (is_movement(user->op)) return user->op != Ops::PAD && are_products(*user, weights, reduced);
      if (user->op != Ops::MUL || user->src[0] == user->src[1]) return false;
      const auto sums = users_.find(user);
      return sums != users_.end() && std::all_of(sums->second.begin(), sums->second.end(), [&](const LazyNode* sum) {
               return sum->op == Ops::SUM && is_along_rows(*sum, n, weights, reduced);
             });
    });
  }
  /// Whether the axes of `sum` move `weights`, of which the factor `n` of its operand is a movement, along reduced axes
  /// alone.
  static bool is_along_rows(const LazyNode& sum, const LazyNode& n, const LazyNode& weights, const Axes& reduced) {
    const Axes& axes = std::get<Axes>(sum.arg);
    Mask at;
    for (const Int& size : n.shape) at.push_back({0, size});
    for (const std::int64_t axis : axes) {
      const auto t = static_cast<std::size_t>(axis);
      if (n.shape[t].vmax() < 2) continue;
      const Expr place = Variable(detail::message("place", t), 0, n.shape[t].vmax() - 1);
      at[t] = {place, place + 1};
    }
    try {
      for (const LazyNode* m = &n; m != &weights; m = m->src[0].node()) at = ranges_below(*m, at);
    } catch (const Error&) {
      return false;
    }
    for (std::size_t t = 0; t < at.size(); ++t)
      if (!at[t].begin.is_number() &&
          std::find(reduced.begin(), reduced.end(), static_cast<std::int64_t>(t)) == reduced.end())
        return false;
    return true;
  }

  /// The weights of which `factor` is a movement; null where it is of none.
  const LazyNode* below(const LazyOp& factor) const {
    const LazyNode* n = factor.node();
    while (is_movement(n->op)) n = n->src[0].node();
    return weights_.contains(n) ? n : nullptr;
  }
  /// `x`, of the shape of the weights, moved as `factor` is of them.
  static LazyOp moved_like(const LazyOp& factor, const LazyNode* weights, const LazyOp& x) {
    std::vector<const LazyNode*> moves;
    for (const LazyNode* n = factor.node(); n != weights; n = n->src[0].node()) moves.push_back(n);
    LazyOp out = x;
    for (std::size_t k = moves.size(); k-- > 0;) out = moved_as(*moves[k], out);
    return out;
  }

  LazyOp made(const LazyOp& n, const std::vector<LazyOp>& sources) {
    if (const auto it = weights_.find(n.node()); it != weights_.end()) {
      const Weights& w = it->second;
      const LazyOp& e = sources[0].src(0);  // of the rebuilt quotient
      const auto halvings = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(w.count - 1)));
      const LazyOp scale = LazyOp::constant(Scalar::of(e.dtype(), std::ldexp(1.0, -halvings)), e.shape());
      const LazyOp scaled = (e * scale).contiguous();
      const LazyOp sum = LazyOp::reduce(Ops::SUM, scaled, std::get<Axes>(w.sum.arg()));
      LazyOp divisor = sum;
      if (!(w.sum == w.total)) {
        const LazyOp zero = LazyOp::constant(Scalar::of(e.dtype(), 0.0), sum.shape());
        const LazyOp one = LazyOp::constant(Scalar::of(e.dtype(), 1.0), sum.shape());
        divisor = LazyOp::alu(Ops::WHERE, {LazyOp::alu(Ops::CMPEQ, {sum, zero}), one, sum});
      }
      divisors_.insert_or_assign(n.node(), divisor.contiguous().expand(e.shape()));
      return scaled;
    }
    LazyOp out = n.with_sources(sources);
    if (n.op() != Ops::SUM || n.src(0).op() != Ops::MUL) return out;
    for (const LazyOp& factor : n.src(0).src()) {
      const LazyNode* const weights = below(factor);
      if (weights == nullptr) continue;
      Mask first;
      const Ints& shape = factor.shape();
      const Axes& axes = std::get<Axes>(n.arg());
      for (std::size_t t = 0; t < shape.size(); ++t) {
        const bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(t)) != axes.end();
        first.push_back({0, is_reduced ? Int(1) : shape[t]});
      }
      out = out / moved_like(factor, weights, divisors_.at(weights)).shrink(first);
    }
    return out;
  }

  LazyOp kernel_;
  std::unordered_map<const LazyNode*, std::vector<const LazyNode*>> users_;
  std::unordered_map<const LazyNode*, Weights> weights_;  // by CONTIGUOUS node
  std::unordered_map<const LazyNode*, LazyOp> divisors_;  // as weights_: in the shape of the weights
};

}  // namespace

LazyOp with_late_divisions(const LazyOp& kernel) { return LateDivision(kernel).run(); }

}  // namespace strata
