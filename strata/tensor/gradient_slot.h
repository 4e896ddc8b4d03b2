// Where the gradient of a tensor goes. Nodes know it weakly: a tensor that nobody holds wants no gradient.
#pragma once

#include <mutex>
#include <optional>

#include "strata/tensor/tensor.h"

namespace strata {

struct GradientSlot {
  std::mutex mutex;
  std::optional<Tensor> gradient;  ///< guarded by mutex
};

}  // namespace strata
