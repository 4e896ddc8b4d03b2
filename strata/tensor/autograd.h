// Gradients of tensors in functional style: gradients(), grad() and value_and_grad() return gradients and store
// nothing. (Tensor::backward() is the other style: it adds to the grad() of each parameter.) NoGrad turns gradients off
// in a scope.
//
//   auto slope = grad([](const Tensor& x) { return (x * x).sum(); });
//   slope(x)                                       // 2*x
//   const auto [loss, by_w] = value_and_grad([&](const Tensor& w) { return loss_of(w); }, w);
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/tensor/tensor.h"

namespace strata {

/// Scope guard, as torch.no_grad(): while an object lives, the operations of this thread make tensors that block
/// gradients. Scopes nest.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
  static bool is_active();
};

/// What gradients() does for an x on which y does not depend: throw, or return zeros.
enum class Unused : std::uint8_t { refused, zeros };

/// Returns dy/dx for each x of `xs`, in order; each result has the shape of its x. The results can be differentiated
/// again.
/// @param dy the gradient by y, of y's shape; cast to y's dtype. Default: 1, where y has one element
/// @param unused what happens for an x on which y does not depend
/// @throws Error (shape) where y has more than one element and `dy` is absent, or `dy` has another shape than y;
///   (domain) for an x without requires_grad(), as the graph of y does not record such an x, and, with Unused::refused,
///   for an x on which y does not depend
std::vector<Tensor> gradients(const Tensor& y, std::span<const Tensor> xs, const std::optional<Tensor>& dy = {},
                              Unused unused = Unused::refused, At at = At::current());

using TensorFunction = std::function<Tensor(const Tensor&)>;
/// The derivative of `f`, a function with a scalar result: grad(f)(x) == value_and_grad(f, x).second.
TensorFunction grad(TensorFunction f);
/// Returns f(x) and the gradient of f at x: zeros where f(x) does not depend on x. x needs no requires_grad(true).
/// @throws Error (domain) where x is not of floats, (shape) where f(x) has more than one element
std::pair<Tensor, Tensor> value_and_grad(const TensorFunction& f, const Tensor& x);

/// The in-place form of an operation: afterwards `x` and its copies stand for `value`, as after assign(). Gradients are
/// PyTorch's: tensors made of x before the call keep the gradient of the old x; tensors made of x later get the
/// gradient of `value`. Under NoGrad only the elements change: gradients still go to what the old x was made of.
/// @throws Error (domain) naming `operation` where x is a parameter and no NoGrad is active; otherwise as assign()
void set_in_place(const Tensor& x, const Tensor& value, const char* operation);

}  // namespace strata
