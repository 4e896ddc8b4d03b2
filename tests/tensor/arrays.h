// Arrays that tests compute with by loops, and tensors near them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "strata/tensor/tensor.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {

using Place = std::vector<std::int64_t>;

struct Array {
  Place shape;
  std::vector<double> values;

  Array() = default;
  explicit Array(Place sizes, std::uint64_t seed = 1, double low = -1, double high = 1)
      : shape(std::move(sizes)), values(spread(count(), low, high, seed)) {}
  /// The values of a tensor.
  explicit Array(const Tensor& x) : values(x.cast(dtypes::float64).to_vector<double>()) {
    for (const Int& size : x.shape()) shape.push_back(size.value());
  }
  std::int64_t count() const {
    std::int64_t out = 1;
    for (const std::int64_t n : shape) out *= n;
    return out;
  }
  bool holds(const Place& at) const {
    for (std::size_t k = 0; k < shape.size(); ++k)
      if (at[k] < 0 || at[k] >= shape[k]) return false;
    return true;
  }
  /// `outside` where there is no such element.
  double at(const Place& place, double outside = 0) const {
    if (!holds(place)) return outside;
    std::int64_t flat = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) flat = flat * shape[k] + place[k];
    return values[static_cast<std::size_t>(flat)];
  }
  Ints sizes() const {
    Ints out;
    for (const std::int64_t n : shape) out.push_back(n);
    return out;
  }
  Tensor tensor(DType dtype = dtypes::float64) const { return f64(values, sizes()).cast(dtype); }
};

/// Each index of `shape`, row-major.
inline void for_each_place(const Place& shape, const std::function<void(const Place&)>& f) {
  for (const std::int64_t n : shape)
    if (n == 0) return;
  Place at(shape.size(), 0);
  while (true) {
    f(at);
    std::size_t k = shape.size();
    while (k > 0 && ++at[k - 1] == shape[k - 1]) at[--k] = 0;
    if (k == 0) return;
  }
}

/// That `x` has a shape, and at each index nearly what `f` says; NaN where that is NaN.
inline void expect_near(const Tensor& x, const Place& shape,
                        const std::function<double(const Place&)>& f, double tolerance = 1e-9) {
  const Array found(x);
  ASSERT_EQ(found.shape, shape);
  for_each_place(shape, [&](const Place& at) {
    const double expected = f(at), got = found.at(at);
    const bool is_same = expected == got || (std::isnan(expected) && std::isnan(got));
    EXPECT_TRUE(is_same || std::abs(got - expected) <= tolerance * (1 + std::abs(expected)))
        << got << ", where " << expected << " is expected, at " << ::testing::PrintToString(at);
  });
}

}  // namespace strata::test
