#include "strata/schedule/domain.h"

#include <algorithm>
#include <optional>

namespace strata {

namespace {

constexpr std::size_t kMostLooks = 24;

/// Up to kMostLooks nodes, nearest first: `n`, and the sources of all nodes in the result for which `follows` is true.
template <class F>
SmallVec<const LazyNode*, kMostLooks> nearest(const LazyNode& n, const F& follows) {
  SmallVec<const LazyNode*, kMostLooks> out;
  out.push_back(&n);
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (is_realized(*out[k]) || !follows(*out[k])) continue;
    for (const LazyOp& s : needed(*out[k]))
      if (out.size() < kMostLooks && std::find(out.begin(), out.end(), s.node()) == out.end()) out.push_back(s.node());
  }
  return out;
}

/// The coarsest common refinement of the dimensions of `a` and `b`, without sizes of 1; e.g. (6, 4) and (2, 12) give
/// (2, 3, 4). Nothing where there is none.
std::optional<Ints> refined(const Ints& a, const Ints& b) {
  Ints out;
  std::size_t next_a = 0, next_b = 0;
  Int left_a = 1, left_b = 1;
  const auto take = [](const Ints& from, std::size_t& next, Int& left) {
    while (left == Int(1) && next < from.size()) left = from[next++];
  };
  for (;;) {
    take(a, next_a, left_a), take(b, next_b, left_b);
    if (left_a == left_b) {
      if (left_a == Int(1)) return out;
      out.push_back(left_a);
      left_a = left_b = 1;
      continue;
    }
    if (!left_a.is_number() || !left_b.is_number()) return std::nullopt;
    const std::int64_t small = std::min(left_a.value(), left_b.value()),
                       large = std::max(left_a.value(), left_b.value());
    if (small <= 1 || large % small != 0) return std::nullopt;
    out.push_back(small);
    (left_a.value() == small ? left_a : left_b) = 1;
    (left_b.value() == large ? left_b : left_a) = large / small;
  }
}
std::size_t axes_of(const Ints& shape) {
  return static_cast<std::size_t>(
      std::count_if(shape.begin(), shape.end(), [](const Int& size) { return !(size == Int(1)); }));
}

/// True iff `n` uses a reduction that is expanded over it again, as x - max(x) does: its rows should be loops of the
/// kernel.
bool uses_rows(const LazyNode& n) {
  const auto stays = [](const LazyNode& m) { return is_pointwise(m.op); };
  const auto moves = [](const LazyNode& m) { return is_pointwise(m.op) || is_movement(m.op); };
  for (const LazyNode* node : nearest(n, stays)) {
    if (node->op != Ops::EXPAND || is_realized(*node)) continue;
    for (const LazyNode* below : nearest(*node, moves))
      if (is_reduce(below->op) && !is_realized(*below)) return true;
  }
  return false;
}

/// True iff `n` is a reduction, perhaps with other dimensions of 1: in a convolution in groups the loads of an element
/// depend on its group, which is a loop only if groups and their channels are different dimensions.
bool is_reduced(const LazyNode& n) {
  for (const LazyNode* node : nearest(n, [](const LazyNode& m) { return m.op == Ops::RESHAPE; }))
    if (is_reduce(node->op) && !is_realized(*node)) return true;
  return false;
}

}  // namespace

Ints domain_of(const LazyNode& n) {
  const auto stays = [](const LazyNode& m) { return is_pointwise(m.op) || m.op == Ops::CONTIGUOUS; };
  for (const LazyNode* node : nearest(n, stays))
    // What is below several RESHAPEs is below one.
    while (node->op == Ops::RESHAPE && !is_realized(*node)) {
      node = node->src[0].node();
      const std::optional<Ints> fine = refined(n.shape, node->shape);
      if (fine && fine->size() > axes_of(n.shape) && (uses_rows(*node) || is_reduced(*node))) return *fine;
    }
  return n.shape;
}

}  // namespace strata
