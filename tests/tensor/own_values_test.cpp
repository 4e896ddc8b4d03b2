// What was made of a tensor stays what it was: an operation that has nothing to do gives a tensor of its own, too.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "strata/tensor/autograd.h"
#include "strata/tensor/functional.h"
#include "strata/tensor/random.h"
#include "strata/tensor/tensor.h"

namespace strata::test {
namespace {

struct Neutral {
  std::string name;
  Tensor x;
  std::function<Tensor(const Tensor&)> f;
};

std::vector<Neutral> neutral_operations() {
  const Tensor number = Tensor::full({}, 1.5), row = Tensor::from({1.5F, 2.5F}), ints = Tensor::from({1, 2}),
               bools = ints.gt(1), square = Tensor::full({2, 2}, 1.5), none = Tensor::zeros({0});
  return {
      {"positive", row, [](const Tensor& x) { return x.positive(); }},
      {"abs of bools", bools, [](const Tensor& x) { return x.abs(); }},
      {"sign of bools", bools, [](const Tensor& x) { return x.sign(); }},
      {"floor of integers", ints, [](const Tensor& x) { return x.floor(); }},
      {"ceil of integers", ints, [](const Tensor& x) { return x.ceil(); }},
      {"round of integers", ints, [](const Tensor& x) { return x.round(); }},
      {"trunc of integers", ints, [](const Tensor& x) { return x.trunc(); }},
      {"nan_to_num of integers", ints, [](const Tensor& x) { return x.nan_to_num(); }},
      {"transpose of a number", number, [](const Tensor& x) { return x.transpose(0, 0); }},
      {"squeeze", row, [](const Tensor& x) { return x.squeeze(0); }},
      {"t of a row", row, [](const Tensor& x) { return x.t(); }},
      {"movedim of a number", number, [](const Tensor& x) { return x.movedim({}, {}); }},
      {"roll by nothing", row, [](const Tensor& x) { return x.roll({0}, {0}); }},
      {"roll along nothing", row, [](const Tensor& x) { return x.roll(Axes{}, Axes{}); }},
      {"rot90 four times", square, [](const Tensor& x) { return x.rot90(4); }},
      {"atleast_1d", row, [](const Tensor& x) { return x.atleast_1d(); }},
      {"atleast_2d", square, [](const Tensor& x) { return x.atleast_2d(); }},
      {"atleast_3d", Tensor::full({1, 1, 2}, 1.5), [](const Tensor& x) { return x.atleast_3d(); }},
      {"cumsum of a number", number, [](const Tensor& x) { return x.cumsum(0); }},
      {"cumprod of a number", number, [](const Tensor& x) { return x.cumprod(0); }},
      {"logcumsumexp of a number", number, [](const Tensor& x) { return x.logcumsumexp(0); }},
      {"cummax of a number", number, [](const Tensor& x) { return x.cummax(0).first; }},
      {"max_with_indices of a number", number, [](const Tensor& x) { return x.max_with_indices(0).first; }},
      {"mode of a number", number, [](const Tensor& x) { return x.mode(0).first; }},
      {"sum_to_size", row, [](const Tensor& x) { return x.sum_to_size({2}); }},
      {"matrix_power 1", square, [](const Tensor& x) { return x.matrix_power(1); }},
      {"multi_dot of one", square, [](const Tensor& x) { return Tensor::multi_dot(std::vector{x}); }},
      {"cartesian_prod of one", row, [](const Tensor& x) { return Tensor::cartesian_prod(std::vector{x}); }},
      {"cat of one", row, [](const Tensor& x) { return Tensor::cat(std::vector{x}, 0); }},
      {"reshape", row, [](const Tensor& x) { return x.reshape({2}); }},
      {"expand", row, [](const Tensor& x) { return x.expand({2}); }},
      {"permute", row, [](const Tensor& x) { return x.permute({0}); }},
      {"flip of no axis", row, [](const Tensor& x) { return x.flip(Axes{}); }},
      {"repeat once", row, [](const Tensor& x) { return x.repeat({1}); }},
      {"cast", row, [](const Tensor& x) { return x.cast(dtypes::float32); }},
      {"detach", row, [](const Tensor& x) { return x.detach(); }},
      {"contiguous", row, [](const Tensor& x) { return x.contiguous(); }},
      {"diff, no times", row, [](const Tensor& x) { return x.diff(0); }},
      {"brackets", row, [](const Tensor& x) { return x[ellipsis]; }},
      {"dropout in evaluation", row, [](const Tensor& x) { return dropout(x, 0.5, false); }},
      {"dropout of nothing", row, [](const Tensor& x) { return dropout(x, 0.0, true); }},
      {"alpha_dropout in evaluation", row, [](const Tensor& x) { return alpha_dropout(x, 0.5, false); }},
      {"put nowhere", row,
       [](const Tensor& x) { return x.put(Tensor::zeros({0}, dtypes::int64), Tensor::zeros({0})); }},
  };
}

std::vector<double> elements_of(const Tensor& x) { return x.cast(dtypes::float64).flatten().to_vector<double>(); }

TEST(OwnValues, WhatWasMadeOfATensorStays) {
  for (const auto& [name, made_of, f] : neutral_operations()) {
    SCOPED_TRACE(name);
    const Tensor x = made_of.contiguous(), y = f(x), early = f(x).realize();
    const std::vector<double> before = elements_of(x);
    x.assign(x.dtype().is_bool() ? x.logical_not() : x + 1);
    EXPECT_EQ(elements_of(y), before);
    EXPECT_EQ(elements_of(early), before);
    EXPECT_NE(elements_of(x), before);
  }
}

TEST(OwnValues, WhatWasMadeOfAParameterIsNone) {
  for (const auto& [name, made_of, f] : neutral_operations()) {
    if (!made_of.dtype().is_float() || name == "detach") continue;
    SCOPED_TRACE(name);
    Tensor x = made_of.contiguous().requires_grad(true);
    const Tensor y = f(x);
    const std::vector<double> before = elements_of(y);
    {
      const NoGrad no_grad;
      set_in_place(x, x * 2, "mul_");
    }
    y.sum().backward();
    EXPECT_EQ(elements_of(y), before);
    EXPECT_EQ(elements_of(*x.grad()), std::vector<double>(before.size(), 1));
    EXPECT_FALSE(y.grad().has_value());
  }
}

}  // namespace
}  // namespace strata::test
