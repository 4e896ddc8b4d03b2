// vmap(), jvp() and checkpoint(). Random programs of all operations: tests/python/fuzz_transforms.py.
#include "strata/tensor/transforms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "strata/base/check.h"
#include "strata/engine/realize.h"
#include "strata/graph/step_graph.h"
#include "strata/schedule/memory_plan.h"
#include "strata/schedule/schedule.h"
#include "strata/tensor/access.h"
#include "strata/tensor/custom_gradient.h"
#include "strata/tensor/functional.h"
#include "strata/tensor/jit.h"
#include "strata/tensor/random.h"
#include "strata/tensor/scan.h"
#include "tests/tensor/arrays.h"

namespace strata {
namespace {

std::vector<float> values(const Tensor& x) { return x.to_vector<float>(); }

Tensor sample(const Ints& shape, double begin = -1) {
  const std::int64_t size = product(shape).value();
  return (Tensor::arange(size).cast(dtypes::float32) * 0.37 + begin).sin().reshape(shape).realize();
}

/// f of each element, stacked.
Tensor one_by_one(const TensorFunction& f, const Tensor& xs) {
  std::vector<Tensor> all;
  for (std::int64_t k = 0; k < xs.shape()[0].value(); ++k) all.push_back(f(xs[k]));
  return Tensor::stack(all);
}

struct Case {
  const char* name;
  TensorFunction f;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"elementwise", [](const Tensor& x) { return (x * 2).tanh() + x.exp() / (x.square() + 1); }},
      {"movement", [](const Tensor& x) { return x.permute({1, 0}).flip({0}).reshape({-1}).pad({{1, 2}}); }},
      {"reduction", [](const Tensor& x) { return x.sum(0) * x.max(1).sum() + x.prod({0, 1}); }},
      {"matmul", [](const Tensor& x) { return x.matmul(x.permute({1, 0})).relu(); }},
      {"softmax", [](const Tensor& x) { return x.softmax(1) + x.log_softmax(0); }},
      {"formula", [](const Tensor& x) { return x.gelu() + x.silu() * x.lgamma().detach(); }},
      {"scan", [](const Tensor& x) { return x.cumsum(0) * x.square().cumprod(1) + x.linear_recurrence(x, 1); }},
      {"gather", [](const Tensor& x) { return x.sort(1).first + x.gather(0, (x > 0).cast(dtypes::int64)); }},
      {"scatter", [](const Tensor& x) { return x.scatter_add(0, (x > 0).cast(dtypes::int64), x.square()) * 2; }},
      {"cat",
       [](const Tensor& x) { return Tensor::cat(std::vector(20, x * 2), 1) + Tensor::cat(std::vector(20, x), 1); }},
      {"loop",
       [](const Tensor& x) {
         const auto step = [](const Tensor& s, const Tensor& row) { return std::pair(s * 0.5 + row, s * row); };
         const auto [last, outputs] = scan(step, Tensor::zeros({4}), x);
         return outputs.sum(0) + last;
       }},
      {"gradient", [](const Tensor& x) { return grad([](const Tensor& v) { return (v * v.sin()).sum(); })(x); }},
      {"custom gradient",
       [](const Tensor& x) {
         return with_gradient(x.round(), {&x, 1}, [y = x.detach()](const Tensor& dy) { return std::vector{dy * y}; });
       }},
      {"vmap", [](const Tensor& x) { return vmap([](const Tensor& row) { return row.cumsum(0) * row.sum(); })(x); }},
      {"jvp", [](const Tensor& x) { return jvp([](const Tensor& v) { return v.sin() * v; }, x, x.square()).second; }},
      {"checkpoint", [](const Tensor& x) { return checkpoint([](const Tensor& v) { return v.sin().tanh(); })(x); }},
  };
  return all;
}

class Transforms : public testing::Test {
 protected:
  ScopedFlag<bool> exact_{flags::DETERMINISTIC, true};
};

TEST_F(Transforms, VmapIsALoopOverTheElements) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tensor xs = sample({3, 2, 4});
    EXPECT_EQ(values(vmap(c.f)(xs)), values(one_by_one(c.f, xs)));
    EXPECT_EQ(values(vmap(c.f, 2)(xs.permute({1, 2, 0}))), values(one_by_one(c.f, xs)));
    const auto total = [](const TensorFunction& f) {
      return [f](const Tensor& x) { return (f(x) * f(x).cos().detach()).sum(); };
    };
    const std::vector<float> got = values(grad(total(vmap(c.f)))(xs));
    const std::vector<float> want = values(grad(total([&](const Tensor& x) { return one_by_one(c.f, x); }))(xs));
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], want[k], 1e-5 * (1 + std::abs(want[k]))) << k;
  }
}

TEST_F(Transforms, CheckpointIsTheFunction) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tensor x = sample({2, 4});
    EXPECT_EQ(values(checkpoint(c.f)(x)), values(c.f(x)));
    const auto total = [](const TensorFunction& f) {
      return [f](const Tensor& v) { return (f(v) * f(v).cos().detach()).sum(); };
    };
    EXPECT_EQ(values(grad(total(checkpoint(c.f)))(x)), values(grad(total(c.f))(x)));
    const auto second = [](const TensorFunction& f) {
      return grad([f](const Tensor& v) {
        return (grad([f](const Tensor& u) { return (f(u) * u.sum()).sum(); })(v) * v).sum();
      });
    };
    if (std::string(c.name) == "loop") continue;
    const std::vector<float> got = values(second(checkpoint(c.f))(x)), want = values(second(c.f)(x));
    for (std::size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], want[k], 1e-5 * (1 + std::abs(want[k]))) << k;
  }
}

TEST_F(Transforms, JvpIsTheTransposeOfTheGradient) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tensor x = sample({2, 4}), t = sample({2, 4}, 3);
    const auto [y, dy] = jvp(c.f, x, t);
    EXPECT_EQ(values(y), values(c.f(x)));
    const Tensor u = (y * 3).cos().detach();
    const float left = (dy * u).sum().item<float>();
    const float right = (grad([&](const Tensor& v) { return (c.f(v) * u).sum(); })(x) * t).sum().item<float>();
    EXPECT_NEAR(left, right, 1e-4 * (1 + std::abs(left)));
  }
}

TEST_F(Transforms, ArgumentsThatAreTheSameForAll) {
  const Tensor w = sample({4, 2}).requires_grad(true), xs = sample({3, 4});
  const TensorsFunction f = [](std::span<const Tensor> in) {
    return std::vector{in[1].matmul(in[0]).tanh(), in[0].sum()};
  };
  const std::vector<Tensor> given = {w, xs};
  const std::vector<Tensor> out = vmap(f, given, {.in_axes = {std::nullopt, 0}, .out_axes = {1, std::nullopt}});
  EXPECT_EQ(values(out[0]), values(xs.matmul(w).tanh().permute({1, 0})));
  EXPECT_EQ(values(out[1]), values(w.sum()));
  const std::vector<Tensor> by = gradients(out[0].sum(), {&w, 1});
  const std::vector<Tensor> wanted = gradients(xs.matmul(w).tanh().sum(), {&w, 1});
  for (std::size_t k = 0; k < 8; ++k) EXPECT_NEAR(values(by[0])[k], values(wanted[0])[k], 1e-5);
}

TEST_F(Transforms, SizesMayBeVariables) {
  const Variable n("n", 1, 8);
  const Tensor memory = sample({8, 3});
  const Tensor xs = memory.shrink({{0, Int(n.bind(5))}, {0, 3}});
  const TensorFunction f = [](const Tensor& x) { return x.cumsum(0) * x.sum(); };
  EXPECT_EQ(values(vmap(f)(xs)), values(one_by_one(f, memory.shrink({{0, 5}, {0, 3}}))));
}

TEST_F(Transforms, CapturedByJit) {
  auto f = jit([](const Tensor& x) {
    return vmap([](const Tensor& row) { return grad([](const Tensor& v) { return v.sin().square().sum(); })(row); })(x);
  });
  for (int k = 0; k < 4; ++k) {
    const Tensor x = sample({3, 5}, k);
    EXPECT_EQ(values(f(x)), values(one_by_one(grad([](const Tensor& v) { return v.sin().square().sum(); }), x)));
  }
}

/// The peak of the memory between kernels of a schedule.
std::int64_t peak_of(const Tensor& root) {
  const std::vector<LazyOp> roots = {root.node()};
  return plan_memory(schedule(roots), [&](const LazyOp& n) { return n == roots[0]; }).peak;
}

TEST_F(Transforms, CheckpointKeepsLess) {
  const Tensor w = sample({64, 64});
  const auto layer = [w](const Tensor& x) {
    Tensor y = x;
    for (int k = 0; k < 4; ++k) y = y.matmul(w).tanh().matmul(w).sin();
    return y;
  };
  const auto net = [](const TensorFunction& f) { return grad([f](const Tensor& x) { return f(f(f(f(x)))).sum(); }); };
  const Tensor x = sample({256, 64});
  const std::int64_t plain = peak_of(net(layer)(x)), less = peak_of(net(checkpoint(layer))(x));
  EXPECT_LT(less * 2, plain);
  EXPECT_EQ(values(net(layer)(x)), values(net(checkpoint(layer))(x)));
}

TEST_F(Transforms, CheckpointDrawsRandomNumbersOnce) {
  const Tensor x = sample({64});
  manual_seed(7);
  const std::vector<float> want = values(grad([](const Tensor& v) { return (dropout(v, 0.5) * v).sum(); })(x));
  manual_seed(7);
  const TensorFunction f = checkpoint([](const Tensor& v) { return dropout(v, 0.5) * v; });
  EXPECT_EQ(values(grad([&](const Tensor& v) { return f(v).sum(); })(x)), want);
}

TEST_F(Transforms, CheckpointOfSeveralResults) {
  const Tensor w = sample({4}).requires_grad(true);
  const TensorsFunction f = [&](std::span<const Tensor> in) {
    const Tensor inner = (in[0] * w).exp();
    return std::vector{inner.sum(), inner.sin(), (in[0] > 0).cast(dtypes::int32), inner.cast(dtypes::float64)};
  };
  const Tensor x = sample({4});
  const auto total = [](const std::vector<Tensor>& ys) {
    return ys[0] + ys[1].sum() + ys[3].sum().cast(dtypes::float32);
  };
  const std::vector<Tensor> once = f({&x, 1}), again = checkpoint(f, {&x, 1});
  for (std::size_t k = 0; k < once.size(); ++k)
    EXPECT_EQ(values(again[k].cast(dtypes::float32)), values(once[k].cast(dtypes::float32)));
  const auto by = gradients(total(again), {&w, 1})[0], wanted = gradients(total(once), {&w, 1})[0];
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(values(by)[k], values(wanted)[k], 1e-5);
}

template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

TEST_F(Transforms, Refusals) {
  const Tensor x = sample({3, 4}), other = sample({2, 4}), whole = Tensor::arange(3);
  const TensorsFunction sum = [](std::span<const Tensor> in) { return std::vector{in[0].sum()}; };
  const std::vector<Tensor> both = {x, other};
  EXPECT_EQ(refusal([&] { vmap(sum, both); }),
            "[vmap] argument 1 has 2 elements along axis 0, and an argument in front of it 3");
  EXPECT_EQ(refusal([&] { vmap(sum, {&x, 1}, {.in_axes = {2}}); }), "[vmap] axis 2 of argument 0 with 2 dimensions");
  EXPECT_EQ(refusal([&] { vmap(sum, {&x, 1}, {.in_axes = {0, 1}}); }), "[vmap] 2 axes for 1 arguments");
  EXPECT_EQ(refusal([&] { vmap(sum, {&x, 1}, {.out_axes = {1}}); }), "[vmap] axis 1 of result 0 with 1 dimension");
  EXPECT_EQ(refusal([&] { vmap(sum, {&x, 1}, {.in_axes = {std::nullopt}}); }),
            "[vmap] no argument has an axis of the batch");
  EXPECT_EQ(refusal([&] { vmap(sum, {&x, 1}, {.out_axes = {std::nullopt}}); }),
            "[vmap] result 0 depends on the element of the batch: it needs an axis");
  const Tensor outside = Tensor::zeros({4}).contiguous().realize();
  EXPECT_NE(refusal([&] {
              vmap([&](const Tensor& v) { return outside.assign(v), v; })(x);
            }).find("[vmap] the function assigns one of its values to a tensor of shape (4,) from outside"),
            std::string::npos);
  EXPECT_EQ(values(outside), std::vector<float>(4, 0));
  EXPECT_NE(refusal([&] { vmap([&](const Tensor& v) { return v * v.sum().item<float>(); })(x); }).find("is read"),
            std::string::npos);
  const auto halved = [](const Tensor& v) {
    const auto goes_on = [](std::span<const Tensor> s) { return s[0].sum() > 1; };
    const auto step = [](std::span<const Tensor> s) { return std::vector{s[0] * 0.5}; };
    return while_loop(goes_on, step, {&v, 1}, 9)[0];
  };
  EXPECT_EQ(refusal([&] { vmap(halved)(x).realize(); }),
            "[vmap] whether a while_loop() goes on depends on the element: the elements would end in different steps");
  EXPECT_EQ(refusal([&] { jvp([](const Tensor& v) { return v; }, whole, whole); }),
            "[jvp] argument 0 of dtype i64 has no derivative");
  EXPECT_EQ(refusal([&] { jvp([](const Tensor& v) { return v; }, x, other); }),
            "[jvp] tangent 0 has the shape (2, 4), and its argument (3, 4)");
  const auto clipped = [](const Tensor& v) {
    return with_gradient(v * 2, {&v, 1}, [](const Tensor& dy) { return std::vector{dy.square()}; });
  };
  EXPECT_EQ(refusal([&] { jvp(clipped, x, x); }),
            "[jvp] a custom gradient below result 0 is no linear function of the gradient that it is given");
  const auto looped = [&](const Tensor& v) {
    return scan([&](const Tensor& s, const Tensor& row) { return std::pair(clipped(s) + row, s); }, v[0], v).second;
  };
  EXPECT_EQ(refusal([&] { jvp(looped, x, x); }),
            "[jvp] a custom gradient below result 0 is no linear function of the gradient that it is given");
}

}  // namespace
}  // namespace strata
