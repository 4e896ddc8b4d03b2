// A gradient of the library captures no Tensor: it would be another when that is set in place.
// expect: backward captures nothing
#include <vector>

#include "strata/tensor/autograd.h"

strata::Tensor doubled(const strata::Tensor& x) {
  return with_gradient(
      x * 2, {&x, 1},
      [x](const strata::Tensor& dy, const strata::Saved&) { return std::vector{dy + x * 0 + dy}; },
      strata::Saved({}));
}
