#include "tests/accuracy/reference.h"

#include <array>
#include <cmath>
#include <cstdint>

#include "tests/accuracy/big.h"

namespace strata::test {
namespace {

Big exp_of(const Big& x) { return x.apply(mpfr_exp); }
Big sqrt_of(const Big& x) { return x.apply(mpfr_sqrt); }
Big erfc_of(const Big& x) { return x.apply(mpfr_erfc); }

/// Bernoulli's numbers B2, B4, ... of which the series of Euler and Maclaurin is made.
constexpr std::array<std::pair<Real, Real>, 10> kBernoulli = {
    {{1, 6}, {-1, 30}, {1, 42}, {-1, 30}, {5, 66}, {-691, 2730}, {7, 6}, {-3617, 510}, {43867, 798}, {-174611, 330}}};

Big power(const Big& x, int n) {
  Big out(1), square = x;
  for (; n > 0; n /= 2, square = square * square)
    if (n % 2 != 0) out = out * square;
  return out;
}

/// sum of 1/(x + k)^s: terms up to 100, the rest by Euler and Maclaurin.
Big hurwitz_zeta(int s, Real from) {
  Big out, x(from);
  while (from < 100) {
    out = out + Big(1) / power(x, s);
    x = x + Big(1), from += 1;
  }
  const Big last = Big(1) / power(x, s);
  out = out + x * last / Big(s - 1) + last / Big(2);
  Big factor = Big(s) / Big(2), term = last / x;
  for (std::size_t k = 1; k <= kBernoulli.size(); ++k) {
    const auto [above, below] = kBernoulli[k - 1];
    out = out + factor * term * Big(above) / Big(below);
    const Real twice = 2 * static_cast<Real>(k);
    factor = factor * Big((s + twice - 1) * (s + twice)) / Big((twice + 1) * (twice + 2));
    term = term / (x * x);
  }
  return out;
}

/// I(x) * exp(-x) by its power series. @pre x >= 0
Big bessel_near(int order, Real x) {
  const Big half = Big(x) / Big(2), quarter = half * half;
  Big term = power(half, order), sum = term;
  for (int k = 1; k < 4000; ++k) {
    term = term * quarter / Big(static_cast<Real>(k) * static_cast<Real>(k + order));
    sum = sum + term;
    if (term.value() < sum.value() * 1e-30L) break;
  }
  return sum * exp_of(Big(-x));
}
/// The same by the asymptotic series.
Big bessel_far(int order, Real x) {
  Big term(1), sum(1);
  for (int k = 1; k < 40; ++k) {
    const Real odd = 2 * k - 1;
    term = term * Big(odd * odd - 4.0L * order * order) / (Big(8.0L * k) * Big(x));
    sum = sum + term;
  }
  return sum / sqrt_of(Big::pi() * Big(2) * Big(x));
}

}  // namespace

Real true_erfinv(Real x) {
  if (std::isnan(x) || std::fabs(x) > 1) return kRealNaN;
  if (std::fabs(x) == 1) return std::copysign(kRealInf, x);
  if (std::fabs(x) < 1e-10L) return x / std::numbers::inv_sqrtpi_v<Real> / 2;
  const Big rest = Big(1) - Big(std::fabs(x));  // erfc of the result
  const Real w = -std::log1p(-std::fabs(x)) - std::log1p(std::fabs(x)),
             c = 2 / (std::numbers::pi_v<Real> * 0.147L) - w / 2;
  Big y(std::sqrt(std::sqrt(c * c + w / 0.147L) - c));
  for (int k = 0; k < 4; ++k) {  // Halley's steps: each has three times the digits of the one before
    const Big slope = exp_of(Big(0) - y * y) * Big(2) / sqrt_of(Big::pi());
    const Big step = (erfc_of(y) - rest) / slope;
    y = y + step / (Big(1) - y * step);
  }
  return std::copysign(y.value(), x);
}

Real true_ndtr(Real x) { return (erfc_of(Big(-x) / sqrt_of(Big(2))) / Big(2)).value(); }
Real true_gelu(Real x) {
  if (std::isinf(x)) return x > 0 ? x : 0;
  return (Big(x) * erfc_of(Big(-x) / sqrt_of(Big(2))) / Big(2)).value();
}
Real true_gelu_tanh(Real x) {  // x * sigmoid of what is twice in the tangent
  if (std::isinf(x)) return x > 0 ? x : 0;
  const Big a(x), inner = sqrt_of(Big(8) / Big::pi()) * (a + a * a * a * Big(44715) / Big(1000000));
  return (a / (Big(1) + exp_of(Big(0) - inner))).value();
}

Real true_lgamma(Real x) {
  if (std::isinf(x) || (x <= 0 && std::floor(x) == x)) return kRealInf;
  return Big(x).log_gamma().value();
}
Real reflected_lgamma(Real x) { return x < 0 ? 8 * (1 + std::lgamma(1 - x)) : 0; }
Real reflected_digamma(Real x) { return x < 0 ? 8 * (1 + std::log(1 - x)) : 0; }
Real true_digamma(Real x) {
  if (x == 0) return std::copysign(kRealInf, -x);
  if (x < 0 && (std::floor(x) == x)) return kRealNaN;
  return Big(x).apply(mpfr_digamma).value();
}
Real true_polygamma(int order, Real x) {
  if (std::isnan(x)) return x;
  const Real sign = order % 2 == 0 ? -1 : 1;
  if (std::isinf(x) && x > 0) return sign * 0.0L;
  if (x <= 0 && std::floor(x) == x) return order % 2 == 0 ? kRealNaN : kRealInf;
  return (hurwitz_zeta(order + 1, x) * Big(sign * std::tgamma(static_cast<Real>(order + 1)))).value();
}

Real true_bessel(int order, bool is_scaled, Real x) {
  if (std::isnan(x)) return x;
  const Real a = std::fabs(x), sign = order == 1 && x < 0 ? -1 : 1;
  if (std::isinf(x)) return is_scaled ? 0 : sign * kRealInf;
  const Big scaled = a <= 200 ? bessel_near(order, a) : bessel_far(order, a);
  if (is_scaled) return sign * scaled.value();
  return sign * (scaled * exp_of(Big(a))).value();
}

Real true_sinc(Real x) {
  if (x == 0) return 1;
  if (std::isinf(x)) return kRealNaN;
  const Real nearest = std::round(x), rest = x - nearest, pi = std::numbers::pi_v<Real>;
  const Real sine = std::sin(pi * rest);
  return (std::fmod(nearest, 2.0L) == 0 ? sine : -sine) / (pi * x);
}

Real true_logaddexp(Real x, Real y) {
  if (std::isnan(x) || std::isnan(y)) return kRealNaN;
  if (x == y) return x + std::numbers::ln2_v<Real>;
  return std::fmax(x, y) + std::log1p(std::exp(-std::fabs(x - y)));
}
Real true_logaddexp2(Real x, Real y) {
  if (std::isnan(x) || std::isnan(y)) return kRealNaN;
  if (x == y) return x + 1;
  return std::fmax(x, y) + std::log1p(std::exp2(-std::fabs(x - y))) * std::numbers::log2e_v<Real>;
}
Real true_softplus(Real x) {
  if (std::isnan(x)) return x;
  return std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
}
Real true_sigmoid(Real x) {
  const Real e = std::exp(-std::fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}
/// tanh(log(1 + u)) is u*(u + 2) / (u*(u + 2) + 2).
Real true_mish(Real x) {
  if (std::isinf(x)) return x > 0 ? x : 0;
  const Real e = std::exp(-std::fabs(x));
  if (x > 0) return x * (1 + 2 * e) / (1 + 2 * e + 2 * e * e);
  return x * e * (e + 2) / (e * (e + 2) + 2);
}

Real true_tanhshrink(Real x) {
  if (std::isinf(x)) return x;
  if (std::fabs(x) < 1e-6L) return x * x * x / 3 * (1 - x * x * 0.4L);
  return (Big(x) - Big(x).apply(mpfr_tanh)).value();
}
Real true_ldexp(Real x, Real y) { return (x == 0 || std::isinf(x)) && std::isfinite(y) ? x : x * std::exp2(y); }
Real true_xlogy(Real x, Real y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log(y); }
Real true_xlog1py(Real x, Real y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log1p(y); }

}  // namespace strata::test
