#include "strata/tensor/jit_run.h"

#include "strata/engine/buffer_storage.h"
#include "strata/runtime/allocator.h"

namespace strata::jit_watching {

std::uint64_t birth_now() { return TensorAccess::state(Tensor(0))->born; }

Tensor in_own_memory(const Tensor& y) {
  const LazyOp node = y.node().detached();
  Ints longer = {1};
  for (const Int& size : node.shape()) longer.push_back(size);
  const Tensor copy = TensorAccess::of(node.reshape(longer).contiguous(), y);
  copy.realize();
  return TensorAccess::of(leaf_of(copy.buffer(), node.shape()), y);
}

void settle(const Watching& watching, const Recording* recording) {
  for (const auto& [state, before] : watching.assigned_) {
    if (!chain_of(state->node)) TensorAccess::of(state).realize();
    if (recording != nullptr && !recording->wrote(buffer_of((*chain_of(state->node))[0]))) {
      const LazyOp copy = in_own_memory(TensorAccess::of(state)).node();
      state->node = state->slot != nullptr ? parameter_over(copy, state->slot) : copy;
    }
    const LazyOp& node = state->node;
    if (state->slot != nullptr || !node.is_tracked()) continue;
    state->node = is_realized(*node.node()) ? leaf_of(buffer_of(node), node.shape()) : node.detached();
  }
}

namespace {

/// `y`, realized. What was computed from parameters is memory of its own, as the result of a replay is: then the
/// results below it, which only gradients would need, are not kept.
Tensor without_history(const Tensor& y) {
  const State& state = TensorAccess::state(y);
  const bool is_computed = state->slot == nullptr && y.node().is_tracked() && !is_realized(*y.node().node());
  const Tensor out = is_computed ? TensorAccess::of(y.node().detached(), y) : y;
  out.realize();
  return out;
}

}  // namespace

std::vector<Tensor> first_run(const Jit::Function& function, std::span<const Tensor> inputs,
                              std::vector<std::weak_ptr<TensorState>>* read) {
  Watching watching(birth_now());
  const FirstRun listener(inputs, watching);
  std::vector<Tensor> results = function(inputs);
  watching.stop(results);
  for (Tensor& y : results) y = without_history(y);
  for (const auto& [state, before] : watching.read_)
    if (!chain_of(state->node)) TensorAccess::of(state).realize();
  settle(watching);
  // The captured call compiles once more; what this one has freed would lie beside that.
  if (!results.empty()) results[0].device().finish_compiling();
  Allocator::host().release_large();
  if (read != nullptr)
    for (const auto& [state, before] : watching.read_) read->push_back(state);
  return results;
}

}  // namespace strata::jit_watching
