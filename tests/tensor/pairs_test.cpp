// Functions of two operands, and bounds, at the edges: values and gradients as PyTorch has them.

#include <limits>
#include <numbers>

#include "tests/dtype/special_values.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

const std::vector<double> kLeft = {-kInf, -2, -1, -0.0, 0, 0.5, 1, 3, kInf, NAN, 2, -1};
const std::vector<double> kRight = {1, -2, 0, 0, -1, kInf, NAN, 2, kInf, 1, -kInf, -0.0};

void expect_all(const Tensor& x, const std::vector<double>& expected, double tolerance = 0) {
  expect_near(
      x, {std::ssize(expected)}, [&](const Place& p) { return expected[static_cast<std::size_t>(p[0])]; }, tolerance);
}

TEST(Pairs, AtTheEdges) {
  const Tensor a = f64(kLeft, {12}), b = f64(kRight, {12});
  expect_all(a.fmax(b), {1, -2, 0, 0, 0, kInf, 1, 3, kInf, 1, 2, 0});
  expect_all(a.fmin(b), {-kInf, -2, -1, 0, -1, 0.5, 1, 2, kInf, 1, -kInf, -1});
  expect_all(a.logaddexp2(b),
             {1, -1, 0.58496250072115618, 1, 0.58496250072115618, kInf, NAN, 3.584962500721156, kInf, NAN, 2,
              0.58496250072115618},
             1e-15);
  expect_all(a.xlogy(b), {NAN, NAN, kInf, 0, 0, kInf, NAN, 2.0794415416798357, kInf, NAN, NAN, kInf}, 1e-15);
  expect_all(a.xlog1py(b), {-kInf, NAN, 0, 0, 0, kInf, NAN, 3.2958368660043287, kInf, NAN, NAN, 0}, 1e-15);
  expect_all(a.heaviside(b), {0, 0, 0, 0, -1, 1, 1, 1, 1, 0, 1, 0});
  expect_all(a.float_power(b), {-kInf, 0.25, 1, 1, kInf, 0, 1, 9, kInf, NAN, 0, 1});
  const Tensor narrow = f64({-kInf, 0, 1}, {3}).cast(dtypes::float32);
  expect_all(narrow.nextafter(f32({0, -1, 2})), {-3.4028234663852886e38, -0x1p-149, 1 + 0x1p-23});
  const double least = std::numeric_limits<double>::denorm_min();
  expect_all(a.nextafter(b), {-std::numeric_limits<double>::max(), -2, -1 + 0x1p-53, 0, -least, 0.5 + 0x1p-53, NAN,
                              3 - 0x1p-51, kInf, NAN, 2 - 0x1p-52, -1 + 0x1p-53});
  expect_all(i64({1, -3, 0}).ldexp(i64({4, -2, 10})), {16, -0.75, 0});
  const Tensor x = f64({1, -1, 7, -7, 1, 0, 1, -3, kInf}, {9}), by = f64({0.1, 0.1, 2, 2, 0, 0, kInf, kInf, 2}, {9});
  expect_all(x.floor_divide(by), {9, -10, 3, -4, kInf, NAN, 0, -1, NAN});
  expect_all(a.clamp_min(0), {0, 0, 0, 0, 0, 0.5, 1, 3, kInf, NAN, 2, 0});
  expect_all(a.clamp_max(b), {-kInf, -2, -1, 0, -1, 0.5, NAN, 2, kInf, NAN, -kInf, -1});
  expect_all(a.angle() * 2 / std::numbers::pi, {2, 2, 2, 0, 0, 0, 0, 0, 0, NAN, 0, 2});
  expect_all(i64({1, 5, 2}).isin(i64({2, 1, 7, 7}, {2, 2})), {1, 0, 1});
  EXPECT_EQ(i64({1}).float_power(2).dtype(), dtypes::float64);
  EXPECT_EQ(f32({1}).float_power(f32({2})).dtype(), dtypes::float64);
}

/// Products of quotients and divisors are not rounded.
TEST(Pairs, WhatIsLeftIsExact) {
  const std::vector<double> xs = {1, 0.3, -1, 7.5, -7.5, 1e6, 2, 0, kInf, 3, NAN, 100.25},
                            ys = {0.1, 0.1, 0.1, -2, 2, 0.001, kInf, 3, 2, 0, 1, 3.7};
  std::vector<double> rest, modulus, narrow;
  for (std::size_t k = 0; k < xs.size(); ++k) {
    rest.push_back(std::fmod(xs[k], ys[k]));
    modulus.push_back(rest[k] != 0 && (rest[k] < 0) != (ys[k] < 0) ? rest[k] + ys[k] : rest[k]);
    narrow.push_back(std::fmod(static_cast<float>(xs[k]), static_cast<float>(ys[k])));
  }
  const Tensor x = f64(xs, {12}), y = f64(ys, {12});
  expect_all(x.fmod(y), rest);
  expect_all(x.remainder(y), modulus);
  const Tensor a = x.cast(dtypes::float32), b = y.cast(dtypes::float32);
  narrow[5] = 0;  // the quotient has more places than 12
  expect_all(a.ne(1e6).where(a.fmod(b), 0), narrow);
  const Tensor c = a.to("LLVM"), d = b.to("LLVM");
  expect_all(c.ne(1e6).where(c.fmod(d), 0), narrow);
  EXPECT_EQ(f64({1}, {1}).cast(dtypes::float16).fmod(0.125).item(), 0);
  expect_gradient([](const Many& t) { return t[0].fmod(t[1]) + t[0].remainder(t[1]) * 2; },
                  {{5.3, -4.1, 2.2}, {1.7, 0.9, -0.8}}, {{3}, {3}});
}

TEST(Pairs, DivisorsAndMultiples) {
  const std::int64_t far = std::int64_t{1} << 62, near = std::int64_t{1} << 40;
  const Tensor a = i64({0, 0, 12, -12, 7, far, -near, 5824280, 1}),
               b = i64({0, 5, 18, 18, 0, near * 3, 6, 3599603, -1});
  EXPECT_EQ(a.gcd(b).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 5, 6, 6, 7, near, 2, 7, 1}));
  EXPECT_EQ(a.lcm(b).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 0, 36, 36, 0, far, near * 3, 2995013680120, 1}))
      << "wraps";
  const Tensor small = i64({89, 55, 127}).cast(dtypes::int8);
  EXPECT_EQ(small.gcd(i64({55, 89, 127}).cast(dtypes::int8)).cast(dtypes::int64).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, 1, 127}));
  // neighbours among Fibonacci's numbers take the most steps
  EXPECT_EQ(i64({7540113804746346429}).gcd(i64({4660046610375530309})).item<std::int64_t>(), 1);
  expect_error([] { f32({1}).gcd(f32({2})); }, "[gcd] takes integers");
  expect_error([] { bools({true}, {1}).lcm(bools({true}, {1})); }, "[lcm] of bools");
}

TEST(Pairs, MantissasAndExponents) {
  const auto check = [](const Tensor& x, double tolerance) {
    const auto [mantissa, exponent] = x.frexp();
    expect_all(mantissa, {0, 0.5, -0.875, 0.57526180315593931, 0.5, kInf, 0.74661089480257510}, tolerance);
    EXPECT_EQ(exponent.dtype(), dtypes::int32);
    expect_all(exponent, {0, 1, 2, tolerance == 0 ? -1029.0 : -129, tolerance == 0 ? -1073.0 : -148, 0,
                          tolerance == 0 ? 997.0 : 97});
  };
  check(f64({0, 1, -3.5, 1e-310, 5e-324, kInf, 1e300}, {7}), 0);
  const auto at = [](double m, int e) { return std::ldexp(m, e); };
  check(
      f64({0, 1, -3.5, at(0.57526180315593931, -129), 0x1p-149, kInf, at(0.7466108948, 97)}, {7}).cast(dtypes::float32),
      1e-6);
  EXPECT_TRUE(std::isnan(f64({NAN}, {1}).frexp().first.item()));
  expect_gradient([](const Tensor& x) { return x.frexp().first; }, {0.7, -5.2, 100}, {3});
  expect_error([] { i64({1}).frexp(); }, "[frexp] takes floats");
}

TEST(Pairs, Gradients) {
  const auto two = [](const std::function<Tensor(const Tensor&, const Tensor&)>& f, double low = 0.2) {
    expect_gradients([&](const Many& xs) { return f(xs[0], xs[1]); }, {{3, 1}, {2}}, 1e-6, low, 2);
  };
  two([](const Tensor& a, const Tensor& b) { return a.logaddexp2(b); });
  two([](const Tensor& a, const Tensor& b) { return a.xlog1py(b) + b.xlogy(a); });
  two([](const Tensor& a, const Tensor& b) { return a.ldexp(b); });
  two([](const Tensor& a, const Tensor& b) { return a.fmax(b) + a.fmin(b) * 2; });
  two([](const Tensor& a, const Tensor& b) { return a.float_power(b); });
  two([](const Tensor& a, const Tensor& b) { return a.addcmul(a, b, 0.5) + b.addcdiv(a, b, 2); });
}

/// Of equal ones, and at the ends.
TEST(Pairs, GradientsWhereThereAreTwo) {
  const auto slopes = [](const std::function<Tensor(const Tensor&, const Tensor&)>& f, const std::vector<double>& by_a,
                         const std::vector<double>& by_b) {
    Many xs = {f64({1, 2, 0, 0}, {4}), f64({1, 1, 0, 2}, {4})};
    for (Tensor& x : xs) x.requires_grad(true);
    const Many by = gradients(f(xs[0], xs[1]).sum(), xs);
    expect_all(by[0], by_a), expect_all(by[1], by_b);
  };
  slopes([](const Tensor& a, const Tensor& b) { return a.fmax(b); }, {1, 1, 1, 0}, {0, 0, 0, 1});
  slopes([](const Tensor& a, const Tensor& b) { return a.fmin(b); }, {1, 0, 1, 1}, {0, 1, 0, 0});
  slopes([](const Tensor& a, const Tensor& b) { return a.maximum(b); }, {0.5, 1, 0.5, 0}, {0.5, 0, 0.5, 1});
  slopes([](const Tensor& a, const Tensor& b) { return a.clip(b); }, {1, 1, 1, 0}, {0, 0, 0, 1});
  const auto slope = [](const std::function<Tensor(const Tensor&)>& f, const std::vector<double>& values,
                        const std::vector<double>& by) {
    Tensor x = f64({-3, -1, 0, 1, 2, 3, 6, NAN}, {8});
    expect_all(f(x), values, 1e-15);
    x.requires_grad(true);
    expect_all(gradients(f(x).sum(), {&x, 1})[0], by, 1e-15);
  };
  slope([](const Tensor& x) { return x.clip(-1, 2); }, {-1, -1, 0, 1, 2, 2, 2, NAN}, {0, 1, 1, 1, 1, 0, 0, 1});
  slope([](const Tensor& x) { return x.hardtanh(); }, {-1, -1, 0, 1, 1, 1, 1, NAN}, {0, 0, 1, 0, 0, 0, 0, 1});
  slope([](const Tensor& x) { return x.relu6(); }, {0, 0, 0, 1, 2, 3, 6, NAN}, {0, 0, 0, 1, 1, 1, 0, 1});
  slope([](const Tensor& x) { return x.hardsigmoid() * 6; }, {0, 2, 3, 4, 5, 6, 6, NAN}, {0, 1, 1, 1, 1, 0, 0, 1});
  slope([](const Tensor& x) { return x.hardswish() * 6; }, {0, -2, 0, 4, 10, 18, 36, NAN}, {-3, 1, 3, 5, 7, 6, 6, NAN});
}

TEST(Pairs, BoundsBeyondWhatIntegersHold) {
  const Tensor small = i64({100, -128, 127}).cast(dtypes::int8), whole = i64({100, 0, 255}).cast(dtypes::uint8);
  expect_all(small.clamp(std::nullopt, 300), {100, -128, 127});
  expect_all(small.clamp(-1000, 5), {5, -128, 5});
  expect_all(small.clamp(300), {127, 127, 127});
  expect_all(whole.clamp(-1), {100, 0, 255}), expect_all(whole.clamp(-1, 300), {100, 0, 255});
  expect_all(whole.maximum(-1), {100, 0, 255}), expect_all(whole.minimum(-1), {0, 0, 0});
  expect_all(whole.fmax(-1), {100, 0, 255}), expect_all(small.fmin(1 << 20), {100, -128, 127});
  expect_all(whole.clamp_max(256), {100, 0, 255}), expect_all(whole.clamp_min(7), {100, 7, 255});
  expect_all(i64({5, -5}).minimum(~std::uint64_t{0}), {5, -5});
  expect_all(i64({5}).cast(dtypes::uint64).maximum(-1), {5});
  EXPECT_EQ(whole.clamp(-1).dtype(), dtypes::uint8);
  expect_all(whole.clamp(-0.5, 300.5), {100, 0, 255});
}

TEST(Pairs, ComparedWithWhatTheDtypeDoesNotHold) {
  const Tensor small = i64({100, -128, 127}).cast(dtypes::int8);
  expect_all(small.lt(300), {1, 1, 1}), expect_all(small.le(300), {1, 1, 1});
  expect_all(small.gt(300), {0, 0, 0}), expect_all(small.ge(300), {0, 0, 0});
  expect_all(small.eq(-156), {0, 0, 0}), expect_all(small.ne(-156), {1, 1, 1});
  expect_all(small.lt(-129), {0, 0, 0}), expect_all(-129 <= small, {1, 1, 1});
  expect_all(300 < small, {0, 0, 0}), expect_all(300 > small, {1, 1, 1});
  expect_all(small.lt(127), {1, 1, 0}), expect_all(small.ge(-128), {1, 1, 1});
  const Tensor large = i64({0, -1}).cast(dtypes::uint64);
  expect_all(large.gt(-1), {1, 1}), expect_all(large.eq(-1), {0, 0});
  expect_all(i64({5, -5}).lt(~std::uint64_t{0}), {1, 1});
  EXPECT_EQ(small.lt(300).dtype(), dtypes::boolean);
}

TEST(Pairs, BetweenInfiniteEnds) {
  const Tensor a = f64({-kInf, kInf, 1, 2}, {4}), b = f64({1, 2, -kInf, 4}, {4});
  const Tensor near = f64({1, 2, 3, 4}, {4});
  expect_all(a.lerp(near, 0.5), {-kInf, kInf, 2, 3});
  expect_all(a.lerp(near, 0.75), {-kInf, kInf, 2.5, 3.5});
  expect_all(near.lerp(a, 0.25), {-kInf, kInf, 2.5, 3.5});
  expect_all(b.lerp(a, f64({0.25, 0.25, 0.75, 0.25}, {4})), {-kInf, kInf, -kInf, 3.5});
  expect_all(i64({2, 4}).lerp(i64({4, 8}), 1), {4, 8});
  expect_gradients([](const Many& xs) { return xs[0].lerp(xs[1], 0.7) + xs[1].lerp(xs[0], xs[2]); }, {{4}, {4}, {4}});
}

TEST(Pairs, OtherNames) {
  const Tensor a = f64({-1.5, 2}, {2}), b = f64({4, 0.5}, {2});
  EXPECT_TRUE(a.multiply(b).equal(a * b) && a.subtract(b).equal(a - b) && a.true_divide(b).equal(a / b));
  EXPECT_TRUE(a.greater(b).equal(a.gt(b)) && a.less_equal(b).equal(a.le(b)) && a.not_equal(b).equal(a.ne(b)));
  EXPECT_TRUE(a.absolute().equal(a.abs()) && a.fix().equal(a.trunc()) && a.sgn().equal(a.sign()));
  EXPECT_TRUE(a.clamp(-1, 1).equal(a.clip(-1, 1)) && a.positive().equal(a) && a.negative().equal(-a));
  EXPECT_TRUE(a.ger(b).equal(a.outer(b)) && a.vdot(b).equal(a.dot(b)));
  const Tensor ends = f64({-kInf, 0, kInf, NAN}, {4});
  expect_all(ends.isposinf(), {0, 0, 1, 0}), expect_all(ends.isneginf(), {1, 0, 0, 0});
  expect_all(ends.isreal(), {1, 1, 1, 1});
  EXPECT_FALSE(a.equal(b) || a.equal(f64({-1.5}, {1})) || a.allclose(b));
  EXPECT_TRUE(a.allclose(a + 1e-9) && !ends.allclose(ends) && ends.allclose(ends, 0, 0, true));
  expect_error([] { bools({true}, {1}).positive(); }, "[positive] the tensor has dtype bool");
  expect_error([&] { i64({1}).addcdiv(i64({1}), i64({1})); }, "[addcdiv] the dividend and the divisor are integers");
}

}  // namespace
}  // namespace strata::test
