// Gradients of tensors, as functions.
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

/// While it lives, this thread's operations make tensors that no gradient passes.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
  static bool is_active();
};

/// What gradients() says of an x that y does not depend on.
enum class Unused : std::uint8_t { refused, zeros };

/// dy/dx for each of `xs`, each of its x's shape. What they are made of can be differentiated again.
/// @param dy of y's shape; 1 where none is given
/// @throws Error (shape) where y is no scalar and no dy is given, (domain) for an x that takes no gradient, as y keeps nothing of how
///   it was made of that, and, unless `unused` are zeros, for an x that y does not depend on
std::vector<Tensor> gradients(const Tensor& y, std::span<const Tensor> xs,
                              const std::optional<Tensor>& dy = {}, Unused unused = Unused::refused,
                              At at = At::current());

using TensorFunction = std::function<Tensor(const Tensor&)>;
/// The derivative of a function whose result is a scalar: zeros where it does not depend on its argument, which need not take
/// gradients.
TensorFunction grad(TensorFunction f);
/// f(x) and its gradient by x.
std::pair<Tensor, Tensor> value_and_grad(const TensorFunction& f, const Tensor& x);

/// In place: `x` and its copies stand for `value` from now on, as with assign(), and gradients pass as PyTorch has it: what was
/// made of x before keeps its own, what is made of it later has those of `value`. Under NoGrad elements change and nothing else:
/// gradients go the way they went.
/// @throws Error (domain) naming `operation` where x is a parameter and no NoGrad lives; as assign()
void set_in_place(const Tensor& x, const Tensor& value, const char* operation);

}  // namespace strata
