#include "strata/tensor/jit_watching.h"

#include <algorithm>

#include "strata/engine/buffer_storage.h"
#include "strata/engine/placed.h"

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

SeenView view_of(const Chain& chain) {
  SeenView out{{LazyOp::empty(chain[0].dtype(), chain[0].shape())}, {Ops::EMPTY}};
  for (std::size_t k = 1; k < chain.size(); ++k) {
    out.chain.push_back(chain[k].with_sources({&out.chain.back(), 1}));
    out.ops.push_back(chain[k].op());
  }
  return out;
}

namespace {

bool is_same_chain(const Chain& a, const Chain& b) {
  if (a[0].dtype() != b[0].dtype()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!(a[k].shape() == b[k].shape())) return false;
    if (k > 0 && is_movement(a[k].op()) && !(a[k].arg() == b[k].arg())) return false;
  }
  return true;
}

}  // namespace

bool is_same_view(const SeenView& a, const SeenView& b) { return a.ops == b.ops && is_same_chain(a.chain, b.chain); }

bool is_same_view(const Chain& a, const SeenView& b) {
  if (a.size() != b.ops.size()) return false;
  for (std::size_t k = 1; k < a.size(); ++k)
    if (a[k].op() != b.ops[k]) return false;
  return is_same_chain(a, b.chain);
}

LazyOp rebuilt(const SeenView& view, const LazyOp& leaf, const State& state) {
  LazyOp out = leaf;
  for (std::size_t k = 1; k < view.chain.size(); ++k)
    out = is_movement(view.ops[k]) ? view.chain[k].with_sources({&out, 1})
          : state->slot != nullptr ? out.tracked(state->slot)
                                   : out;
  return out;
}

namespace {

/// Counts the references to nodes from `states` and from each other, down to their memory. False if a node is neither
/// memory nor a view.
bool count_references(std::span<const State> states, std::vector<std::pair<const LazyNode*, long>>& references) {
  std::vector<const LazyNode*> open;
  const auto add = [&](const LazyNode* n) {
    const auto known = std::find_if(references.begin(), references.end(), [&](const auto& r) { return r.first == n; });
    if (known != references.end()) return static_cast<void>(++known->second);
    references.emplace_back(n, 1);
    open.push_back(n);
  };
  for (const State& state : states) {
    add(state->node().node());
    while (!open.empty()) {
      const LazyNode* const n = open.back();
      open.pop_back();
      if (n->op != Ops::EMPTY && !is_movement(n->op) && !is_annotation(n->op)) return false;
      for (const LazyOp& s : n->src) add(s.node());
    }
  }
  return true;
}

}  // namespace

bool are_sole_owners(std::span<const State> states) {
  std::vector<std::pair<const LazyNode*, long>> references;
  if (!count_references(states, references)) return false;
  std::vector<std::pair<const Storage*, long>> storages;  // and the number of nodes that have it
  for (const auto& [n, count] : references) {
    if (n->weak_from_this().use_count() != count) return false;
    if (!is_realized(*n)) continue;
    const Storage* const storage = n->storage.get();
    const auto known =
        std::find_if(storages.begin(), storages.end(), [&](const auto& s) { return s.first == storage; });
    if (known == storages.end())
      storages.emplace_back(storage, n->storage.use_count() - 1);
    else
      --known->second;
  }
  return std::all_of(storages.begin(), storages.end(), [&](const auto& s) {
    if (s.second != 0) return false;
    if (const auto* const placed = dynamic_cast<const PlacedStorage*>(s.first))
      return placed->parts().is_held_by(std::ssize(storages) + 1);  // by parts(), too
    const auto* const of_buffer = dynamic_cast<const BufferStorage*>(s.first);
    return of_buffer != nullptr && !of_buffer->buffer().is_read_only() &&
           of_buffer->buffer().is_held_by(std::ssize(storages));
  });
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
  in.emplace_back(state, state->node());
}

namespace {

bool is_memory_of(const LazyOp& node, const Buffer& memory) {
  const std::optional<Chain> chain = chain_of(node);
  return chain && memory_of((*chain)[0]).data() == memory.data();
}

}  // namespace

Recording::Changes changes_of(std::span<const Tensor> inputs, const Watching& watching) {
  return [inputs, &watching](const Buffer& memory) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Tensor& x) { return is_memory_of(TensorAccess::state(x)->node(), memory); }) ||
           std::any_of(watching.assigned_.begin(), watching.assigned_.end(),
                       [&](const auto& known) { return is_memory_of(known.second, memory); });
  };
}

}  // namespace strata::jit_watching
