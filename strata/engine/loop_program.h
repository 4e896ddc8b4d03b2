// Loops: compile_loop() turns a SCAN into a kernel whose program runs the kernels of a step, again and again, on memory
// that moves: elements of sequences, rows of outputs, and two buffers for each state. So a loop runs, is recorded and
// is replayed as any kernel. loop_compile.cpp makes the plan of a loop, loop_program.cpp runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/runtime/device.h"

namespace strata {

/// Bytes in a buffer of the loop, which move from step to step.
struct LoopPlace {
  std::size_t slot = 0;
  Int offset = 0, stride = 0;  ///< bytes
};

/// A state while the loop runs. A step reads the state where the step before wrote it, the first step in the source.
struct LoopState {
  std::size_t read = 0, write = 0;  ///< cells; equal for a state that no step changes
  LoopPlace initial;                ///< the source
  std::vector<LoopPlace> buffers;   ///< two that take turns; none where the state is written to rows of an output
  std::optional<LoopPlace>
      last;  ///< where the state behind the last step is stored; the first buffer, if there are any
  Int bytes = 0;
};

/// Elements that each step checks, under the flags CHECK_INDEX and NAN_CHECK.
struct StepCheck {
  LazyOp of;
  std::size_t cell = 0;
  std::optional<IndexRange> range;  ///< of integers; nothing: that no element is NaN
  Origin origin;
};

/// A kernel of a step. Its arguments are cells.
struct StepLaunch {
  std::shared_ptr<const CompiledKernel> kernel;
  std::vector<std::size_t> cells;    ///< by slot, temporaries among them
  std::vector<int> values;           ///< by variable: the variable of the loop; -1 for a bound of the range
  std::vector<char> keeps;           ///< by kernel that runs first: whether its results serve all steps
  std::vector<StepCheck> numbers{};  ///< of its results: that they are numbers
};
/// Elements that a step copies from cell to cell, behind its kernels.
struct StepCopy {
  std::size_t from = 0, to = 0;
  Int bytes = 0;
};

/// A loop, ready to run. Cells are addresses that each step sets: those of `places`, then those of the states.
struct LoopPlan {
  std::vector<LoopPlace> places;
  std::vector<LoopState> states;
  std::size_t cells = 0;
  std::vector<StepLaunch> launches;
  std::vector<StepCopy> copies;
  std::vector<StepCheck> checks;  ///< behind the kernels of each step
  Int count = 0;
  bool is_reversed = false;
  /// Places that a run fills with a value before the first step: the number of elements, and the value.
  struct Fill {
    LoopPlace place;
    Int count = 0;
    Scalar value;
  };
  std::vector<Fill> fills;
  /// Memory of constants that the whole program shares: its slots come behind those of the kernel.
  std::vector<Buffer> shared;
  /// The number of steps; with `goes_on`, whether there is a first step.
  std::optional<LoopPlace> last_source;
  std::optional<std::size_t> goes_on;  ///< a cell: whether another step follows
  std::optional<LoopPlace> executed;   ///< where the number of steps is stored
  std::vector<Variable> variables;
};

/// The program of a loop.
class LoopProgram final : public Program {
 public:
  LoopProgram(std::string name, LoopPlan plan) : name_(std::move(name)), plan_(std::move(plan)) {}
  const std::string& name() const override { return name_; }
  bool has_chunks() const override { return false; }
  /// @throws Error (domain) for a number of steps beyond plan.count; what an InterruptCheck of this thread throws
  void run(std::span<void* const> buffers, std::span<const std::int64_t> values) override;
  const LoopPlan& plan() const { return plan_; }

 private:
  std::string name_;
  LoopPlan plan_;
};

/// A compiled loop, and the values of the bound variables of its step.
struct CompiledLoop {
  std::shared_ptr<const CompiledKernel> kernel;
  Values values;
};

/// Compiles the loop whose results are `nodes`, SCAN nodes with the same step and sources. The slots of the kernel are
/// the nodes, then the memory of the sources (loop_source(); none for constants), then one temporary. Results that no
/// node has are not stored.
/// @throws Error as schedule() and compile(), and (domain) where a variable has two values
CompiledLoop compile_loop(std::span<const LazyOp> nodes, const Device& device);

/// The schedule of a step of the loop, a line for each kernel, as of explain().
std::string explain_step(std::span<const LazyOp> nodes, const Device& device);

}  // namespace strata
