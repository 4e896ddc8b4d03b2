#include "strata/tensor/outside_tensors.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "strata/base/check.h"
#include "strata/base/walk.h"
#include "strata/graph/step_graph.h"
#include "strata/tensor/access.h"
#include "strata/tensor/gradient_slot.h"
#include "strata/tensor/scan.h"

namespace strata {

bool is_of_step(const LazyOp& root) {
  std::unordered_set<const LazyNode*> seen;
  bool out = false;
  detail::walk(
      &root, [&](const LazyOp* n) { return !out && !is_realized(*n->node()) && seen.insert(n->node()).second; },
      needed_source, [&](const LazyOp* n) { out = out || is_placeholder(*n->node()); });
  return out;
}

namespace detail {

bool is_of_step(const Tensor& x) { return strata::is_of_step(x.node()); }

}  // namespace detail

std::uint64_t birth_of_now(const Device& device) {
  return TensorAccess::state(TensorAccess::of(LazyOp::empty(dtypes::uint8, {}), device))->born;
}

void OutsideTensors::read(const State& state) {
  if (outer() != nullptr) outer()->read(state);
}

void OutsideTensors::assigned(const State& state) {
  if (outer() != nullptr) outer()->assigned(state);
  const auto is_it = [&](const auto& known) { return known.first == state; };
  if (state->born < begin_ && std::none_of(assigned_.begin(), assigned_.end(), is_it))
    assigned_.emplace_back(state, state->node());
}

void OutsideTensors::gained(const std::shared_ptr<GradientSlot>& slot, const std::optional<Tensor>& before) {
  TensorListener::gained(slot, before);
  const auto is_it = [&](const auto& known) { return known.first == slot; };
  if (slot->born < begin_ && std::none_of(gained_.begin(), gained_.end(), is_it)) gained_.emplace_back(slot, before);
}

void OutsideTensors::check(const TraceWords& words) {
  const Ints* const shape = restore();
  const Ints* const of_gradient = restore_gradients();
  STRATA_CHECK(shape == nullptr, domain, "[", words.operation, "] ", words.function,
               " assigns one of its values to a tensor of shape ", render(*shape), " from outside: ", words.assigned);
  STRATA_CHECK(of_gradient == nullptr, domain, "[", words.operation, "] ", words.function,
               " makes the gradient of a tensor of shape ", render(*of_gradient),
               " from outside one of its values: ", words.gained);
}

/// The shape of a restored tensor; null: there is none.
const Ints* OutsideTensors::restore() {
  const Ints* out = nullptr;
  for (auto& [state, before] : assigned_) {
    if (!is_of_step(state->node())) continue;
    state->set_node(before);
    out = &before.shape();
  }
  return out;
}

/// The same for gradients: the shape of one that was restored.
const Ints* OutsideTensors::restore_gradients() {
  const Ints* out = nullptr;
  for (auto& [slot, before] : gained_) {
    const std::lock_guard lock(gradient_mutex());
    if (!slot->gradient || !is_of_step(slot->gradient->node())) continue;
    out = &slot->gradient->shape();
    slot->gradient.swap(before);
  }
  return out;
}

}  // namespace strata
