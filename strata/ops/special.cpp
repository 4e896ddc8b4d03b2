// Special functions of Values: the values of special_values.h, computed in the dtype of the argument (16-bit floats in
// f32), with explicit gradients, which are functions of this file again.

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "strata/ops/operand_promotion.h"
#include "strata/ops/special_values.h"

namespace strata::ops {

namespace {

using std::numbers::pi;

constexpr double kEndless = std::numeric_limits<double>::infinity();

/// f(x) in the dtype of x; integers are cast to f32, 16-bit floats are computed in f32.
Value in_precision(const Value& x, Value (*f)(const Value&)) {
  const Value real = as_real(x);
  return (real.itemsize() == 2 ? f(real.cast(dtypes::float32)).cast(real.dtype()) : f(real));
}

/// `value`, a function of x, with the derivative Slope{}(x), a lambda without captures.
template <class Slope>
Value with_slope(const Value& value, const Value& x, Slope) {
  if (!x.is_tracked()) return value;
  const auto backward = [](const Value& dy, const Saved& saved) { return std::vector{dy * Slope{}(saved[0])}; };
  if constexpr (!kTakesGradients) return value;
  return with_gradient(value, {&x, 1}, backward, Saved({x}));
}

// --- functions related to erf ---

Value erfc_of(const Value& x) {
  return with_slope(formula(erfc_value, x.detach()), x,
                    [](const Value& a) { return a.square().neg().exp() * (-2 * std::numbers::inv_sqrtpi); });
}

Value erfinv_of(const Value& x) {
  return with_slope(formula(erfinv_value, x.detach()), x,
                    [](const Value& t) { return t.erfinv().square().exp() * (std::sqrt(pi) / 2); });
}

// --- log|gamma| and its derivatives ---

Value lgamma_of(const Value& x) {
  return with_slope(formula(lgamma_value, x.detach()), x, [](const Value& a) { return a.digamma(); });
}

Value digamma_of(const Value& x) {
  return with_slope(formula(digamma_value, x.detach()), x, [](const Value& a) { return a.polygamma(1); });
}

// --- modified Bessel functions of order 0 and 1; i0e() and i1e() are divided by exp(|x|) ---

/// 1/x, and 0 at 0.
Value inverse_or_zero(const Value& x) { return x.eq(0).where(0, x.eq(0).where(1, x).reciprocal()); }

template <int order, bool is_scaled>
Value bessel_of(const Value& x) {
  return bessel_value(x, order, is_scaled);
}

Value i0_of(const Value& x) {
  return with_slope(formula(bessel_of<0, false>, x.detach()), x, [](const Value& a) { return a.i1(); });
}
Value i0e_of(const Value& x) {
  return with_slope(formula(bessel_of<0, true>, x.detach()), x,
                    [](const Value& a) { return a.i1e() - a.sign() * a.i0e(); });
}
Value i1_of(const Value& x) {
  return with_slope(formula(bessel_of<1, false>, x.detach()), x,
                    [](const Value& a) { return a.eq(0).where(0.5, a.i0() - a.i1() * inverse_or_zero(a)); });
}
Value i1e_of(const Value& x) {
  return with_slope(formula(bessel_of<1, true>, x.detach()), x, [](const Value& a) {
    return a.eq(0).where(0.5, a.i0e() - a.i1e() * (a.sign() + inverse_or_zero(a)));
  });
}

/// The Taylor coefficients of (d/dy sin(y)/y) / y as a polynomial in y*y, the highest power first: (-1)^k * 2k / (2k +
/// 1)!
std::vector<double> sinc_slopes() {
  std::vector<double> out;
  double factorial = 1;
  for (int k = 1; k <= 12; ++k) {
    factorial *= 2.0 * k * (2.0 * k + 1);
    out.insert(out.begin(), (k % 2 == 0 ? 2.0 : -2.0) * k / factorial);
  }
  return out;
}
Value sinc_of(const Value& x) {
  return with_slope(formula(sinc_value, x.detach()), x, [](const Value& a) {
    // NOTE: near 0 the difference cancels; the series is used there.
    const Value is_near = a.abs().lt(0.5), angle = is_near.where(1, a) * pi;
    const Value near = is_near.where(a, 0);
    const Value series = polynomial(sinc_slopes(), (near * pi).square()) * near * (pi * pi);
    return is_near.where(series, (angle.cos() - a.sinc()) / is_near.where(1, a));
  });
}

Value ndtr_of(const Value& x) {
  return with_slope(formula(ndtr_value, x.detach()), x, [](const Value& a) {
    return (a.square() * -0.5).exp() * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  });
}
Value entr_of(const Value& x) {
  const Value out = x * x.le(0).where(1, x).log();
  return x.lt(0).where(-kEndless, x.isnan().where(x, -out));
}

constexpr std::int64_t kMostDerivatives = 60;  // factorials and powers of pi up to this order are computed accurately

/// polygamma() of this order; its derivative is polygamma() of the next order.
Value derivative_of_digamma(const Value& x, std::int64_t order) {
  const Value real = as_real(x);
  const Value wide = real.itemsize() == 2 ? real.cast(dtypes::float32) : real;
  const Value out = polygamma_value(wide.detach(), static_cast<int>(order));
  const auto backward = [](const Value& dy, const Saved& saved) {
    return std::vector{dy * derivative_of_digamma(saved[0], saved.number(0) + 1)};
  };
  return with_gradient(out, {&wide, 1}, backward, Saved({wide}, {order})).cast(real.dtype());
}

}  // namespace

#define STRATA_SPECIAL(name, f) \
  Value Value::name() const { return in_precision(*this, f); }
STRATA_SPECIAL(erfc, erfc_of)
STRATA_SPECIAL(erfinv, erfinv_of)
STRATA_SPECIAL(lgamma, lgamma_of)
STRATA_SPECIAL(digamma, digamma_of)
STRATA_SPECIAL(i0, i0_of)
STRATA_SPECIAL(i0e, i0e_of)
STRATA_SPECIAL(i1, i1_of)
STRATA_SPECIAL(i1e, i1e_of)
STRATA_SPECIAL(sinc, sinc_of)
STRATA_SPECIAL(ndtr, ndtr_of)
STRATA_SPECIAL(entr, entr_of)
#undef STRATA_SPECIAL

Value Value::polygamma(std::int64_t order) const {
  STRATA_CHECK(order >= 0 && order <= kMostDerivatives, domain, "[polygamma] the order is ", order, "; 0 to ",
               kMostDerivatives, " is expected");
  return order == 0 ? digamma() : derivative_of_digamma(*this, order);
}

/// The sum over k < p of lgamma(x - k/2), plus p*(p - 1)/4 * log(pi).
Value Value::mvlgamma(std::int64_t p) const {
  constexpr std::int64_t kMost = 1024;
  STRATA_CHECK(p >= 1 && p <= kMost, domain, "[mvlgamma] the dimension is ", p, "; 1 to ", kMost, " is expected");
  const auto dimension = static_cast<double>(p);
  Value out = lgamma();
  for (std::int64_t k = 1; k < p; ++k) out = out + (*this - static_cast<double>(k) * 0.5).lgamma();
  return out + dimension * (dimension - 1) / 4 * std::log(pi);
}

Value Value::logit(std::optional<double> eps) const {
  const Value real = as_real(*this);
  if (eps && real.itemsize() == 2)  // 1 - eps may round to 1 in 16 bits
    return real.cast(dtypes::float32).logit(eps).cast(real.dtype());
  const Value x = eps ? real.clip(*eps, 1 - *eps) : real;
  return differentiated(
      x,
      [](const Value& t) {  // log(small / (1 - small)) for the smaller of t and 1 - t; t - 1/2 is exact around 1/2
        const Value apart = t - 0.5, small = apart.lt(0).where(t, 1 - t);
        const Value ratio = (apart.abs() * 2 / small).log1p();
        const Value size = small.lt(1e-30).where(-small.log(), ratio);
        return apart.lt(0).where(-size, size);
      },
      [](const Value& t, const Value& y) { return y.isnan().where(y, (t * (1 - t)).reciprocal()); });
}

}  // namespace strata::ops
