// Control: the state of an operator that runs graphs (If, Loop, Scan, SequenceMap, a call of a function). The run asks
// it for the next graph, runs that graph, and gives it the graph's outputs, so that no operator calls the run.
//
// A loop whose steps only compute tensors is one node instead (tensor/scan.h): its operator runs the body once, on
// values that exist only while the loop runs. The body cannot be expressed so where it reads an element of such a value
// on the host, changes the shape of a state, or draws random numbers: the first try throws, changes nothing, and the
// steps run on the host.
#pragma once

#include <memory>
#include <optional>

#include "strata/onnx/call.h"

namespace strata::onnx {

/// A graph to run, and the values of its inputs.
struct Step {
  int graph = -1;
  Results inputs;
};

/// What an operator may ask of the run in order to make one node of a loop.
class StepTracer {
 public:
  StepTracer() = default;
  StepTracer(const StepTracer&) = delete;
  StepTracer& operator=(const StepTracer&) = delete;
  virtual ~StepTracer() = default;

  /// The outputs of a graph on values of one step. `count` steps are counted, of which all run if `is_exact`.
  /// @throws Error where the graph needs an element of such a value; (budget) for more steps than the call may run
  virtual Results trace(const Step& step, std::int64_t count, bool is_exact) = 0;
  /// How many steps of the graph the call may still run.
  virtual std::int64_t steps_left(int graph) const = 0;
  /// Whether the graph reads nothing from the graphs around it that is not known on the host, and small.
  virtual bool is_known(int graph) const = 0;
  /// Whether a step of a loop around this one is traced: nothing can be read then that depends on it.
  virtual bool is_tracing() const = 0;
  /// Whether the condition of the operator's steps was found to depend on data.
  virtual bool& depends_on_data() = 0;
};

/// An operator that is running graphs.
class Control {
 public:
  Control() = default;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  virtual ~Control() = default;

  /// The outputs of the operator as one node; nothing: next(), take() and results() run its graphs.
  /// @throws Error where the graphs cannot be a node. The operator is unchanged then, and may run its graphs
  virtual std::optional<Results> at_once(StepTracer& /*tracer*/) { return std::nullopt; }
  /// The next graph; nothing when the operator is done.
  virtual std::optional<Step> next() = 0;
  /// The outputs of the graph that next() named.
  virtual void take(Results outputs) = 0;
  /// The outputs of the operator. @pre next() returned nothing
  virtual Results results() = 0;
};

/// The call of a function of the model: one run of its body.
std::unique_ptr<Control> call_of_function(int graph, std::span<const Datum> inputs);

}  // namespace strata::onnx
