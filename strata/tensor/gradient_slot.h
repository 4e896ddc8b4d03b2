// Where the gradient of a tensor goes. Nodes know it weakly: a tensor that nobody holds wants no gradient.
#pragma once

#include <mutex>
#include <optional>

#include "strata/tensor/tensor.h"

namespace strata {

struct GradientSlot {
  std::optional<Tensor> gradient;  ///< guarded by gradient_mutex()
};

/// Of all slots: one that a fork can hold. Nothing is computed, made or destroyed under it.
std::mutex& gradient_mutex();

}  // namespace strata
