// capture(): a call of an ONNX model as a captured function (tensor/jit.h), for programs that run elsewhere (export/).
//
//   const auto model = onnx::load("net.onnx");
//   const onnx::Capture net = onnx::capture(*model, model->example_inputs({{"batch", 4}}));
//   export_c(*net.function, "dir/net", {.inputs = net.inputs, .outputs = net.outputs});
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "strata/onnx/model.h"
#include "strata/tensor/jit.h"

namespace strata::onnx {

/// A captured call.
struct Capture {
  std::unique_ptr<Jit> function;     ///< of the inputs that are no constants, in the order of the file
  std::vector<Tensor> arguments;     ///< of the captured call
  std::vector<std::string> inputs;   ///< names: of the arguments
  std::vector<std::string> outputs;  ///< of the results
  /// The inputs whose elements decide a size or a branch, e.g. the shape that a Reshape reads: export_c() refuses them,
  /// as constants they can be exported.
  std::vector<std::string> decisive;
};

/// The model for the shapes of `inputs`, captured; sizes that LoadOptions::bounds names are arguments of the captured
/// function, which serves all sizes within the bounds. The model is not copied: it lives as long as the capture.
/// @param constants inputs with elements that are the same in all calls; their sizes stay
/// @throws Error (domain) for an input or output that is no tensor, by its name, and for an input that is a constant,
///   too; as Model::operator()
Capture capture(const Model& model, const NamedValues& inputs, const NamedValues& constants = {});

}  // namespace strata::onnx
