// Initial values of parameters.

#include <cmath>

#include "strata/graph/origin.h"
#include "strata/nn/layers.h"
#include "strata/tensor/random.h"

namespace strata::nn {

std::pair<double, double> fans(const Ints& shape) {
  STRATA_CHECK(shape.size() >= 2, shape, "[fans] a weight of shape ", render(shape), " has no inputs and outputs");
  double places = 1;
  for (std::size_t k = 2; k < shape.size(); ++k) places *= static_cast<double>(shape[k].value());
  return {static_cast<double>(shape[1].value()) * places, static_cast<double>(shape[0].value()) * places};
}

Tensor uniform(const Ints& shape, double low, double high, DType dtype, At at) {
  const OriginScope scope("uniform", at);
  STRATA_CHECK(low <= high, domain, "[uniform] from ", low, " to ", high);
  if (NoInitialValues::is_active()) return Tensor::empty(shape, dtype);
  return rand(shape, dtype) * (high - low) + low;
}
Tensor normal(const Ints& shape, double mean, double deviation, DType dtype, At at) {
  const OriginScope scope("normal", at);
  STRATA_CHECK(deviation >= 0, domain, "[normal] the deviation is ", deviation, "; 0 or more is expected");
  if (NoInitialValues::is_active()) return Tensor::empty(shape, dtype);
  return randn(shape, dtype) * deviation + mean;
}
Tensor kaiming_uniform(const Ints& shape, double slope, DType dtype, At at) {
  const OriginScope scope("kaiming_uniform", at);
  const double most = std::sqrt(6 / ((1 + slope * slope) * fans(shape).first));
  return uniform(shape, -most, most, dtype);
}
Tensor kaiming_normal(const Ints& shape, double slope, DType dtype, At at) {
  const OriginScope scope("kaiming_normal", at);
  return normal(shape, 0, std::sqrt(2 / ((1 + slope * slope) * fans(shape).first)), dtype);
}
Tensor xavier_uniform(const Ints& shape, double gain, DType dtype, At at) {
  const OriginScope scope("xavier_uniform", at);
  const auto [in, out] = fans(shape);
  const double most = gain * std::sqrt(6 / (in + out));
  return uniform(shape, -most, most, dtype);
}
Tensor xavier_normal(const Ints& shape, double gain, DType dtype, At at) {
  const OriginScope scope("xavier_normal", at);
  const auto [in, out] = fans(shape);
  return normal(shape, 0, gain * std::sqrt(2 / (in + out)), dtype);
}

}  // namespace strata::nn
