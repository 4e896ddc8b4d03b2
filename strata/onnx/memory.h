// planned_memory(): the memory that a call of a model needs, known from the memory plan before anything runs.
#pragma once

#include <string>

#include "strata/onnx/model.h"

namespace strata::onnx {

/// Bytes, with symbolic sizes at the largest ones within their bounds.
struct PlannedMemory {
  std::int64_t inputs = 0, outputs = 0;
  /// Results between kernels, whose memory is reused: the most that a call needs. Without memory that a kernel works in
  /// for itself, e.g. that of the steps of a loop.
  std::int64_t intermediates = 0;
  std::int64_t unshared = 0;  ///< the same if no memory were reused
  std::size_t loops = 0;      ///< that are one kernel each
  std::string unknown = {};   ///< why `intermediates` is not known before a run; empty: it is
};

/// Plans a call on inputs as example_inputs() makes them, on the device of the model. `observe` is called as in
/// Model::run(). Where the elements of an input decide on a branch, a loop or a size, kernels run before the graph is
/// complete; the plan is unknown then. @throws Error as Model::run()
PlannedMemory planned_memory(const Model& model, const Model::Observer& observe);

}  // namespace strata::onnx
