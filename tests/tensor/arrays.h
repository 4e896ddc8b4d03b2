// Tensors of given elements, arrays that tests compute with by loops, and the comparison of one with the other.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "strata/tensor/tensor.h"
#include "tests/base/errors.h"

namespace strata::test {

using Place = std::vector<std::int64_t>;
using Many = std::vector<Tensor>;

// --- tensors of given elements, on INTERP; of one dimension where no shape is given ---

template <class T>
Tensor tensor_of(const std::vector<T>& values, const Ints& shape) {
  return Tensor::from(values, shape).to("INTERP");
}
inline Tensor bools(const std::vector<bool>& values, const Ints& shape) { return tensor_of(values, shape); }
inline Tensor i64(const std::vector<std::int64_t>& values, const Ints& shape) { return tensor_of(values, shape); }
inline Tensor i64(const std::vector<std::int64_t>& values) {
  return tensor_of(values, {static_cast<std::int64_t>(values.size())});
}
inline Tensor f32(const std::vector<float>& values, const Ints& shape) { return tensor_of(values, shape); }
inline Tensor f32(const std::vector<float>& values) {
  return tensor_of(values, {static_cast<std::int64_t>(values.size())});
}
inline Tensor f64(const std::vector<double>& values, const Ints& shape) { return tensor_of(values, shape); }

/// 0, 1, 2, ... in row-major order.
inline Tensor counted(const Ints& shape, DType dtype = dtypes::float64) {
  std::vector<double> values;
  for (std::int64_t k = 0; k < product(shape).value(); ++k) values.push_back(static_cast<double>(k));
  return f64(values, shape).cast(dtype);
}

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

/// Small whole numbers on the default device, so that sums of any order are exact.
inline Tensor whole_numbers(const Ints& shape, unsigned seed, DType dtype = dtypes::float32) {
  std::vector<float> values;
  unsigned state = seed * 2654435761U + 1;
  for (std::int64_t k = product(shape).value(); k > 0; --k) {
    state = state * 1664525U + 1013904223U;
    values.push_back(static_cast<float>(static_cast<int>(state >> 24) % 7 - 3));
  }
  return Tensor::from(std::move(values), shape).cast(dtype).contiguous().realize();
}

// --- the elements of tensors ---

inline std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }
inline std::vector<double> values_of(const Tensor& x) { return x.cast(dtypes::float64).to_vector<double>(); }

struct Array {
  Place shape;
  std::vector<double> values;

  Array() = default;
  explicit Array(Place sizes, std::uint64_t seed = 1, double low = -1, double high = 1)
      : shape(std::move(sizes)), values(spread(count(), low, high, seed)) {}
  /// The values of a tensor.
  explicit Array(const Tensor& x) : values(values_of(x)) {
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
  double at(const Place& place, double outside = 0) const { return holds(place) ? values[flat(place)] : outside; }
  /// The position in `values`. @pre holds(place)
  std::size_t flat(const Place& place) const {
    std::int64_t out = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) out = out * shape[k] + place[k];
    return static_cast<std::size_t>(out);
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

// --- what is expected of them ---

inline void expect_values(const Tensor& x, const Place& shape, const std::vector<double>& values) {
  const Array found(x);
  EXPECT_EQ(found.shape, shape);
  EXPECT_EQ(found.values, values);
}

/// That `x` has a shape, and at each index nearly what `f` says; NaN where that is NaN.
inline void expect_near(const Tensor& x, const Place& shape, const std::function<double(const Place&)>& f,
                        double tolerance = 1e-9) {
  const Array found(x);
  ASSERT_EQ(found.shape, shape);
  ASSERT_EQ(std::ssize(found.values), found.count());
  for_each_place(shape, [&](const Place& at) {
    const double expected = f(at), got = found.at(at);
    const bool is_same = expected == got || (std::isnan(expected) && std::isnan(got));
    EXPECT_TRUE(is_same || std::abs(got - expected) <= tolerance * (1 + std::abs(expected)))
        << got << ", where " << expected << " is expected, at " << ::testing::PrintToString(at);
  });
}

/// That `x` has a shape, and at each index what `f` says.
inline void expect_elements(const Tensor& x, const Place& shape, const std::function<double(const Place&)>& f) {
  expect_near(x, shape, f, 0);
}

/// That `f` throws an Error whose message holds `part`.
inline void expect_error(const std::function<void()>& f, const std::string& part) {
  EXPECT_TRUE(has(error_of(f).what(), part));
}

}  // namespace strata::test
