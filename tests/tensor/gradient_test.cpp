// The gradient rules, each against differences; gradients of gradients; who takes a gradient.

#include "strata/ops/gradient.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "strata/tensor/access.h"
#include "strata/tensor/custom_gradient.h"
#include "strata/tensor/scan.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

using Unary = Tensor (*)(const Tensor&);

struct UnaryCase {
  Ops op;
  Unary f;
  double low, high;
};

const UnaryCase kUnary[] = {
    {Ops::NEG, [](const Tensor& x) { return -x; }, -2, 2},
    {Ops::ABS, [](const Tensor& x) { return x.abs(); }, -2, 2},
    {Ops::RECIP, [](const Tensor& x) { return x.reciprocal(); }, 0.5, 2},
    {Ops::SQRT, [](const Tensor& x) { return x.sqrt(); }, 0.5, 2},
    {Ops::EXP2, [](const Tensor& x) { return x.exp2(); }, -2, 2},
    {Ops::LOG2, [](const Tensor& x) { return x.log2(); }, 0.5, 2},
    {Ops::EXP, [](const Tensor& x) { return x.exp(); }, -2, 2},
    {Ops::LOG, [](const Tensor& x) { return x.log(); }, 0.5, 2},
    {Ops::EXPM1, [](const Tensor& x) { return x.expm1(); }, -2, 2},
    {Ops::LOG1P, [](const Tensor& x) { return x.log1p(); }, -0.5, 2},
    {Ops::SIN, [](const Tensor& x) { return x.sin(); }, -2, 2},
    {Ops::COS, [](const Tensor& x) { return x.cos(); }, -2, 2},
    {Ops::TAN, [](const Tensor& x) { return x.tan(); }, -1, 1},
    {Ops::ATAN, [](const Tensor& x) { return x.atan(); }, -2, 2},
    {Ops::TANH, [](const Tensor& x) { return x.tanh(); }, -2, 2},
    {Ops::ERF, [](const Tensor& x) { return x.erf(); }, -2, 2},
    {Ops::CAST, [](const Tensor& x) { return x.square().cast(dtypes::float64); }, -2, 2},
    {Ops::SUM, [](const Tensor& x) { return x.square().sum(0); }, -2, 2},
    {Ops::PROD, [](const Tensor& x) { return x.prod({0, 1}); }, -2, 2},
    {Ops::REDUCE_MAX, [](const Tensor& x) { return x.max(1); }, -2, 2},
    {Ops::REDUCE_MIN, [](const Tensor& x) { return x.min(0); }, -2, 2},
    {Ops::RESHAPE, [](const Tensor& x) { return x.square().reshape({3, -1}); }, -2, 2},
    {Ops::PERMUTE, [](const Tensor& x) { return x.square().permute({1, 0}); }, -2, 2},
    {Ops::EXPAND, [](const Tensor& x) { return x.unsqueeze(1).expand({2, 4, 3}).square(); }, -2, 2},
    {Ops::SHRINK, [](const Tensor& x) { return x.square().shrink({{0, 2}, {1, 2}}); }, -2, 2},
    {Ops::CONTIGUOUS, [](const Tensor& x) { return x.square().contiguous(); }, -2, 2},
    {Ops::NOOP, [](const Tensor& x) { return TensorAccess::of(LazyOp::alu(Ops::NOOP, {x.square().node()}), x); }, -2,
     2},
    {Ops::REQUIRES_GRAD, [](const Tensor& x) { return TensorAccess::of(x.square().node().tracked({}), x); }, -2, 2},
    {Ops::CUSTOM_GRAD, [](const Tensor& x) { return x.lgamma(); }, 0.5, 2},
    {Ops::PAD, [](const Tensor& x) { return TensorAccess::of(x.square().node().pad({{1, 2}, {0, 1}}), x); }, -2, 2},
    {Ops::STRIDE, [](const Tensor& x) { return TensorAccess::of(x.square().node().stride({-1, 2}), x); }, -2, 2},
    {Ops::CONCAT,
     [](const Tensor& x) {
       return TensorAccess::of(LazyOp::concatenated(std::vector{x.square().node(), x.sum(0).node()}), x);
     },
     -2, 2},
    {Ops::FROM, [](const Tensor& x) { return x.square().to("CLANG").to("INTERP"); }, -2, 2},
    {Ops::GATHER, [](const Tensor& x) { return x.gather(1, i64({2, 0, -1, 2}, {2, 2})); }, -2, 2},
    {Ops::ASSOCIATIVE_SCAN,
     [](const Tensor& x) {
       const Tensor totals = x.cumsum(0) * x.cumprod(1) + x.square().cummax(1).first;
       return totals + x.square().linear_recurrence(x, 1) - x.cummin(0).first;
     },
     0.5, 2},
    {Ops::SCAN,
     [](const Tensor& x) {
       const auto step = [](const Tensor& s, const Tensor& row) { return std::pair(s * row + row.sin(), s * 0.5); };
       const auto [last, ys] = scan(step, x.square().sum(0), x);
       return ys * last;
     },
     -2, 2},
    {Ops::SCATTER,
     [](const Tensor& x) {
       const Tensor sums = x.index_add(0, i64({1, 1}), x.square()), last = x.index_copy(1, i64({2, 0, 2}), x.exp());
       return sums * last + x.index_reduce(1, i64({0, 0, 2}), x.square(), Reduce::amax);
     },
     0.5, 2},
};

TEST(Gradient, OfEachUnaryOpIsTheSlope) {
  for (const UnaryCase& c : kUnary) {
    SCOPED_TRACE(spec_name(c.op));
    expect_gradient(c.f, spread(6, c.low, c.high), {2, 3});
  }
}

struct BinaryCase {
  Ops op;
  std::function<Tensor(const Tensor&, const Tensor&)> f;
};

const BinaryCase kBinary[] = {
    {Ops::ADD, [](const Tensor& a, const Tensor& b) { return a + b; }},
    {Ops::SUB, [](const Tensor& a, const Tensor& b) { return a - b; }},
    {Ops::MUL, [](const Tensor& a, const Tensor& b) { return a * b; }},
    {Ops::DIV, [](const Tensor& a, const Tensor& b) { return a / b; }},
    {Ops::MAX, [](const Tensor& a, const Tensor& b) { return a.maximum(b); }},
    {Ops::MIN, [](const Tensor& a, const Tensor& b) { return a.minimum(b); }},
    {Ops::POW, [](const Tensor& a, const Tensor& b) { return a.pow(b); }},
    {Ops::MOD, [](const Tensor& a, const Tensor& b) { return (a * 7).fmod(b); }},
    {Ops::ATAN2, [](const Tensor& a, const Tensor& b) { return a.atan2(b); }},
    {Ops::WHERE, [](const Tensor& a, const Tensor& b) { return a.lt(1).where(a * a, b * b); }},
    {Ops::MULACC,
     [](const Tensor& a, const Tensor& b) {
       return TensorAccess::of(LazyOp::alu(Ops::MULACC, {a.node(), b.node(), a.node()}), a);
     }},
};

TEST(Gradient, OfEachBinaryOpIsTheSlope) {
  for (const BinaryCase& c : kBinary) {
    SCOPED_TRACE(spec_name(c.op));
    expect_gradient([&](const std::vector<Tensor>& x) { return c.f(x[0], x[1]); },
                    {spread(4, 0.5, 2), spread(4, 0.5, 2, 3)}, {{4}, {4}});
  }
}

TEST(Gradient, EveryRuleIsTested) {
  std::set<Ops> tested;
  for (const UnaryCase& c : kUnary) tested.insert(c.op);
  for (const BinaryCase& c : kBinary) tested.insert(c.op);
  for (const GradientRule& r : gradient_rules()) EXPECT_TRUE(tested.contains(r.op)) << spec_name(r.op);
}

TEST(Gradient, OfAProductWithZeros) {
  const Tensor x = f64({2, 0, 3, 0, 0, 5}, {2, 3});
  EXPECT_EQ(value_and_grad([](const Tensor& t) { return t.prod(1).sum(); }, x).second.to_vector<double>(),
            (std::vector<double>{0, 6, 0, 0, 0, 0}));
}

TEST(Gradient, OfEqualOnesIsShared) {
  const Tensor x = f64({2, 2, 1}, {3});
  const auto by = [&](TensorFunction f) { return value_and_grad(f, x).second.to_vector<double>(); };
  EXPECT_EQ(by([](const Tensor& t) { return t.max(); }), (std::vector<double>{0.5, 0.5, 0}));
  EXPECT_EQ(by([](const Tensor& t) { return t.maximum(1).sum(); }), (std::vector<double>{1, 1, 0.5}));
}

TEST(Gradient, OfHigherOrder) {
  const TensorFunction cube = [](const Tensor& x) { return (x * x * x).sum(); };
  const TensorFunction second = grad([&](const Tensor& x) { return grad(cube)(x).sum(); });
  const TensorFunction third = grad([&](const Tensor& x) { return second(x).sum(); });
  const Tensor x = f64({1, 2}, {2});
  EXPECT_EQ(second(x).to_vector<double>(), (std::vector<double>{6, 12}));
  EXPECT_EQ(third(x).to_vector<double>(), (std::vector<double>{6, 6}));
}

TEST(Gradient, BackwardAddsUp) {
  Tensor w = f64({1, 2}, {2});
  w.requires_grad(true);
  const Tensor copy = w;
  (w * 3).sum().backward();
  (w * w).sum().backward();
  EXPECT_EQ(copy.grad()->to_vector<double>(), (std::vector<double>{5, 7}));
  EXPECT_FALSE(w.grad()->requires_grad());
  w.set_grad(std::nullopt);
  EXPECT_FALSE(copy.grad());
}

TEST(Gradient, StopsWhereItIsTold) {
  Tensor w = f64({1, 2}, {2});
  w.requires_grad(true);
  (w * w.detach()).sum().backward();
  EXPECT_EQ(w.grad()->to_vector<double>(), (std::vector<double>{1, 2}));
  {
    const NoGrad none;
    EXPECT_FALSE((w * 2).requires_grad());
  }
  EXPECT_TRUE((w * 2).requires_grad());
  EXPECT_FALSE(w.gt(1).where(1.0, 2.0).detach().requires_grad());
  EXPECT_THROW(f64({1}, {1}).backward(), Error);
  EXPECT_THROW((w * 2).backward(), Error);
  EXPECT_THROW(Tensor::arange(3).requires_grad(true), Error);
}

TEST(Gradient, TheSameValuesAreNotTheSameTensor) {
  Tensor w = Tensor::full({2}, 3.0, dtypes::float64).to("INTERP");
  w.requires_grad(true);
  (w * Tensor::full({2}, 3.0, dtypes::float64).to("INTERP")).sum().backward();
  EXPECT_EQ(w.grad()->to_vector<double>(), (std::vector<double>{3, 3}));
}

TEST(Gradient, GoesThroughWhatIsSetInPlace) {
  Tensor x = f64({1, 2, 3}, {3});
  x.requires_grad(true);
  Tensor y = x * 2;
  const Tensor before = y * y, copy = y;
  set_in_place(y, y.index_put({0}, x[1] * x[2]), "index_put");
  expect_values(copy, {3}, {6, 4, 6});
  expect_values(gradients(y.sum(), {&x, 1})[0], {3}, {0, 5, 4});
  expect_values(gradients((before + y).sum(), {&x, 1})[0], {3}, {8, 21, 28});
  y.assign(x * 5);  // no gradient passes
  EXPECT_FALSE(y.requires_grad());
  set_in_place(y, x.square(), "copy_");
  expect_values(gradients(y.sum(), {&x, 1})[0], {3}, {2, 4, 6});
  set_in_place(y, f64({7, 8, 9}, {3}), "copy_");
  EXPECT_FALSE(y.requires_grad());

  expect_error([&] { set_in_place(x, y, "add_"); },
               "[add_] a tensor that takes gradients, of shape (3,), cannot be changed in place");
  expect_error([&] { set_in_place(y, x[0], "add_"); }, "[assign] a value of shape () does not match");
  expect_values(y, {3}, {7, 8, 9});
  Tensor tracked = x * 3;
  {
    const NoGrad none;
    set_in_place(x, y, "copy_");
    set_in_place(tracked, tracked * 100, "mul_");
  }
  expect_values(x, {3}, {7, 8, 9});
  expect_values(tracked, {3}, {300, 600, 900});
  tracked.sum().backward();
  EXPECT_TRUE(x.requires_grad() && x.grad());
  expect_values(*x.grad(), {3}, {3, 3, 3});
}

TEST(Gradient, OfAFunctionThatChangesWhatItGets) {
  const auto [value, by] = value_and_grad(
      [](const Tensor& x) {
        const Tensor y = x * x;
        set_in_place(x, x.index_put({0}, 5), "index_put");
        return (y * x).sum();
      },
      f64({2, 3}, {2}));
  EXPECT_EQ(value.item(), 4 * 5 + 27);
  expect_values(by, {2}, {20, 27});
}

TEST(Gradient, OfTheUsersOwn) {
  const Tensor x = f64({1, 2}, {2});
  const TensorFunction straight_through = [](const Tensor& t) {
    const Tensor rounded = t.round();
    return with_gradient(rounded, {&t, 1}, [](const Tensor& dy) { return std::vector{dy * 10}; }).sum();
  };
  const auto [y, by] = value_and_grad(straight_through, x);
  EXPECT_EQ(y.item(), 3);
  EXPECT_EQ(by.to_vector<double>(), (std::vector<double>{10, 10}));
  const TensorFunction wrong = [](const Tensor& t) {
    return with_gradient(t * 2, {&t, 1}, [](const Tensor& dy) { return std::vector{dy.sum()}; }).sum();
  };
  EXPECT_THROW(value_and_grad(wrong, x), Error);
}

// What version 0.1 had, which is deprecated and still means the same.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(Gradient, OfTheUsersOwnOfWhatWasSaved) {
  const Tensor x = f64({1, 2}, {2});
  const TensorFunction tripled_square = [](const Tensor& t) {
    const auto backward = [](const Tensor& dy, const Saved& saved) {
      return std::vector{dy * saved[0] * static_cast<double>(saved.number(0))};
    };
    return with_gradient(t * t, {&t, 1}, backward, Saved({t}, {3})).sum();
  };
  const auto [y, by] = value_and_grad(tripled_square, x);
  EXPECT_EQ(y.item(), 5);
  EXPECT_EQ(by.to_vector<double>(), (std::vector<double>{3, 6}));
}
#pragma GCC diagnostic pop

TEST(Gradient, IsRefusedWhereThereIsNone) {
  Tensor x = f64({1, 2}, {2}), w = f64({3, 4}, {2}), unused = f64({5}, {1});
  const Tensor cube = (x * x * x).sum();
  expect_error([&] { gradients(cube, {&x, 1}); },
               "[gradients] tensor 0 of shape (2,) takes no gradient: call requires_grad(true) before");
  x.requires_grad(true), w.requires_grad(true), unused.requires_grad(true);
  expect_error([&] { gradients(cube, {&x, 1}); }, "[gradients] y does not depend on tensor 0 of shape (2,)");
  const Tensor y = (x * x * x + w).sum();
  const std::array both = {x, unused};
  expect_error([&] { gradients(y, both); }, "[gradients] y does not depend on tensor 1 of shape (1,)");
  const std::vector<Tensor> by = gradients(y, both, {}, Unused::zeros);
  expect_values(by[0], {2}, {3, 12});
  expect_values(by[1], {1}, {0});
  expect_error([&] { gradients(y, {&x, 1}, f64({1}, {1})); }, "a gradient of shape (1,)");
  const Tensor whole = Tensor::arange(3);
  expect_error([&] { gradients(y, {&whole, 1}); }, "takes no gradient");
  expect_values(gradients(x.floor().sum(), {&x, 1})[0], {2}, {0, 0});  // which is what it is
  expect_error([&] { gradients(x.detach().sum(), {&x, 1}); }, "does not depend on tensor 0");
}

TEST(Gradient, ByAFunctionsArgument) {
  const Tensor x = f64({1, 2}, {2});  // which takes none
  expect_values(grad([](const Tensor& t) { return (t * t * t).sum(); })(x), {2}, {3, 12});
  expect_values(value_and_grad([](const Tensor& t) { return (t * t * t).sum(); }, x).second, {2}, {3, 12});
  expect_values(grad([&](const Tensor&) { return x.sum(); })(x), {2}, {0, 0});  // no function of its argument
}

TEST(Gradient, ByATensorThatIsOtherNodesByNow) {
  Tensor x = (f64({1, 2}, {2}) + 1).requires_grad(true);
  const Tensor before = (x * x).sum();
  x.realize();
  expect_values(gradients(before, {&x, 1})[0], {2}, {4, 6});
  const Tensor old = x * 3;
  x.assign(f64({5, 7}, {2}));
  const Tensor y = (old * x).sum() + before;
  expect_values(gradients(y, {&x, 1})[0], {2}, {3 * 5 + 6 + 4, 3 * 7 + 9 + 6});
  y.backward();
  expect_values(*x.grad(), {2}, {25, 36});
}

TEST(Gradient, OfADeepGraph) {
  Tensor w = f64({1}, {1});
  w.requires_grad(true);
  Tensor y = w;
  for (int k = 0; k < 20000; ++k) y = y + w;
  const std::vector<Tensor> by = gradients(y, {&w, 1});
  EXPECT_EQ(by[0].shape(), w.shape());
}

}  // namespace
}  // namespace strata::test
