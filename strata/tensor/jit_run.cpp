#include "strata/tensor/jit_run.h"

#include <algorithm>
#include <unordered_map>

#include "strata/engine/buffer_storage.h"
#include "strata/engine/placed.h"
#include "strata/runtime/allocator.h"

namespace strata::jit_watching {

bool is_known(const Ints& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Int& n) { return n.is_number(); });
}

Ints unbound(const Ints& shape, Values& values) {
  Ints out;
  for (const Int& size : shape) {
    if (size.is_number()) {
      out.push_back(size);
      continue;
    }
    auto [plain, bound] = unbind(size.expr());
    values.insert(values.end(), bound.begin(), bound.end());
    out.push_back(plain);
  }
  return out;
}

Ints bound(const Ints& shape, const Values& values) {
  Values own;
  Substitution map;
  unbound(shape, own);
  for (const auto& [variable, value] : own) {
    const auto given =
        std::find_if(values.begin(), values.end(), [&](const auto& v) { return same(v.first, variable); });
    map.emplace_back(variable.bind(value), variable.bind(given == values.end() ? value : given->second));
  }
  Ints out;
  for (const Int& size : shape) out.push_back(size.is_number() ? size : Int(substitute(size.expr(), map)));
  return out;
}

std::uint64_t birth_now() { return TensorAccess::state(Tensor(0))->born; }

namespace {

/// Realizes tensors by one schedule for each device, so that what they share is computed once.
void realize_together(std::span<const Tensor> tensors) {
  std::vector<const Device*> devices;
  for (const Tensor& t : tensors)
    if (std::find(devices.begin(), devices.end(), &t.device()) == devices.end()) devices.push_back(&t.device());
  for (const Device* const device : devices) {
    std::vector<LazyOp> nodes;
    for (const Tensor& t : tensors)
      if (&t.device() == device && !t.is_realized() && !t.node().node()->is_closed) nodes.push_back(t.node());
    if (!nodes.empty()) strata::realize(nodes, *device);
  }
  for (const Tensor& t : tensors) t.realize();
}

}  // namespace

std::vector<Tensor> in_own_memory(std::span<const Tensor> ys) {
  // Equal nodes are one node, and would be one memory: the copies of one have different numbers of dimensions.
  std::vector<Tensor> copies;
  std::unordered_map<const LazyNode*, std::size_t> seen;  // how often
  for (const Tensor& y : ys) {
    const LazyOp node = y.node().detached();
    Ints longer(++seen[node.node()], 1);
    for (const Int& size : y.shape()) longer.push_back(size);
    copies.push_back(TensorAccess::of(node.reshape(longer).contiguous(), y));
  }
  realize_together(copies);
  std::vector<Tensor> out;
  for (std::size_t k = 0; k < ys.size(); ++k) {
    LazyOp copy = copies[k].node();
    std::shared_ptr<const PlacedForm> form = placed_form(copy);
    if (form != nullptr) form = form->without_leading(copy.shape().size() - ys[k].shape().size());
    if (form == nullptr && placed_form(copy) != nullptr) {  // in parts along an axis that `ys[k]` does not have
      copy = copy.reshape(ys[k].shape()).contiguous();
      strata::realize(copy, ys[k].device());
      form = placed_form(copy);
    }
    out.push_back(TensorAccess::of(leaf_of(memory_of(copy), ys[k].shape(), form), ys[k]));
  }
  return out;
}

void check_clashes(const Watching& watching) {
  if (!watching.has_clash()) return;
  for (const auto& [state, before] : watching.assigned_) state->set_node(before);
  throw Error(ErrorKind::domain,
              "[jit] a tensor is an argument, and the function also uses the tensor from outside "
              "of the arguments after a change: use the tensor in one of the two ways alone");
}

void settle(const Watching& watching, const Recording* recording) {
  for (const auto& [state, before] : watching.assigned_) {
    if (!chain_of(state->node())) TensorAccess::of(state).realize();
    if (recording != nullptr && !recording->wrote(memory_of((*chain_of(state->node()))[0]))) {
      const Tensor assigned = TensorAccess::of(state);
      const LazyOp copy = in_own_memory({&assigned, 1})[0].node();
      state->set_node(state->slot != nullptr ? parameter_over(copy, state->slot) : copy);
    }
    const LazyOp node = state->node();
    if (state->slot != nullptr || !node.is_tracked()) continue;
    state->set_node(is_realized(*node.node()) ? leaf_of(memory_of(node), node.shape(), placed_form(node))
                                              : node.detached());
  }
}

namespace {

/// `y`. What was computed from parameters is memory of its own, as the result of a replay is: then the results below
/// it, which only gradients would need, are not kept.
Tensor without_history(const Tensor& y) {
  const State& state = TensorAccess::state(y);
  const bool is_computed = state->slot == nullptr && y.node().is_tracked() && !is_realized(*y.node().node());
  return is_computed ? TensorAccess::of(y.node().detached(), y) : y;
}

}  // namespace

std::vector<Tensor> first_run(const Jit::Function& function, std::span<const Tensor> inputs, SeenRun& seen) {
  Watching watching(birth_now());
  const FirstRun listener(inputs, watching, seen.values);
  std::vector<Tensor> results = function(inputs);
  watching.stop(results);
  for (Tensor& y : results) y = without_history(y);
  realize_together(results);
  for (const auto& [state, before] : watching.read_)
    if (!chain_of(state->node())) TensorAccess::of(state).realize();
  settle(watching);
  // The captured call compiles once more; what this one has freed would lie beside that.
  if (!results.empty()) results[0].device().finish_compiling();
  Allocator::host().release_large();
  for (const auto& [state, before] : watching.read_) seen.read.push_back(state);
  seen.had_values = listener.had_values();
  return results;
}

}  // namespace strata::jit_watching
