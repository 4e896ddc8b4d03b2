// Tensors: making, running, what handles mean, elements.

#include "strata/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "strata/runtime/allocator.h"
#include "strata/schedule/schedule.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/functional.h"
#include "tests/dtype/special_values.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

std::vector<std::int64_t> ints(const Tensor& t) { return t.to_vector<std::int64_t>(); }

TEST(Tensor, IsLazyAndRemembers) {
  const Tensor x = f32({1, 2, 3});
  const auto y = x * 2 + 1;  // a value, not an expression of temporaries
  EXPECT_FALSE(y.is_realized());
  EXPECT_EQ(floats(y), (std::vector<float>{3, 5, 7}));
  EXPECT_TRUE(y.is_realized());
}

TEST(Tensor, OfNumbersAndElements) {
  EXPECT_EQ(Tensor(2.5).dtype(), dtypes::float32);
  EXPECT_EQ(Tensor(2).dtype(), dtypes::int64);
  EXPECT_EQ(Tensor(true).dtype(), dtypes::boolean);
  EXPECT_EQ(Tensor(2.5).item(), 2.5);
  EXPECT_EQ(Tensor::from({1, 2, 3}).dtype(), dtypes::int32);
  EXPECT_EQ(ints(Tensor::arange(2, 9, 3)), (std::vector<std::int64_t>{2, 5, 8}));
  EXPECT_EQ(ints(Tensor::arange(3, 0, -1)), (std::vector<std::int64_t>{3, 2, 1}));
  EXPECT_EQ(ints(Tensor::arange(0)), std::vector<std::int64_t>{});
  EXPECT_EQ(floats(Tensor::arange(0.0, 1.0, 0.25)), (std::vector<float>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(floats(Tensor::linspace(0, 1, 3)), (std::vector<float>{0, 0.5, 1}));
  EXPECT_EQ(Tensor::linspace(0, 1, 50, dtypes::float64)[49].item(), 1.0);
  EXPECT_EQ(Tensor::linspace(0, 1, 50, dtypes::int64)[49].item<std::int64_t>(), 1);
  EXPECT_EQ(Tensor::linspace(3, 0.1, 4, dtypes::float64)[3].item(), 0.1);
  EXPECT_EQ(Tensor::logspace(0, 3, 7, 10, dtypes::int64)[6].item<std::int64_t>(), 1000);
  EXPECT_EQ(Tensor::logspace(0, 2, 3, 1.7, dtypes::float64)[2].item(), std::pow(1.7, 2));
  constexpr std::int64_t kLarge = std::int64_t{1} << 62;
  EXPECT_EQ(ints(Tensor::arange(kLarge, kLarge + 2)), (std::vector<std::int64_t>{kLarge, kLarge + 1}));
  EXPECT_EQ(floats(Tensor::eye(2, 3)), (std::vector<float>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(Tensor::from(std::vector<bool>{true, false}, {2}).to_vector<bool>(), (std::vector<bool>{true, false}));
}

TEST(Tensor, DTypesPromoteAsInPyTorch) {
  const Tensor i32 = Tensor::from({1, 2}), f16 = Tensor::ones({2}, dtypes::float16),
               b = Tensor::ones({2}, dtypes::boolean);
  EXPECT_EQ((i32 + 1).dtype(), dtypes::int32);
  EXPECT_EQ((i32 + 1.5).dtype(), dtypes::float32);
  EXPECT_EQ((f16 * 2.5).dtype(), dtypes::float16);
  EXPECT_EQ((b + 1).dtype(), dtypes::int64);
  EXPECT_EQ((b + b).dtype(), dtypes::boolean);
  EXPECT_EQ((i32 / i32).dtype(), dtypes::float32);
  EXPECT_EQ((f16 + Tensor(1.0)).dtype(), dtypes::float16);  // without dimensions: gives way
  EXPECT_EQ((i32 + Tensor(1.0)).dtype(), dtypes::float32);  // but for its kind
  EXPECT_EQ((f16 + Tensor::ones({1})).dtype(), dtypes::float32);
  EXPECT_EQ(i32.sum().dtype(), dtypes::int64);
  EXPECT_EQ(i32.exp().dtype(), dtypes::float32);
}

TEST(Tensor, Broadcasts) {
  const Tensor a = f32({1, 2}, {2, 1}), b = f32({10, 20, 30});
  EXPECT_EQ(floats(a + b), (std::vector<float>{11, 21, 31, 12, 22, 32}));
  EXPECT_EQ((a + Tensor::zeros({0}).to("INTERP")).shape(), (Ints{2, 0}));
  try {
    a + f32({1, 2, 3}, {3, 1});
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "[add] shapes (2, 1) and (3, 1) do not broadcast: sizes 2 and 3 in dimension 0");
  }
}

TEST(Tensor, CopiesAreTheSameTensor) {
  Tensor w = f32({1, 2});
  const Tensor copy = w, before = w * 10;
  w.assign(w + 1);
  EXPECT_EQ(floats(copy), (std::vector<float>{2, 3}));
  EXPECT_EQ(floats(before), (std::vector<float>{10, 20}));  // what it meant when it was written
  EXPECT_THROW(w.assign(f32({1})), Error);
  EXPECT_THROW(w.assign(Tensor::from({1, 2}).to("INTERP")), Error);
}

TEST(Tensor, ForgetsHowItWasMade) {
  Tensor x = f32({1, 1});
  for (int k = 0; k < 100; ++k) x = (x + 1).realize();
  EXPECT_EQ(x.node().op(), Ops::EMPTY);
  Tensor w = f32({1, 1});
  w.requires_grad(true);
  for (int k = 0; k < 10; ++k) w.assign(w - 0.1), w.realize();
  EXPECT_TRUE(w.requires_grad());
  EXPECT_EQ(w.node().src(0).op(), Ops::EMPTY);
}

// One node stands for all tensors of a constant: it must not keep what one of them was given.
TEST(Tensor, MemoryOfAConstantIsItsOwn) {
  const std::uint64_t before = Allocator::host().statistics().in_use;
  for (const Tensor& x : {Tensor::full({1000, 100}, 2.0F), Tensor::arange(0, 100'000)}) x.realize();
  EXPECT_EQ(Allocator::host().statistics().in_use, before);
  Tensor(2.0).realize();
  EXPECT_TRUE(schedule(std::vector{(Tensor(2.0) + Tensor(3.0)).node()})[0].inputs.empty());
}

TEST(Tensor, ErrorsSayWhereTheyWereWritten) {
  const Tensor x = f32({1, 2});
  try {
    x.to("NULL").reshape({3});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("[reshape]"), std::string::npos) << e.what();
  }
  EXPECT_NE((x * 2).explain().find("operator *, written at"), std::string::npos) << (x * 2).explain();
  EXPECT_NE(x.mul(2).explain().find("tensor_test.cpp"), std::string::npos);
  EXPECT_THROW(x + Tensor::ones({2}).to("CLANG"), Error);
  EXPECT_THROW(x.item(), Error);
  EXPECT_THROW(x.size(1), Error);
}

struct Function {
  const char* name;
  Tensor (*f)(const Tensor&);
  double (*reference)(double);
  double low, high;
};

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

const Function kFunctions[] = {
    {"rsqrt", [](const Tensor& x) { return x.rsqrt(); }, [](double x) { return 1 / std::sqrt(x); }, 0.1, 4},
    {"log10", [](const Tensor& x) { return x.log10(); }, [](double x) { return std::log10(x); }, 0.1, 4},
    {"asin", [](const Tensor& x) { return x.asin(); }, [](double x) { return std::asin(x); }, -0.99, 0.99},
    {"acos", [](const Tensor& x) { return x.acos(); }, [](double x) { return std::acos(x); }, -0.99, 0.99},
    {"sinh", [](const Tensor& x) { return x.sinh(); }, [](double x) { return std::sinh(x); }, -12, 12},
    {"cosh", [](const Tensor& x) { return x.cosh(); }, [](double x) { return std::cosh(x); }, -12, 12},
    {"asinh", [](const Tensor& x) { return x.asinh(); }, [](double x) { return std::asinh(x); }, -12, 12},
    {"acosh", [](const Tensor& x) { return x.acosh(); }, [](double x) { return std::acosh(x); }, 1.1, 12},
    {"atanh", [](const Tensor& x) { return x.atanh(); }, [](double x) { return std::atanh(x); }, -0.99, 0.99},
    {"erfc", [](const Tensor& x) { return x.erfc(); }, [](double x) { return std::erfc(x); }, -2, 2},
    {"sigmoid", [](const Tensor& x) { return x.sigmoid(); }, sigmoid_of, -30, 30},
    {"logsigmoid", [](const Tensor& x) { return x.logsigmoid(); }, [](double x) { return -softplus_of(-x); }, -30, 30},
    {"silu", [](const Tensor& x) { return x.silu(); }, [](double x) { return x * sigmoid_of(x); }, -9, 9},
    {"mish", [](const Tensor& x) { return x.mish(); }, [](double x) { return x * std::tanh(softplus_of(x)); }, -9, 9},
    {"softplus", [](const Tensor& x) { return x.softplus(); }, softplus_of, -30, 30},
    {"relu", [](const Tensor& x) { return x.relu(); }, [](double x) { return std::max(x, 0.0); }, -2, 2},
    {"relu6", [](const Tensor& x) { return x.relu6(); }, [](double x) { return std::min(std::max(x, 0.0), 6.0); }, -9,
     9},
    {"elu", [](const Tensor& x) { return x.elu(0.7); }, [](double x) { return x > 0 ? x : 0.7 * std::expm1(x); }, -4,
     4},
    {"celu", [](const Tensor& x) { return x.celu(2); }, [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }, -4,
     4},
    {"leaky_relu", [](const Tensor& x) { return x.leaky_relu(0.2); }, [](double x) { return x > 0 ? x : 0.2 * x; }, -4,
     4},
    {"hardswish", [](const Tensor& x) { return x.hardswish(); },
     [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }, -5, 5},
    {"softsign", [](const Tensor& x) { return x.softsign(); }, [](double x) { return x / (1 + std::abs(x)); }, -5, 5},
    {"tanhshrink", [](const Tensor& x) { return x.tanhshrink(); }, [](double x) { return x - std::tanh(x); }, -5, 5},
    {"hardshrink", [](const Tensor& x) { return x.hardshrink(); }, [](double x) { return std::abs(x) > 0.5 ? x : 0; },
     -2, 2},
    {"softshrink", [](const Tensor& x) { return x.softshrink(); },
     [](double x) { return x > 0.5    ? x - 0.5
                           : x < -0.5 ? x + 0.5
                                      : 0; }, -2, 2},
    {"gelu", [](const Tensor& x) { return x.gelu(); },
     [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }, -4, 4},
    {"square", [](const Tensor& x) { return x.square(); }, [](double x) { return x * x; }, -4, 4},
    {"pow 3", [](const Tensor& x) { return x.pow(3); }, [](double x) { return x * x * x; }, -4, 4},
    {"pow -2", [](const Tensor& x) { return x.pow(-2); }, [](double x) { return 1 / (x * x); }, 0.5, 4},
    {"pow 1.7", [](const Tensor& x) { return x.pow(1.7); }, [](double x) { return std::pow(x, 1.7); }, 0.5, 4},
    {"fmod", [](const Tensor& x) { return x.fmod(0.7); }, [](double x) { return std::fmod(x, 0.7); }, -4, 4},
    {"remainder", [](const Tensor& x) { return x.remainder(0.7); },
     [](double x) { return x - 0.7 * std::floor(x / 0.7); }, -4, 4},
    {"hypot", [](const Tensor& x) { return x.hypot(1.5); }, [](double x) { return std::hypot(x, 1.5); }, -4, 4},
    {"logaddexp", [](const Tensor& x) { return x.logaddexp(0.5); },
     [](double x) { return std::log(std::exp(x) + std::exp(0.5)); }, -4, 4},
    {"clip", [](const Tensor& x) { return x.clip(-1, 1); }, [](double x) { return std::min(std::max(x, -1.0), 1.0); },
     -2, 2},
    {"frac", [](const Tensor& x) { return x.frac(); }, [](double x) { return x - std::trunc(x); }, -2, 2},
};

TEST(Tensor, FunctionsAreWhatTheyAreCalled) {
  for (const Function& c : kFunctions) {
    const std::vector<double> xs = spread(16, c.low, c.high);
    const std::vector<double> found = c.f(f64(xs, {16})).to_vector<double>();
    for (std::size_t k = 0; k < xs.size(); ++k)
      EXPECT_NEAR(found[k], c.reference(xs[k]), 1e-10 * (1 + std::abs(c.reference(xs[k]))))
          << c.name << "(" << xs[k] << ")";
    SCOPED_TRACE(c.name);
    expect_gradient(c.f, xs, {16}, 1e-5);
  }
}

TEST(Tensor, GradientsStayFiniteFarOut) {
  const Tensor x = f32({-200, -50, 50, 200});
  const auto finite = [&](TensorFunction f) { return value_and_grad(f, x).second.isfinite().all().item<bool>(); };
  EXPECT_TRUE(finite([](const Tensor& t) { return t.sigmoid().sum(); }));
  EXPECT_TRUE(finite([](const Tensor& t) { return t.silu().sum(); }));
  EXPECT_TRUE(finite([](const Tensor& t) { return t.softplus().sum(); }));
  EXPECT_TRUE(finite([](const Tensor& t) { return t.logsigmoid().sum(); }));
}

using Function1 = Tensor (*)(const Tensor&);
std::vector<double> slopes_at(const std::vector<double>& at, Function1 f) {
  return grad([f](const Tensor& t) { return f(t).sum(); })(f64(at, {std::ssize(at)})).to_vector<double>();
}

TEST(Tensor, SlopesWhereBranchesMeet) {
  const auto at_zero = [](Function1 f) { return slopes_at({0}, f)[0]; };
  EXPECT_EQ(at_zero([](const Tensor& t) { return t.asinh(); }), 1);
  EXPECT_EQ(at_zero([](const Tensor& t) { return t.elu(); }), 1);
  EXPECT_EQ(at_zero([](const Tensor& t) { return t.elu(0.5); }), 0.5);
  EXPECT_EQ(at_zero([](const Tensor& t) { return t.celu(2); }), 1);
  EXPECT_NEAR(at_zero([](const Tensor& t) { return t.selu(); }), 1.7580993408473766, 1e-15);
  EXPECT_EQ(at_zero([](const Tensor& t) { return t.fmod(5.0); }), 1);
  EXPECT_EQ(at_zero([](const Tensor& t) { return t.remainder(5.0); }), 1);
  EXPECT_EQ(slopes_at({2, 2}, [](const Tensor& t) { return t.std(); }), (std::vector<double>{0, 0}));
}

TEST(Tensor, SlopesOfSlopes) {
  const auto second = [](double at, Tensor (*f)(const Tensor&)) {
    const TensorFunction first = grad([f](const Tensor& t) { return f(t).sum(); });
    return grad([&](const Tensor& t) { return first(t).sum(); })(f64({at}, {1})).item();
  };
  const double ln2 = std::log(2.0), s = sigmoid_of(0.7);
  EXPECT_EQ(second(0, [](const Tensor& t) { return t.softplus(); }), 0.25);
  EXPECT_EQ(second(0, [](const Tensor& t) { return t.logsigmoid(); }), -0.25);
  EXPECT_EQ(second(0, [](const Tensor& t) { return t.logaddexp(0); }), 0.25);
  EXPECT_EQ(second(0, [](const Tensor& t) { return Tensor(0.0).to("INTERP").logaddexp(t); }), 0.25);
  EXPECT_NEAR(second(0, [](const Tensor& t) { return t.logaddexp2(0); }), ln2 / 4, 1e-15);
  EXPECT_NEAR(second(0.7, [](const Tensor& t) { return t.sigmoid(); }), s * (1 - s) * (1 - 2 * s), 1e-15);
  EXPECT_NEAR(second(0.7, [](const Tensor& t) { return t.softplus(); }), s * (1 - s), 1e-15);
  EXPECT_NEAR(second(0.7, [](const Tensor& t) { return t.asinh(); }), -0.7 / std::pow(1.49, 1.5), 1e-15);
  const TensorFunction loss = [](const Tensor& t) {
    return binary_cross_entropy_with_logits(t, t.ones_like().detach());
  };
  const TensorFunction slope = grad(loss);
  EXPECT_EQ(grad([&](const Tensor& t) { return slope(t).sum(); })(f64({0}, {1})).item(), 0.25);
}

TEST(Tensor, SlopesAtTheEnds) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(slopes_at({-1, 1}, [](const Tensor& t) { return t.asin(); }), (std::vector<double>{inf, inf}));
  EXPECT_EQ(slopes_at({-1, 1}, [](const Tensor& t) { return t.acos(); }), (std::vector<double>{-inf, -inf}));
  EXPECT_EQ(slopes_at({-1, 1}, [](const Tensor& t) { return t.atanh(); }), (std::vector<double>{inf, inf}));
  EXPECT_EQ(slopes_at({1}, [](const Tensor& t) { return t.acosh(); })[0], inf);
  EXPECT_EQ(slopes_at({0, 1}, [](const Tensor& t) { return t.logit(); }), (std::vector<double>{inf, inf}));
  EXPECT_EQ(slopes_at({-inf, inf}, [](const Tensor& t) { return t.logaddexp(1); }), (std::vector<double>{0, 1}));
  EXPECT_EQ(slopes_at({inf}, [](const Tensor& t) { return t.logaddexp(INFINITY); })[0], 0.5);
  EXPECT_EQ(slopes_at({-inf}, [](const Tensor& t) { return t.logaddexp2(-INFINITY); })[0], 0.5);
  EXPECT_EQ(slopes_at({-inf, inf, 1e6}, [](const Tensor& t) { return t.sigmoid(); }), (std::vector<double>{0, 0, 0}));
}

TEST(Tensor, FunctionsFarOut) {
  for (const char* device : {"INTERP", "LLVM"}) {
    SCOPED_TRACE(device);
    for (const DType d : {dtypes::float16, dtypes::bfloat16, dtypes::float32, dtypes::float64}) {
      const Tensor x = f64({-1000, -kInf, 1000, kInf}, {4}).to(device).cast(d);
      expect_values(x.sigmoid(), {4}, {0, 0, 1, 1});
      expect_values(x.narrow(0, 0, 1).silu(), {1}, {0});
    }
    EXPECT_EQ(f32({-1e38F}).to(device).silu().item(), 0);
    EXPECT_FALSE(std::isinf(f32({-INFINITY}).to(device).silu().item()));
    EXPECT_NEAR(f32({-80}).to(device).sigmoid().log().item(), -80, 1e-4);
    const auto half = [&](double x) { return f64({x}, {1}).to(device).cast(dtypes::float16); };
    EXPECT_NEAR(half(-12).sigmoid().item(), 6.1442e-6, 3e-8);
    EXPECT_NEAR(half(300).asinh().item(), 6.3969, 4e-3);
    EXPECT_NEAR(half(-300).asinh().item(), -6.3969, 4e-3);
    EXPECT_NEAR(half(259.5).acosh().item(), 6.2519, 4e-3);
    EXPECT_NEAR(half(-0.98486).atanh().item(), std::atanh(-0.98486328125), 2e-3);
    EXPECT_EQ(half(2).asinh().dtype(), dtypes::float16);
    expect_values(f32({-5000, 0.5, -INFINITY}).to(device).acosh().isnan(), {3}, {1, 1, 1});
    EXPECT_NEAR(f32({-0x1.fffffep-1F}).to(device).atanh().item(), std::atanh(-0x1.fffffep-1), 1e-6);
  }
}

TEST(Tensor, SlopesAreOfWhatWasThere) {
  Tensor w = f64({0.5}, {1});
  w.requires_grad(true);
  const Tensor x = w * 1, y = x.asinh(), z = x.sigmoid();
  set_in_place(x, x * 100, "mul_");
  const double s = sigmoid_of(0.5);
  EXPECT_NEAR(gradients((y + z).sum(), {&w, 1})[0].item(), 1 / std::sqrt(1.25) + s * (1 - s), 1e-15);
}

TEST(Tensor, NaNAndInfinitiesFlow) {
  const Tensor x = f32({NAN, INFINITY, -INFINITY, 0});
  EXPECT_TRUE(std::isnan(floats(x.relu())[0]));
  EXPECT_EQ(x.isnan().to_vector<bool>(), (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(x.isfinite().to_vector<bool>(), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(floats(x.nan_to_num(7, 8.0, -8.0)), (std::vector<float>{7, 8, -8, 0}));
  EXPECT_EQ(floats(x.fmax(1)), (std::vector<float>{1, INFINITY, 1, 1}));
  EXPECT_TRUE(std::isnan(floats(x.maximum(1))[0]));
  EXPECT_EQ((x <= 0).to_vector<bool>(), (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ(floats(f32({-INFINITY, -INFINITY}).logsumexp().reshape({1})), (std::vector<float>{-INFINITY}));
}

TEST(Tensor, IntegersDivideBothWays) {
  const Tensor a = Tensor::from({7, -7, 7, -7}).to("INTERP"), b = Tensor::from({2, 2, -2, -2}).to("INTERP");
  EXPECT_EQ(a.floor_divide(b).to_vector<int>(), (std::vector<int>{3, -4, -4, 3}));
  EXPECT_EQ(a.trunc_divide(b).to_vector<int>(), (std::vector<int>{3, -3, -3, 3}));
  EXPECT_EQ((a % b).to_vector<int>(), (std::vector<int>{1, 1, -1, -1}));
  EXPECT_EQ(a.fmod(b).to_vector<int>(), (std::vector<int>{1, -1, 1, -1}));
  EXPECT_EQ(a.pow(b.abs()).to_vector<int>(), (std::vector<int>{49, 49, 49, 49}));
  EXPECT_EQ(a.pow(b).to_vector<int>(), (std::vector<int>{49, 49, 0, 0}));
  EXPECT_EQ(ints(Tensor(2).pow(10).reshape({1})), (std::vector<std::int64_t>{1024}));
  EXPECT_EQ((2 - a).to_vector<int>(), (std::vector<int>{-5, 9, -5, 9}));
}

TEST(Tensor, Reduces) {
  const Tensor x = f32({1, 5, 3, 4, 2, 6}, {2, 3});
  EXPECT_EQ(x.sum().item(), 21);
  EXPECT_EQ(floats(x.sum(0)), (std::vector<float>{5, 7, 9}));
  EXPECT_EQ(x.sum({0, 1}, true).shape(), (Ints{1, 1}));
  EXPECT_EQ(floats(x.max(-1)), (std::vector<float>{5, 6}));
  EXPECT_EQ(ints(x.argmax(1)), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(x.argmin().item<std::int64_t>(), 0);
  EXPECT_EQ(ints(f32({2, 9, 9, NAN, 9, NAN}, {2, 3}).argmax(1)), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(floats(x.mean(1)), (std::vector<float>{3, 4}));
  EXPECT_EQ(floats(x.var(1)), (std::vector<float>{4, 4}));
  EXPECT_NEAR(x.std().item(), 1.8708287, 1e-6);
  EXPECT_NEAR(x.norm().item(), std::sqrt(91.0), 1e-5);
  EXPECT_NEAR(x.logsumexp().item(),
              std::log(std::exp(1) + std::exp(5) + std::exp(3) + std::exp(4) + std::exp(2) + std::exp(6)), 1e-5);
  EXPECT_EQ(x.gt(5).any().item<bool>(), true);
  EXPECT_EQ(x.gt(1).all().item<bool>(), false);
  EXPECT_EQ(x.gt(3).count_nonzero().item(), 3);
  EXPECT_EQ(Tensor::zeros({0}).to("INTERP").sum().item(), 0);
  EXPECT_THROW(Tensor::zeros({0}).to("INTERP").max(), Error);
  EXPECT_THROW(x.sum(2), Error);
  EXPECT_THROW(x.sum({0, -2}), Error);
  const std::vector<float> p = floats(x.softmax(1));
  EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-6);
  EXPECT_NEAR(floats(x.log_softmax(1))[1], std::log(p[1]), 1e-6);
}

TEST(Tensor, GradientsOfReductions) {
  const auto check = [](const std::function<Tensor(const Tensor&)>& f) {
    expect_gradient(f, spread(6, -2, 2), {2, 3}, 1e-5);
  };
  check([](const Tensor& x) { return x.mean(1); });
  check([](const Tensor& x) { return x.var(0); });
  check([](const Tensor& x) { return x.std(); });
  check([](const Tensor& x) { return x.logsumexp(1); });
  check([](const Tensor& x) { return x.softmax(0); });
  check([](const Tensor& x) { return x.log_softmax(1); });
  check([](const Tensor& x) { return x.norm(3, 1); });
}

TEST(Tensor, ShapesChange) {
  const Tensor x = f32({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(x.reshape({3, -1}).shape(), (Ints{3, 2}));
  EXPECT_EQ(floats(x.transpose()), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(x.unsqueeze(-1).shape(), (Ints{2, 3, 1}));
  EXPECT_EQ(x.unsqueeze(0).squeeze(0).shape(), x.shape());
  EXPECT_EQ(x.reshape({1, 2, 1, 3}).squeeze().shape(), x.shape());
  EXPECT_EQ(x.reshape({1, 2, 3}).flatten(1).shape(), (Ints{1, 6}));
  EXPECT_EQ(floats(x.flip(1)), (std::vector<float>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(x.unsqueeze(1).expand({-1, 4, -1}).shape(), (Ints{2, 4, 3}));
  EXPECT_THROW(x.reshape({4, -1}), Error);
  EXPECT_THROW(x.reshape({-1, -1}), Error);
  EXPECT_THROW(x.expand({2, 4}), Error);
  EXPECT_THROW(x.permute({0, 0}), Error);
}

}  // namespace
}  // namespace strata::test
