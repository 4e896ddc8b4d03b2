#include "strata/onnx/memory.h"

#include <unordered_map>

#include "strata/base/check.h"
#include "strata/engine/planned_run.h"
#include "strata/engine/realize.h"
#include "strata/schedule/memory_plan.h"
#include "strata/tensor/access.h"
#include "strata/tensor/host_reads.h"
#include "strata/tensor/tensor_state.h"

namespace strata::onnx {
namespace {

/// Finds the inputs that kernels read, or the host reads, while a graph is made.
class EarlyReads final : public RunListener {
 public:
  explicit EarlyReads(const NamedValues& inputs) : listener_([this](const Buffer& seen) { note(seen); }) {
    for (const auto& [name, value] : inputs)
      if (value.is_tensor() && value.tensor().numel() != Int(0)) from_.emplace(value.tensor().buffer().data(), name);
    seen_.clear();
  }

  void ran(RanKernel kernel) override {
    for (std::size_t k = kernel.outputs; k < kernel.buffers.size(); ++k) note(kernel.buffers[k]);
  }
  /// The name of the first input that was read; empty: none was.
  const std::string& seen() const { return seen_; }

 private:
  void note(const Buffer& memory) {
    if (const auto at = from_.find(memory.data()); at != from_.end() && seen_.empty()) seen_ = at->second;
  }

  std::unordered_map<const void*, std::string> from_;  // memory of inputs
  std::string seen_;
  HostReadListener listener_;
};

/// While an object lives, a call of a model takes the sizes of its inputs as they are, and computes nothing at its end.
class TracedCall final : public TensorListener {
 public:
  void read(const std::shared_ptr<TensorState>&) override {}
  void assigned(const std::shared_ptr<TensorState>&) override {}
};

/// Tensors in memory, with bound sizes where the model has bounds.
NamedValues inputs_in_memory(const Model& model) {
  NamedValues out;
  for (auto& [name, value] : model.example_inputs()) {
    const Tensor& x = value.tensor();
    x.realize();
    out.emplace_back(name, x);
  }
  return model.bound(out);
}

}  // namespace

PlannedMemory planned_memory(const Model& model, const Model::Observer& observe) {
  PlannedMemory out;
  const NamedValues inputs = inputs_in_memory(model);
  for (const auto& [name, value] : inputs) out.inputs += nbytes_of(value.tensor().node());
  EarlyReads reads(inputs);
  const TracedCall traced;
  std::vector<LazyOp> roots;
  for (const auto& [name, value] : model.run(inputs, observe)) {
    if (!value.is_tensor()) {
      out.unknown = detail::message("the output \"", name, "\" is ", value.type_text());
      continue;
    }
    roots.push_back(value.tensor().node());
    out.outputs += nbytes_of(roots.back());
  }
  if (!reads.seen().empty())
    out.unknown = detail::message("elements of the input \"", reads.seen(), "\" decide on a branch, a loop or a size");
  if (!out.unknown.empty()) return out;
  const PlannedRun plan = planned_run(roots, model.device());
  out.intermediates = plan.peak;
  out.unshared = plan.unshared;
  out.loops = plan.loops;
  return out;
}

}  // namespace strata::onnx
