// Tensor(), and tensors that were moved from: empty, and as good as any other.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "strata/base/check.h"
#include "strata/tensor/tensor.h"
#include "tests/tensor/arrays.h"

namespace strata::test {
namespace {

void expect_empty(const Tensor& x) {
  EXPECT_EQ(x.shape(), Ints({0}));
  EXPECT_EQ(x.dtype(), dtypes::float32);
  EXPECT_EQ(&x.device(), &Device::default_device());
  EXPECT_EQ(floats(x), std::vector<float>{});
}

/// Moves out of `x`, out of the sight of those who warn of what is used afterwards: it is promised here.
Tensor moved(Tensor& x) { return std::move(x); }

TEST(EmptyTensor, IsOfShapeZero) {
  expect_empty(Tensor());
  EXPECT_EQ(Tensor().sum().item(), 0);
  EXPECT_EQ(std::vector<Tensor>(3).at(2).ndim(), 1);
}

TEST(EmptyTensor, HasGradientsOfPicks) {
  Tensor x = Tensor::zeros({3, 0}).realize();
  x.requires_grad(true);
  x.index_select(0, Tensor::zeros({5}, dtypes::int64)).sum().backward();
  EXPECT_EQ(x.grad()->shape(), Ints({3, 0}));
}

TEST(EmptyTensor, IsWhatWasMovedFrom) {
  Tensor x = f32({1, 2});
  const Tensor y = moved(x);
  EXPECT_EQ(floats(y), (std::vector<float>{1, 2}));
  expect_empty(x);
  Tensor z = f32({3});
  x = moved(z);
  EXPECT_EQ(floats(x), std::vector<float>{3});
  expect_empty(z);
  z = f32({4});
  EXPECT_EQ(floats(z), std::vector<float>{4});
}

TEST(EmptyTensor, CopiesOfOneAreTheSame) {
  Tensor made;
  Tensor left = f32({1});
  const Tensor gone = moved(left);
  for (Tensor* x : {&made, &left}) {
    const Tensor copy = *x;
    x->requires_grad(true);
    EXPECT_TRUE(copy.requires_grad());
    (*x * 2).sum().backward();
    EXPECT_EQ(copy.grad()->shape(), Ints({0}));
  }
  EXPECT_FALSE(Tensor().requires_grad());
}

/// A tensor that was moved from and not looked at since.
Tensor* moved_from() {
  static std::unique_ptr<Tensor> out;
  out = std::make_unique<Tensor>(f32({1, 2}));
  const Tensor taken = moved(*out);
  return out.get();
}

/// An error is an answer; what is not are other exceptions, and the end of the process.
template <class F>
void answers(const char* name, const F& f) {
  try {
    f(*moved_from());
  } catch (const Error& error) {
    EXPECT_FALSE(std::string(error.what()).empty()) << name;
  } catch (const std::exception& other) {
    ADD_FAILURE() << name << ": " << other.what();
  }
}

TEST(EmptyTensor, EveryElementwiseMethodOfOneMovedFromAnswers) {
#define STRATA_OF_ONE(name, ...) \
  answers(#name, [](const Tensor& x) { EXPECT_EQ(x.name().shape(), Ints({0})) << #name; });
#define STRATA_OF_TWO(name, ...) answers(#name, [](const Tensor& x) { x.name(x); });
#define STRATA_UNARY(name, dtype, in_place, names, ...) STRATA_OF_ONE(name) STRATA_EACH_NAME(STRATA_OF_ONE, names, 0)
#define STRATA_BINARY(name, dtype, in_place, names, ...) STRATA_OF_TWO(name) STRATA_EACH_NAME(STRATA_OF_TWO, names, 0)
#define STRATA_OPERATOR(symbol, name) answers(#name, [](const Tensor& x) { static_cast<void>(x symbol x); });
#include "strata/ops/operations.def"
#undef STRATA_OF_ONE
#undef STRATA_OF_TWO
}

TEST(EmptyTensor, WhatReadsOneMovedFromAnswers) {
  answers("node", [](const Tensor& x) { EXPECT_EQ(x.node().shape(), Ints({0})); });
  answers("shape", [](const Tensor& x) { EXPECT_EQ(x.shape(), Ints({0})); });
  answers("device", [](const Tensor& x) { EXPECT_FALSE(x.device().name().empty()); });
  answers("repr", [](const Tensor& x) { EXPECT_NE(x.repr().find("shape=(0,)"), std::string::npos); });
  answers("realize", [](const Tensor& x) { x.realize(); });
  answers("is_realized", [](const Tensor& x) { x.is_realized(); });
  answers("buffer", [](const Tensor& x) { EXPECT_EQ(x.buffer().size(), 0); });
  answers("span", [](const Tensor& x) { EXPECT_TRUE(x.span<float>().empty()); });
  answers("item", [](const Tensor& x) { EXPECT_THROW(x.item(), Error); });
  answers("explain", [](const Tensor& x) { static_cast<void>(x.explain()); });
  answers("to", [](const Tensor& x) { EXPECT_EQ(x.to("INTERP").shape(), Ints({0})); });
  answers("contiguous", [](const Tensor& x) { x.contiguous(); });
  answers("assign", [](const Tensor& x) { x.assign(Tensor()); });
  answers("assign from", [](const Tensor& x) { EXPECT_THROW(f32({1}).assign(x), Error); });
  answers("requires_grad", [](Tensor& x) { EXPECT_TRUE(x.requires_grad(true).requires_grad()); });
  answers("grad", [](const Tensor& x) { EXPECT_FALSE(x.grad().has_value()); });
  answers("set_grad", [](const Tensor& x) { EXPECT_THROW(x.set_grad(Tensor()), Error); });
  answers("backward", [](const Tensor& x) { EXPECT_THROW(x.backward(), Error); });
  answers("detach", [](const Tensor& x) { x.detach(); });
  answers("copy", [](const Tensor& x) { EXPECT_EQ(Tensor(x).shape(), Ints({0})); });
  answers("move", [](Tensor& x) { EXPECT_EQ(Tensor(std::move(x)).shape(), Ints({0})); });
}

TEST(EmptyTensor, OtherMethodsOfOneMovedFromAnswer) {
  const std::vector<std::pair<const char*, std::function<void(const Tensor&)>>> methods = {
      {"full_like", [](const Tensor& x) { x.full_like(1); }},
      {"sum", [](const Tensor& x) { EXPECT_EQ(x.sum().item(), 0); }},
      {"max", [](const Tensor& x) { x.max(); }},
      {"mean", [](const Tensor& x) { x.mean(); }},
      {"argmax", [](const Tensor& x) { x.argmax(); }},
      {"cumsum", [](const Tensor& x) { x.cumsum(0); }},
      {"softmax", [](const Tensor& x) { x.softmax(0); }},
      {"sort", [](const Tensor& x) { x.sort(); }},
      {"reshape", [](const Tensor& x) { x.reshape({0, 3}); }},
      {"permute", [](const Tensor& x) { x.permute({0}); }},
      {"expand", [](const Tensor& x) { x.expand({2, 0}); }},
      {"flip", [](const Tensor& x) { x.flip({0}); }},
      {"matmul", [](const Tensor& x) { x.matmul(x); }},
      {"index", [](const Tensor& x) { x[0]; }},
      {"gather", [](const Tensor& x) { x.gather(0, x); }},
      {"where", [](const Tensor& x) { x.where(x, x); }},
      {"equal", [](const Tensor& x) { x.equal(x); }},
      {"nonzero", [](const Tensor& x) { x.nonzero(); }},
      {"unique", [](const Tensor& x) { x.unique(); }},
      {"cast", [](const Tensor& x) { x.cast(dtypes::int32); }},
      {"bitcast", [](const Tensor& x) { x.bitcast(dtypes::int32); }},
  };
  for (const auto& [name, method] : methods) answers(name, method);
}

}  // namespace
}  // namespace strata::test
