#include "strata/tensor/jit_updates.h"

#include <algorithm>

#include "strata/engine/buffer_storage.h"

namespace strata::jit_updates {

namespace {

constexpr std::int64_t kSmallest = std::int64_t{1} << 16;  // bytes of memory that is written in place

/// Whether the memory may be that of an old value, too.
bool is_replaceable(const Written& w, std::span<const Written> all) {
  return w.place && !w.same_as && w.bytes() >= kSmallest &&
         std::all_of(all.begin(), all.end(), [&](const Written& x) { return &x == &w || x.place != w.place; });
}

/// The update of an argument, whose memory each call brings.
std::optional<RecordedUpdate> update_of_argument(const Written& w, std::span<const Input> inputs) {
  if (w.by.size() != 1 || !w.by[0].input) return std::nullopt;
  const std::size_t k = *w.by[0].input;
  const SeenView& view = w.by[0].view;
  const Ints& shape = inputs[k].shape;
  const bool is_known = std::all_of(shape.begin(), shape.end(), [](const Int& size) { return size.is_number(); });
  const bool is_whole = view.ops.size() == 1 && view.chain[0].shape() == shape;
  const auto is_passed_once = [&](const Input& x) { return &x == &inputs[k] || x.same_as != k; };
  if (!is_known || !is_whole || !inputs[k].place || inputs[k].same_as != k) return std::nullopt;
  if (!is_same_form(inputs[k].form, w.form)) return std::nullopt;
  if (!std::all_of(inputs.begin(), inputs.end(), is_passed_once)) return std::nullopt;
  return RecordedUpdate{*inputs[k].place, *w.place};
}

/// The update of tensors from outside.
std::optional<RecordedUpdate> update_of_outside(const Written& w, std::span<const Read> reads,
                                                std::span<const Input> inputs) {
  std::optional<std::size_t> before;
  for (const Assigned& a : w.by) {
    const auto r = std::find_if(reads.begin(), reads.end(), [&](const Read& x) { return x.state == a.state; });
    if (a.input || r == reads.end() || r->memory == nullptr || !jit_watching::is_same_view(r->view, a.view) ||
        !is_same_form(r->form, w.form))
      return std::nullopt;
    if (before && *before != r->place) return std::nullopt;
    before = r->place;
  }
  const auto is_of_others = [&](const Read& r) { return r.place == before && !w.is_of(r.state); };
  const auto is_it = [&](const Input& x) { return x.place == before; };
  if (!before || std::any_of(reads.begin(), reads.end(), is_of_others)) return std::nullopt;
  if (std::any_of(inputs.begin(), inputs.end(), is_it)) return std::nullopt;
  return RecordedUpdate{*before, *w.place};
}

}  // namespace

bool Written::is_of(const State& state) const {
  return std::any_of(by.begin(), by.end(), [&](const Assigned& a) { return a.state == state; });
}

bool find_again(Read& r) {
  const LazyOp node = r.state->node();
  if (r.view.ops.size() == 1 && node.op() == Ops::EMPTY &&
      is_realized(*node.node())) {  // the common case, without building a chain
    if (!(node.shape() == r.view.chain[0].shape()) || node.dtype() != r.view.chain[0].dtype()) return false;
    return look(r, node);
  }
  std::optional<jit_watching::Chain> now = jit_watching::chain_of(node);
  if (!now) {
    TensorAccess::of(r.state).realize();
    now = jit_watching::chain_of(r.state->node());
  }
  return now && jit_watching::is_same_view(*now, r.view) && look(r, (*now)[0]);
}

bool look(Read& r, const LazyOp& leaf) {
  const std::shared_ptr<Storage> storage = leaf.realized();
  const auto* const of_buffer = dynamic_cast<const BufferStorage*>(storage.get());
  const auto* const placed = of_buffer == nullptr ? dynamic_cast<const PlacedStorage*>(storage.get()) : nullptr;
  if (!is_same_form(placed != nullptr ? placed->form() : nullptr, r.form)) return false;
  const Buffer memory = memory_of(leaf);
  r.at = memory.data();
  r.memory = of_buffer != nullptr || placed != nullptr ? &memory.memory() : nullptr;
  return true;
}

std::vector<RecordedUpdate> find_updates(std::vector<Written>& written, std::span<const Read> reads,
                                         std::span<const Input> inputs) {
  std::vector<RecordedUpdate> out;
  for (Written& w : written) {
    if (!is_replaceable(w, written)) continue;
    if (const auto update = update_of_argument(w, inputs)) {
      out.push_back(*update);
    } else if (const auto outside = update_of_outside(w, reads, inputs)) {
      for (const Assigned& a : w.by) w.owners.push_back(a.state);
      out.push_back(*outside);
    }
  }
  return out;
}

}  // namespace strata::jit_updates
