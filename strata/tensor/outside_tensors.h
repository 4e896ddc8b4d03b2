// OutsideTensors: what a function of the user's changes while it is traced on placeholders. For loops (scan.h) and
// functions of functions (transforms.h). Internal to tensor/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "strata/graph/lazy_op.h"
#include "strata/tensor/tensor.h"

namespace strata {

/// The words of the errors: "[scan] the step assigns one of its values to a tensor ... from outside: `assigned`".
struct TraceWords {
  const char* operation;  ///< "scan"
  const char* function;   ///< "the step"
  const char* assigned;   ///< what to do in place of assigning
  const char* gained;     ///< what to do in place of backward()
};

/// Finds the tensors from outside that the user's functions assign values of a trace to, or whose gradients they make
/// values of a trace: nobody could read them behind it. Such tensors get back the values that they had.
class OutsideTensors final : public TensorListener {
 public:
  using State = std::shared_ptr<TensorState>;

  /// @param begin the birth of the first tensor of the trace
  explicit OutsideTensors(std::uint64_t begin) : begin_(begin) {}
  ~OutsideTensors() override { restore(), restore_gradients(); }
  OutsideTensors(const OutsideTensors&) = delete;
  OutsideTensors& operator=(const OutsideTensors&) = delete;

  void read(const State& state) override;
  void assigned(const State& state) override;
  void gained(const std::shared_ptr<GradientSlot>& slot, const std::optional<Tensor>& before) override;
  /// @throws Error (domain) where there is such a tensor
  void check(const TraceWords& words);

 private:
  const Ints* restore();
  const Ints* restore_gradients();

  std::uint64_t begin_;
  std::vector<std::pair<State, LazyOp>> assigned_;
  std::vector<std::pair<std::shared_ptr<GradientSlot>, std::optional<Tensor>>> gained_;  ///< with the gradient before
};

/// The birth of a tensor that is made now.
std::uint64_t birth_of_now(const Device& device);

/// Whether `root` is computed from a placeholder: a value that exists while a loop runs, or that stands for another
/// one.
bool is_of_step(const LazyOp& root);

}  // namespace strata
