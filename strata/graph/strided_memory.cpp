#include "strata/graph/strided_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "strata/view/memory_ref.h"

namespace strata {

namespace {

/// Whether a dimension of symbolic size may have no elements: addresses of such Views are not bounded.
bool may_be_empty(const Ints& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Int& n) { return !n.is_number() && !known(is_less(0, n)); });
}

/// The realized node below a chain of movement ops (through_copies: and copies), and the chain as one ShapeTracker.
std::optional<std::pair<LazyOp, ShapeTracker>> movement_over_memory(const LazyOp& node, bool through_copies) {
  const auto is_copy = [](Ops op) { return op == Ops::FROM || op == Ops::CONTIGUOUS; };
  std::vector<LazyOp> chain;
  LazyOp at = node;
  for (; !is_realized(*at.node()); at = LazyOp(at.src(0))) {
    if (is_movement(at.op()))
      chain.push_back(at);
    else if (!is_annotation(at.op()) && !(through_copies && is_copy(at.op())))
      return std::nullopt;
  }
  ShapeTracker st = ShapeTracker::from_shape(at.shape());
  if (!st.is_concrete()) return std::nullopt;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    if (may_be_empty(it->shape())) return std::nullopt;
    st = st + movement_of(*it->node());
    st = st.simplify();
  }
  return std::pair(at, st);
}

/// `strides`, with row-major strides for dimensions of size 1, and for all where there are no elements, as other
/// libraries expect.
Index plain_strides(const Index& shape, Index strides) {
  Index whole = detail::contiguous_strides(shape);
  if (product(shape) == 0) return whole;
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (shape[k] == 1) strides[k] = whole[k];
  return strides;
}

}  // namespace

std::optional<StridedMemory> strided_memory(const LazyOp& node, bool through_copies) {
  const auto found = movement_over_memory(node, through_copies);
  if (!found) return std::nullopt;
  const auto& [memory, st] = *found;
  const View& view = st.views()[0];
  if (st.views().size() != 1 || !view.is_concrete() || view.mask()) return std::nullopt;
  const Index shape = *numbers(view.shape());
  return StridedMemory{memory, shape, plain_strides(shape, *numbers(view.strides())), view.offset().value()};
}

}  // namespace strata
