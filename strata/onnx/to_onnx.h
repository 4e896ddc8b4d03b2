// to_onnx(): writes what a captured function (tensor/jit.h) computes as an ONNX file, opset 17.
//
//   auto f = jit([&](const Tensor& x) { return model(x); });
//   f(x), f(x);                                       // the second call is captured
//   onnx::to_onnx(f, "model.onnx", {.parameters = model.state_dict()});
//   (*onnx::load("model.onnx"))({{"x", x}})           // the same values
//
// The function runs once more, on tensors without elements, and the operations that it makes become the nodes of the
// file: products of matrices MatMul and Gemm, convolutions Conv, loops Scan and Loop. Tensors from outside are
// initializers. A symbolic size is a symbol of the file, e.g. "n".
//
// What the file cannot say is refused, all of it in one error, with the line of the user: changes to tensors from
// outside, random numbers, reinterpreted bits, logic of integers by bits, scatters of extremes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "strata/nn/module.h"
#include "strata/tensor/jit.h"

namespace strata::onnx {

/// What to_onnx() writes.
struct ToOnnxOptions {
  /// The names of the arguments, tensors first, then integers; of the results. Where empty "x", "y" with a number, and
  /// the names of variables.
  std::vector<std::string> inputs{}, outputs{};
  /// Tensors from outside, by the names that they get in the file; the first name of a tensor counts.
  nn::NamedTensors parameters{};
  /// The name of the graph.
  std::string name = "graph";
};

/// The bytes of a file with the most recently used capture of `function`.
/// @throws Error (domain) for a function that is not captured, that is captured for one value of a size alone, that
///   reads elements of its arguments, and for names that do not fit; (undefined) for operations that the file cannot
///   say, all of them, and in a build without protozero; (budget) for more than 2 GiB
std::string to_onnx_bytes(Jit& function, const ToOnnxOptions& options = {});

/// Writes these bytes to the file, which is replaced at once or not at all.
/// @throws as to_onnx_bytes(), and Error (budget) where the file cannot be written
void to_onnx(Jit& function, const std::filesystem::path& path, const ToOnnxOptions& options = {});

/// The function. @throws Error (domain) for null: it was never called
Jit& called_once(Jit* function);

template <class F>
std::string to_onnx_bytes(const JitFunction<F>& function, const ToOnnxOptions& options = {}) {
  return to_onnx_bytes(called_once(function.jit()), options);
}
template <class F>
void to_onnx(const JitFunction<F>& function, const std::filesystem::path& path, const ToOnnxOptions& options = {}) {
  to_onnx(called_once(function.jit()), path, options);
}

}  // namespace strata::onnx
