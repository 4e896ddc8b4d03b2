// Fits the polynomials of strata/tensor/special_*.cpp and elementwise.cpp, by interpolation at Chebyshev's points in
// 224 bits.
//
//   accuracy_fit [NAME...]      prints each fit's largest relative error and its coefficients, the highest power first
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tests/accuracy/big.h"
#include "tests/accuracy/reference.h"

namespace strata::test {
namespace {

using Function = std::function<Big(const Big&)>;

/// f(v) by a polynomial of (v - middle) * scale, v from low to high.
struct Fit {
  std::string name;
  Function f;
  Real low, high, middle, scale;
  int f32, f64;  ///< degrees
};

Big exp_of(const Big& x) { return x.apply(mpfr_exp); }
Big root(const Big& x) { return x.apply(mpfr_sqrt); }

/// Newton's divided differences at the points, expanded in powers.
std::vector<Big> interpolate(const std::vector<Big>& at, std::vector<Big> values) {
  const std::size_t n = at.size();
  for (std::size_t k = 1; k < n; ++k)
    for (std::size_t i = n; i-- > k;) values[i] = (values[i] - values[i - 1]) / (at[i] - at[i - k]);
  std::vector<Big> out(n);
  for (std::size_t k = n; k-- > 0;) {  // out = out * (x - at[k]) + values[k]
    for (std::size_t i = n; i-- > 0;) out[i] = (i == 0 ? Big(0) : out[i - 1]) - at[k] * out[i];
    out[0] = out[0] + values[k];
  }
  return out;
}

void print(const Fit& fit, int degree) {
  std::vector<Big> at, values;
  const Real middle = (fit.low + fit.high) / 2, half = (fit.high - fit.low) / 2;
  for (int k = 0; k <= degree; ++k) {
    const Real v = middle - half * std::cos(std::numbers::pi_v<Real> * (k + 0.5L) / (degree + 1));
    at.push_back((Big(v) - Big(fit.middle)) * Big(fit.scale));
    values.push_back(fit.f(Big(v)));
  }
  const std::vector<Big> c = interpolate(at, values);
  Real worst = 0;
  for (int k = 0; k < 400; ++k) {
    const Big v(middle - half * std::cos(std::numbers::pi_v<Real> * (k + 0.5L) / 400));
    const Big x = (v - Big(fit.middle)) * Big(fit.scale), want = fit.f(v);
    Big got;
    for (std::size_t i = c.size(); i-- > 0;) got = got * x + c[i];
    worst = std::max(worst, std::fabs(((got - want) / want).value()));
  }
  std::printf("%s: degree %d, error 2^%.1Lf\n   ", fit.name.c_str(), degree, std::log2(worst));
  for (std::size_t i = c.size(); i-- > 0;) std::printf(" %.17Lg%s", c[i].value(), i == 0 ? "\n" : ",");
}

/// (f(x) - x) / x^3 by t = x^2.
Function cubic(int (*f)(mpfr_t, const mpfr_t, mpfr_rnd_t)) {
  return [f](const Big& t) {
    const Big x = root(t);
    return (x.apply(f) - x) / (t * x);
  };
}
Big scaled_bessel(int order, const Big& x) {
  const Big half = x / Big(2), quarter = half * half;
  Big term(1), sum(1);
  for (int k = 1; k < 600; ++k) {
    term = term * quarter / Big(static_cast<Real>(k) * static_cast<Real>(k + order));
    sum = sum + term;
  }
  return sum * exp_of(Big(0) - x) * (order == 1 ? half : Big(1));
}
/// erfinv(x) / x by w = -log(1 - x*x).
Big erfinv_factor(const Big& w) {
  const Big rest = exp_of(Big(0) - w), x = root(Big(1) - rest);
  const Big tail = rest / (Big(1) + x);  // erfc of the result
  const Real l = -w.value(), c = 2 / (std::numbers::pi_v<Real> * 0.147L) + l / 2;
  Big y(std::sqrt(std::max(1e-30L, std::sqrt(c * c - l / 0.147L) - c)));
  for (int k = 0; k < 6; ++k) {
    const Big slope = exp_of(Big(0) - y * y) * Big(2) / root(Big::pi());
    const Big step = (y.apply(mpfr_erfc) - tail) / slope;
    y = y + step / (Big(1) - y * step);
  }
  return y / x;
}
/// Where digamma is 0.
Big digamma_zero() {
  Big x(1.4616321449683623L);
  for (int k = 0; k < 6; ++k) {
    const Big h(1e-20L);
    const Big slope = ((x + h).apply(mpfr_digamma) - (x - h).apply(mpfr_digamma)) / (h + h);
    x = x - x.apply(mpfr_digamma) / slope;
  }
  return x;
}

std::vector<Fit> fits() {
  const Real k = 3 / std::numbers::sqrt2_v<Real>, tail_end = (10.2L - k) / (10.2L + k), wide_end = (28 - k) / (28 + k);
  const auto tail = [k](const Big& u) {
    const Big a = Big(k) * (Big(1) + u) / (Big(1) - u);
    return exp_of(a * a) * a.apply(mpfr_erfc) * (a + Big(k));
  };
  const auto gelu_tail = [](const Big& u) {  // of a negative argument, its sign apart
    const Big a = (Big(1) + Big(2) * u) / (Big(1) - u);
    return a * exp_of(a * a / Big(2)) * (a / root(Big(2))).apply(mpfr_erfc) / Big(2);
  };
  const auto gelu_near = [](const Big& t) {
    const Big x = root(t);
    return (x / root(Big(2))).apply(mpfr_erf) / (x * Big(2));
  };
  const auto lgamma = [](const Big& y) { return y.log_gamma() / ((y - Big(1)) * (y - Big(2))); };
  const Big zero = digamma_zero();
  std::printf("digamma's zero: %.17g + %.17Lg\n", static_cast<double>(zero.value()),
              (zero - Big(static_cast<double>(zero.value()))).value());
  const auto near = [](int order) { return [order](const Big& x) { return scaled_bessel(order, x); }; };
  const auto far = [](int order) {
    return [order](const Big& inverse) {
      const Big x = Big(1) / inverse;
      return x.value() > 300 ? Big(true_bessel(order, true, x.value())) * root(x) : scaled_bessel(order, x) * root(x);
    };
  };
  return {
      {"asin", cubic(mpfr_asin), 0, 0.25L, 0, 1, 5, 13},
      {"asinh", cubic(mpfr_asinh), 0, 0.25L, 0, 1, 4, 12},
      {"tanhshrink", cubic(mpfr_tanh), 0, 1.2101L, 0, 1, 7, 16},
      {"erfc tail, f32", tail, -1, tail_end, 0, 1, 10, -1},
      {"erfc tail, f64", tail, -1, wide_end, 0, 1, -1, 26},
      {"gelu tail, f32", gelu_tail, -0.2L, 13.4L / 16.4L, 0, 1, 11, -1},
      {"gelu tail, f64", gelu_tail, -0.2L, 37.6L / 40.6L, 0, 1, -1, 27},
      {"gelu near", gelu_near, 1e-20L, 0.25L, 0, 1, 4, 8},
      {"erfinv near", erfinv_factor, 1e-12L, 6.25L, 3.125L, 1, 11, 24},
      {"erfinv far", [](const Big& r) { return erfinv_factor(r * r); }, 2.5L, 4.1L, 3.25L, 1, 9, 22},
      {"erfinv farthest", [](const Big& r) { return erfinv_factor(r * r); }, 4, 6.1L, 5, 1, 6, 20},
      {"lgamma around 1", [lgamma](const Big& h) { return lgamma(h + Big(1)); }, -0.5L, 0.5L, 0, 1, 12, 27},
      {"lgamma from 1.5 to 3", lgamma, 1.5L, 3, 2.25L, 1, 9, 20},
      {"digamma", [zero](const Big& y) { return y.apply(mpfr_digamma) / (y - zero); }, 1, 2, 1.5L, 1, 10, 21},
      {"i0 near", near(0), 2, 8, 5, 1 / 3.0L, 14, 24},
      {"i1 near", near(1), 2, 8, 5, 1 / 3.0L, 14, 25},
      {"i0 far", far(0), 1e-18L, 0.125L, 0.0625L, 16, 5, 24},
      {"i1 far", far(1), 1e-18L, 0.125L, 0.0625L, 16, 5, 24},
  };
}

int run(int argc, char** argv) {
  Big::bits = 224;
  for (const Fit& fit : fits()) {
    if (argc > 1 && std::find(argv + 1, argv + argc, fit.name) == argv + argc) continue;
    if (fit.f32 >= 0) print(fit, fit.f32);
    if (fit.f64 >= 0) print(fit, fit.f64);
  }
  return 0;
}

}  // namespace
}  // namespace strata::test

int main(int argc, char** argv) { return strata::test::run(argc, argv); }
