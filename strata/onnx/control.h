// Control: the state of an operator that runs graphs (If, Loop, Scan, SequenceMap, a call of a function). The run asks
// it for the next graph, runs that graph, and gives it the graph's outputs, so that no operator calls the run.
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

/// An operator that is running graphs.
class Control {
 public:
  Control() = default;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  virtual ~Control() = default;

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
