// What a call of a captured function (jit.h) does with tensors from outside: which ones it reads and assigns to, and
// whose packed elements its kernels may keep. Internal to tensor/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "strata/engine/recording.h"
#include "strata/tensor/access.h"

namespace strata::jit_watching {

using State = std::shared_ptr<TensorState>;

/// A tensor that is memory seen through movement ops: the chain of nodes from the memory (first) to the tensor's node
/// (last).
using Chain = std::vector<LazyOp>;
/// The chain of `node`; nothing where the node is not memory seen through movement ops.
std::optional<Chain> chain_of(const LazyOp& node);

/// A chain without its memory: the nodes on other memory, which is not there, and their ops (EMPTY of the memory).
struct SeenView {
  Chain chain;
  std::vector<Ops> ops;
};
SeenView view_of(const Chain& chain);
/// True iff both apply the same movement ops to memory of one shape and dtype.
bool is_same_view(const SeenView& a, const SeenView& b);
bool is_same_view(const Chain& a, const SeenView& b);
/// The movement ops of `view` on the memory `leaf`; `state` provides the slot of a parameter.
LazyOp rebuilt(const SeenView& view, const LazyOp& leaf, const State& state);
/// True iff nothing but these tensors refers to their nodes and to their memory: no graph, no other tensor, no view of
/// Buffer's handles, nobody outside of Strata. The memory can then be written without being seen to change.
bool are_sole_owners(std::span<const State> states);

/// Observes a call: which tensors from outside the function reads and which it assigns to.
class Watching final : public TensorListener {
 public:
  explicit Watching(std::uint64_t begin);
  ~Watching() override;
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  /// True iff a call is observed on this thread: what a captured function calls belongs to the function's own capture.
  static bool is_active();

  void read(const State& state) override {
    look_for_clash(state);
    note(state, read_);
  }
  void assigned(const State& state) override {
    look_for_clash(state);
    note(state, assigned_);
  }
  /// `copy` replaces the argument `original` in the call; the function may also use `original` itself, from outside.
  void add_stand_in(const State& original, const State& copy) { pairs_.emplace_back(original, copy); }
  /// Ends the observation: the function has returned `results`.
  void stop(std::span<const Tensor> results) {
    for (const Tensor& y : results) read(TensorAccess::state(y));
    stopped_ = true;
  }
  /// True iff an argument or its stand-in was used after the other one had been assigned to, and so had a value that
  /// the function does not expect.
  bool has_clash() const { return clash_; }

  bool has_assigned(const State& state) const { return contains(assigned_, state); }
  bool has_used(const State& state) const { return contains(read_, state) || has_assigned(state); }

  std::vector<std::pair<State, LazyOp>> read_, assigned_;  // each with the node that it had at first

 private:
  static bool contains(const std::vector<std::pair<State, LazyOp>>& in, const State& state);
  void look_for_clash(const State& state);
  void note(const State& state, std::vector<std::pair<State, LazyOp>>& in) const;

  std::uint64_t begin_;
  std::vector<std::pair<State, State>> pairs_;
  bool clash_ = false, stopped_ = false;
};

/// Whether a memory is likely to change in each replay: that of an input, or of a tensor that has been assigned to.
/// @pre `inputs` and `watching` live as long as the result
Recording::Changes changes_of(std::span<const Tensor> inputs, const Watching& watching);

/// In the first run of a function: kernels pack what they will keep in the capture, so that both use the same kernels.
/// @pre `values`, those of the variables of the arguments, lives as long as the object
class FirstRun final : public RunListener {
 public:
  FirstRun(std::span<const Tensor> inputs, const Watching& watching, const Values& values)
      : changes_(changes_of(inputs, watching)), values_(values) {}
  void ran(RanKernel kernel) override {
    had_values_ = had_values_ && kernel.had(values_);
    if (outer() != nullptr) outer()->ran(std::move(kernel));
  }
  void stepped(RanStep step) override {
    if (outer() != nullptr) outer()->stepped(std::move(step));
  }
  bool keeps(const Buffer& memory) const override { return !changes_(memory); }
  /// Whether the variables of the arguments had the values of the arguments in each kernel.
  bool had_values() const { return had_values_; }

 private:
  Recording::Changes changes_;
  const Values& values_;
  bool had_values_ = true;
};

}  // namespace strata::jit_watching
