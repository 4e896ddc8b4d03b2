#include "strata/tensor/jit_watching.h"

#include <algorithm>

#include "strata/engine/buffer_storage.h"

namespace strata::jit_watching {

std::optional<Chain> chain_of(const LazyOp& node) {
  Chain out = {node};
  // A movement that is realized has memory of its own.
  while (is_annotation(out.back().op()) || (is_movement(out.back().op()) && !is_realized(*out.back().node())))
    out.push_back(LazyOp(out.back().src(0)));
  if (!is_realized(*out.back().node())) return std::nullopt;
  std::reverse(out.begin(), out.end());
  return out;
}

namespace {
thread_local int active = 0;  // Watchings of this thread
}  // namespace

Watching::Watching(std::uint64_t begin) : begin_(begin) { ++active; }
Watching::~Watching() { --active; }
bool Watching::is_active() { return active > 0; }

bool Watching::contains(const std::vector<std::pair<State, LazyOp>>& in, const State& state) {
  return std::any_of(in.begin(), in.end(), [&](const auto& known) { return known.first == state; });
}

void Watching::look_for_clash(const State& state) {
  for (const auto& [original, copy] : pairs_)
    if (!stopped_ && (state == original || state == copy))
      clash_ = clash_ || has_assigned(state == original ? copy : original);
}

void Watching::note(const State& state, std::vector<std::pair<State, LazyOp>>& in) const {
  if (stopped_ || state->born >= begin_) return;
  for (const auto& [known, node] : in)
    if (known == state) return;
  in.emplace_back(state, state->node);
}

namespace {

bool is_memory_of(const LazyOp& node, const Buffer& memory) {
  const std::optional<Chain> chain = chain_of(node);
  return chain && buffer_of((*chain)[0]).data() == memory.data();
}

}  // namespace

Recording::Changes changes_of(std::span<const Tensor> inputs, const Watching& watching) {
  return [inputs, &watching](const Buffer& memory) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Tensor& x) { return is_memory_of(TensorAccess::state(x)->node, memory); }) ||
           std::any_of(watching.assigned_.begin(), watching.assigned_.end(),
                       [&](const auto& known) { return is_memory_of(known.second, memory); });
  };
}

}  // namespace strata::jit_watching
