// Gradients against differences, in f64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "strata/tensor/autograd.h"
#include "strata/tensor/tensor.h"

namespace strata::test {

/// Numbers between low and high that are apart from one another and from round values.
inline std::vector<double> spread(std::int64_t count, double low, double high, std::uint64_t seed = 1) {
  std::vector<double> out;
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (std::int64_t k = 0; k < count; ++k) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    out.push_back(low + (high - low) * (static_cast<double>(state >> 11) + 0.5) * 0x1p-53);
  }
  return out;
}

inline Tensor f64(const std::vector<double>& values, const Ints& shape) {
  return Tensor::from(values, shape).to("INTERP");
}

/// That the gradient of `f`'s elements, each weighted otherwise, is the difference quotient, for each element of each input.
inline void expect_gradient(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                            const std::vector<std::vector<double>>& values,
                            const std::vector<Ints>& shapes, double tolerance = 1e-6) {
  std::vector<Tensor> xs;
  for (std::size_t k = 0; k < values.size(); ++k) {
    xs.push_back(f64(values[k], shapes[k]));
    xs.back().requires_grad(true);
  }
  const Tensor y = f(xs);
  const std::vector<double> weights = spread(product(y.shape()).value(), 0.5, 1.5, 7);
  const Tensor w = f64(weights, y.shape());
  const std::vector<Tensor> by = gradients(y, xs, w);
  const auto weighted = [&](std::size_t input, std::size_t element, double step) {
    std::vector<Tensor> moved;
    for (std::size_t k = 0; k < values.size(); ++k) {
      std::vector<double> v = values[k];
      if (k == input) v[element] += step;
      moved.push_back(f64(v, shapes[k]));
    }
    return (f(moved) * w).sum().item();
  };
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::vector<double> found = by[k].to_vector<double>();
    ASSERT_EQ(found.size(), values[k].size());
    for (std::size_t e = 0; e < found.size(); ++e) {
      const double step = 1e-5, slope = (weighted(k, e, step) - weighted(k, e, -step)) / (2 * step);
      EXPECT_NEAR(found[e], slope, tolerance * (1 + std::abs(slope)))
          << "input " << k << ", element " << e;
    }
  }
}

inline void expect_gradient(const std::function<Tensor(const Tensor&)>& f,
                            const std::vector<double>& values, const Ints& shape,
                            double tolerance = 1e-6) {
  expect_gradient([&](const std::vector<Tensor>& xs) { return f(xs[0]); },
                  std::vector<std::vector<double>>{values}, std::vector<Ints>{shape}, tolerance);
}

}  // namespace strata::test
