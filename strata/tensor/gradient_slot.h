// GradientSlot: the place where Tensor::backward() accumulates the gradient of one parameter, and from which
// Tensor::grad() reads. The TensorState owns the slot; the graph node has a weak pointer to it, so that backward()
// skips parameters that no handle holds.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "strata/tensor/tensor.h"

namespace strata {

struct GradientSlot {
  std::optional<Tensor> gradient;  ///< guarded by gradient_mutex()
  std::uint64_t born = 0;          ///< of the parameter: TensorState::born
};

/// One mutex guards the gradients of all slots, so that a fork() can hold it. While it is held no tensor is computed,
/// created or destroyed.
std::mutex& gradient_mutex();

}  // namespace strata
