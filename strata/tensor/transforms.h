// Functions of functions of tensors: vmap() computes a function for all elements of a batch at once, jvp() derivatives
// along a direction, and checkpoint() lets gradients compute a function again instead of keeping its values.
//
//   auto norm = [](const Tensor& x) { return (x * x).sum().sqrt(); };
//   vmap(norm)(rows);                                   // of each row: one graph, without a loop
//   vmap(grad(norm))(rows);                             // the gradient of each
//   const auto [y, dy] = jvp(norm, x, direction);       // f(x), and its derivative along `direction`
//   checkpoint(layer)(x).sum().backward();              // what is inside of `layer` is computed twice and not kept
//
// All three trace the function once, on placeholders: reading an element of one, e.g. by item(), is refused, and so is
// assigning a value of the function to a tensor from outside.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "strata/tensor/autograd.h"

namespace strata {

using TensorsFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

/// Which axes of the arguments and results of vmap() count the elements of the batch.
struct VmapOptions {
  std::vector<std::optional<std::int64_t>> in_axes = {};   ///< by argument; nothing: the same for all. Empty: 0 of each
  std::vector<std::optional<std::int64_t>> out_axes = {};  ///< by result; nothing: that of one element. Empty: 0
};

/// f for all elements of a batch: result k is the stack of result k of each element. Random numbers that f draws are
/// the same for all elements. Gradients flow through; f may take gradients itself, and call vmap().
/// @throws Error (shape) where the sizes of the batch differ, an axis is out of range, or the numbers of axes and of
///   tensors; (domain) where no argument has an axis, f reads an element, changes a tensor from outside, or runs a
///   while_loop() whose end depends on the element, or where a result without an axis depends on the element
std::vector<Tensor> vmap(const TensorsFunction& f, std::span<const Tensor> xs, const VmapOptions& options = {},
                         At at = At::current());
/// The same of one tensor: vmap(f)(x) has the elements of x along `axis`.
TensorFunction vmap(TensorFunction f, std::int64_t axis = 0);

/// f(xs), and the derivative of each result along `tangents`: the sum over k of the derivative by xs[k] times
/// tangents[k], as forward-mode differentiation gives it. Results that are no floats have zeros. The derivatives can be
/// differentiated again.
/// @throws Error (shape) where a tangent has another shape than its x, (domain) where x is not of floats, or a custom
///   gradient on the way is no linear function of dy
std::pair<std::vector<Tensor>, std::vector<Tensor>> jvp(const TensorsFunction& f, std::span<const Tensor> xs,
                                                        std::span<const Tensor> tangents, At at = At::current());
std::pair<Tensor, Tensor> jvp(const TensorFunction& f, const Tensor& x, const Tensor& tangent, At at = At::current());

/// f(xs), whose gradients keep the arguments alone and compute what is inside of f again, once the gradient by the
/// results is known: less memory for one more evaluation of f. Under DETERMINISTIC the values are those of f, bit by
/// bit, and so are the gradients but for the order in which several contributions to one tensor are added up: those of
/// f come together. Random numbers are drawn once: both evaluations have the same. Results of one dtype are computed
/// again together.
/// @throws Error (domain) where f reads an element or changes a tensor from outside
std::vector<Tensor> checkpoint(const TensorsFunction& f, std::span<const Tensor> xs, At at = At::current());
TensorFunction checkpoint(TensorFunction f);

}  // namespace strata
