// Tensors against what a function of the index says.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "strata/tensor/tensor.h"

namespace strata::test {

/// 0, 1, 2, ... in row-major order.
inline Tensor counted(const Ints& shape, DType dtype = dtypes::float64) {
  std::vector<double> values;
  for (std::int64_t k = 0; k < product(shape).value(); ++k)
    values.push_back(static_cast<double>(k));
  return Tensor::from(values, shape).to("INTERP").cast(dtype);
}
inline Tensor whole(const std::vector<std::int64_t>& values, const Ints& shape) {
  return Tensor::from(values, shape).to("INTERP");
}
inline Tensor whole(const std::vector<std::int64_t>& values) {
  return whole(values, {static_cast<std::int64_t>(values.size())});
}
inline Tensor bools(const std::vector<bool>& values, const Ints& shape) {
  return Tensor::from(values, shape).to("INTERP");
}
inline std::vector<double> values_of(const Tensor& x) {
  return x.cast(dtypes::float64).to_vector<double>();
}

inline void expect_values(const Tensor& x, const Ints& shape, const std::vector<double>& values) {
  EXPECT_EQ(render(x.shape()), render(shape));
  EXPECT_EQ(values_of(x), values);
}

using AtIndex = std::function<double(const std::vector<std::int64_t>&)>;
/// That x has a shape, and at each index what `at` says.
inline void expect_elements(const Tensor& x, const Ints& shape, const AtIndex& at) {
  ASSERT_EQ(render(x.shape()), render(shape));
  std::vector<double> expected;
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t left = product(shape).value(); left > 0; --left) {
    expected.push_back(at(index));
    for (std::size_t k = shape.size(); k-- > 0;) {
      if (++index[k] < shape[k].value()) break;
      index[k] = 0;
    }
  }
  EXPECT_EQ(values_of(x), expected);
}

/// That `f` throws an Error whose message holds `part`.
inline void expect_error(const std::function<void()>& f, const std::string& part) {
  try {
    f();
    ADD_FAILURE() << "no error, where one was to say " << part;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

}  // namespace strata::test
