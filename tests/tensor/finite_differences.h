// Gradients against differences, in f64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "strata/tensor/autograd.h"
#include "tests/tensor/arrays.h"

namespace strata::test {

/// That the gradient of `f`'s elements, each weighted otherwise, is the difference quotient, for each element of each
/// input.
inline void expect_gradient(const std::function<Tensor(const Many&)>& f, const std::vector<std::vector<double>>& values,
                            const std::vector<Ints>& shapes, double tolerance = 1e-6) {
  Many xs;
  for (std::size_t k = 0; k < values.size(); ++k) {
    xs.push_back(f64(values[k], shapes[k]));
    xs.back().requires_grad(true);
  }
  const Tensor y = f(xs);
  const std::vector<double> weights = spread(product(y.shape()).value(), 0.5, 1.5, 7);
  const Tensor w = f64(weights, y.shape());
  const Many by = gradients(y, xs, w, Unused::zeros);
  const auto weighted = [&](std::size_t input, std::size_t element, double step) {
    Many moved;
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
      EXPECT_NEAR(found[e], slope, tolerance * (1 + std::abs(slope))) << "input " << k << ", element " << e;
    }
  }
}

inline void expect_gradient(const std::function<Tensor(const Tensor&)>& f, const std::vector<double>& values,
                            const Ints& shape, double tolerance = 1e-6) {
  expect_gradient([&](const Many& xs) { return f(xs[0]); }, std::vector<std::vector<double>>{values},
                  std::vector<Ints>{shape}, tolerance);
}

/// The same, of inputs of these shapes whose elements are between low and high.
inline void expect_gradients(const std::function<Tensor(const Many&)>& f, const std::vector<Ints>& shapes,
                             double tolerance = 1e-6, double low = -1, double high = 1) {
  std::vector<std::vector<double>> values;
  for (const Ints& s : shapes) values.push_back(spread(product(s).value(), low, high, values.size() + 1));
  expect_gradient(f, values, shapes, tolerance);
}

}  // namespace strata::test
