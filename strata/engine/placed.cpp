#include "strata/engine/placed.h"

#include "strata/engine/buffer_storage.h"

namespace strata {

std::shared_ptr<const PlacedStorage> placed_storage(const LazyOp& n) {
  return std::dynamic_pointer_cast<const PlacedStorage>(n.realized());
}

std::shared_ptr<const NodePlacement> stated_placement(const LazyOp& n) {
  LazyOp at = n;
  for (;; at = LazyOp(at.src(0))) {
    if (const auto memory = placed_storage(at)) return memory->placement();
    if (const auto* stated = std::get_if<PlacementArg>(&at.arg())) return stated->placement;
    if (const auto* own = std::get_if<IdentityArg>(&at.arg()); own != nullptr && at.op() == Ops::EMPTY)
      return own->placement;
    if (!is_annotation(at.op())) return nullptr;
  }
}

LazyOp placed_like(const LazyOp& value, const LazyOp& like) {
  const auto placement = stated_placement(like);
  return placement == nullptr || stated_placement(value) == placement ? value : value.placed(placement);
}

LazyOp placed_leaf_of(const LazyOp& n) {
  const auto memory = std::dynamic_pointer_cast<PlacedStorage>(n.realized());
  STRATA_ASSERT(memory != nullptr, "[placed_leaf_of] the node is not placed");
  const LazyOp leaf = LazyOp::empty(n.dtype(), n.shape(), memory->placement());
  leaf.realize_as(memory);
  return leaf;
}

bool is_same_form(const std::shared_ptr<const PlacedForm>& a, const std::shared_ptr<const PlacedForm>& b) {
  return a == b || (a != nullptr && b != nullptr && a->is_same(*b));
}

Buffer memory_of(const LazyOp& n) {
  const auto placed = n.placement_below() != nullptr ? placed_storage(n) : nullptr;
  return placed != nullptr ? placed->parts() : buffer_of(n);
}

std::shared_ptr<const PlacedForm> placed_form(const LazyOp& n) {
  const auto placed = n.placement_below() != nullptr ? placed_storage(n) : nullptr;
  return placed != nullptr ? placed->form() : nullptr;
}

LazyOp leaf_of(const Buffer& memory, const Ints& shape, const std::shared_ptr<const PlacedForm>& form) {
  if (form == nullptr) return leaf_of(memory, shape);
  const std::shared_ptr<PlacedStorage> storage = form->over(memory);
  const LazyOp leaf = LazyOp::empty(memory.dtype(), shape, storage->placement());
  leaf.realize_as(storage);
  return leaf;
}

const ComputingPlacement* placement_of(std::span<const LazyOp> roots) {
  for (const LazyOp& root : roots)
    if (root.placement_below() != nullptr && !is_realized(*root.node()))
      return dynamic_cast<const ComputingPlacement*>(root.placement_below());
  return nullptr;
}

}  // namespace strata
