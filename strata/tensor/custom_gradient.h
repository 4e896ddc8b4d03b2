// Gradients that users say. The operations of the library say theirs by the other with_gradient() (autograd.h), whose functions
// capture nothing.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "strata/tensor/autograd.h"

namespace strata {

/// `value`, whose gradients by `inputs` are what `backward` makes of the gradient by it. It runs when gradients are taken: a Tensor
/// that it captures is what that stands for then, also where it was changed in place in between. What is to stay as it is at
/// the call is captured as `x.detach()` or another tensor that nothing changes.
Tensor with_gradient(const Tensor& value, std::span<const Tensor> inputs,
                     std::function<std::vector<Tensor>(const Tensor& dy)> backward);

}  // namespace strata
