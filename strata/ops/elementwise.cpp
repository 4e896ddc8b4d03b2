// Elementwise functions of one tensor: primitives, compositions and activations. Many compositions are computed in two
// parts (exact.h) to be accurate, with their derivatives given explicitly.

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <type_traits>
#include <vector>

#include "strata/ops/operand_promotion.h"
#include "strata/ops/special_values.h"

namespace strata::ops {

namespace {

Value apply(Ops op, const Value& x) { return Value(LazyOp::alu(op, {x.node()})); }

/// `op` on floats; integers are cast to f32.
Value real(Ops op, const Value& x) { return apply(op, as_real(x)); }
/// A rounding op; integers and bools are unchanged.
Value rounded(Ops op, const Value& x) { return x.dtype().is_float() ? flat_in(apply(op, x), {x}) : x; }

// Polynomials in x^2 for (f(x) - x) / x^3, fitted by tests/accuracy/fit.cpp: asin and asinh for |x| <= 1/2, tanh for
// |x| <= 1.1.
constexpr std::array kAsinOfFloats = {0.0336908475, 0.0171492379, 0.0311006624,
                                      0.0445994027, 0.0750009418, 0.166666657};
constexpr std::array kAsin = {0.02961201126495512,  -0.01924167174674304, 0.019554513336123378, 0.0030448799094556773,
                              0.009319560794767446, 0.009621842970100282, 0.011566459612121669, 0.01396378001220357,
                              0.017352816540325496, 0.02237215744350722,  0.03038194447553234,  0.044642857142551895,
                              0.07500000000000118,  0.16666666666666666};
constexpr std::array kAsinhOfFloats = {-0.0142885083, 0.0287836064, -0.0445065126, 0.0749958232, -0.166666642};
constexpr std::array kAsinh = {
    -0.0014988358499957472, 0.00413835813140252,   -0.0064746008466359025, 0.00818236764637779,   -0.009725716144151688,
    0.011547475926257406,   -0.013964483323351326, 0.0173527441556904,     -0.022372158355736263, 0.030381944428513684,
    -0.044642857142677225,  0.07499999999999919,   -0.16666666666666666};
constexpr std::array kTanhOfFloats = {
    0.000110432104, -0.000807015878, 0.00304234993,  -0.00858298386, 0.0217884934,
    -0.0539564555,  0.133332666,     -0.333333327053};  // not rounded to f32: tanhshrink() scales it first
constexpr std::array kTanh = {-4.9452537729665768e-09, 6.3068063121211949e-08,  -3.9413252595478428e-07,
                              1.6475071788647499e-06,  -5.3515946172822966e-06, 1.4949258540614279e-05,
                              -3.8620095390158808e-05, 9.6573774386530759e-05,  -0.00023899506675337465,
                              0.00058998832858294418,  -0.0014558261085156545,  0.0035921268107299347,
                              -0.0088632354095915575,  0.021869488528960103,    -0.05396825396802662,
                              0.13333333333333048,     -0.33333333333333333};

/// 1/21!, 1/19!, ..., 1/3!: the Taylor polynomial in x^2 of (sinh(x) - x) / x^3, for |x| <= 1.
constexpr std::array kSinh = {1.9572941063391263e-20, 8.2206352466243297e-18, 2.8114572543455208e-15,
                              7.6471637318198165e-13, 1.6059043836821615e-10, 2.5052108385441719e-08,
                              2.7557319223985893e-06, 1.9841269841269841e-04, 8.3333333333333333e-03,
                              1.6666666666666667e-01};
constexpr std::size_t kSinhTermsOfFloats = 5;

/// x^3 * p(x^2)
Value cube_part(const Value& x, std::span<const double> p) {
  const Value square = x * x;
  return x * (square * polynomial(p, square));
}
/// x + x^3 * p(x^2)
Value with_cube(const Value& x, std::span<const double> p) { return x + cube_part(x, p); }

/// f(x) for floats; integers are cast to f32, 16-bit floats are computed in f32 and rounded once.
template <class F>
Value compound(const Value& x, const F& f) {
  if constexpr (std::is_convertible_v<F, Value (*)(const Value&)>)
    return rounded_once(as_real(x), [&](const Value& real) { return formula(f, real); });
  else
    return rounded_once(as_real(x), f);
}

/// factor / (1 + e^-w) for a w in two parts, without overflow of intermediate results.
Value share_of(const Value& factor, const TwoParts& w) {
  const Value is_below = w.high.lt(0);
  const auto [more, power, scale] = small_power({-w.high.abs(), is_below.where(w.low, -w.low)});
  const Value size = power * scale, e = size + size * more, sum = e + 1, lost = e - (sum - 1);
  const auto [above, low] = with_more(factor, is_below.where(more, 0));
  const Value share = above / sum, is_small = e.lt(0.25);
  // Correct for the rounding of the sum: e + 1 == sum + lost. For a small e the quotient is corrected as above + rest.
  const Value rest = low - share * is_small.where(e, lost);
  const Value out = is_small.where(above + rest, share + rest * (1 - e * 0.5));
  return out * is_below.where(power, 1 / scale) * scale;
}
/// x / (1 + e^-w(x)). The argument is clamped, so that the result at -infinity is 0, not NaN.
Value gated(const Value& x, TwoParts (*w)(const Value& x)) {
  const double most = is_wide(x) ? 1e4 : 1e3;
  const Value bounded = x.lt(-most).where(-most, x), near = bounded.gt(most).where(most, bounded);
  return x.gt(most).where(x, share_of(near, w(near)));
}
// The w of silu(), quick_gelu() and gelu(tanh).
TwoParts itself(const Value& x) { return {x, x.zeros_like()}; }
TwoParts quick(const Value& x) { return product_with(x, 1.702, 4.263256414560601e-17); }
/// sqrt(8/pi) * (x + 0.044715*x^3)
TwoParts cubic(const Value& given) {
  constexpr double first = 1.5957691216057308, first_low = -9.96930880911092e-17, third = 0.07135481627260025,
                   third_low = -6.175149918155315e-19;
  const Value x = given.clip(-30, 30);  // the sigmoid is 0 or 1 beyond
  const TwoParts square = square_of(x);
  const auto upper = [&](double v) {
    const int places = is_wide(x) ? 25 : 11, shift = places - std::ilogb(v);
    return std::ldexp(std::floor(std::ldexp(v, shift)), -shift);
  };
  const double first_high = upper(first), third_high = upper(third);
  const Value high = upper_half(square.high * third + first);
  const Value low =
      ((first_high - high) + square.high * third_high) +
      (square.high * (third - third_high + third_low) + square.low * third + (first - first_high + first_low));
  const Value x_high = upper_half(x);
  return {x_high * high, x_high * low + (x - x_high) * (high + low)};
}

/// The derivative of x * s, where s = sigmoid(w) and `inner` is the derivative of w.
Value slope_of_gate(const Value& x, const Value& s, const Value& inner) { return s + x * inner * (s * (1 - s)); }

constexpr double kHalfPiLow = 6.123233995736766e-17;

/// log(x) * log10(e), with log10(e) in two parts.
Value log10_of(const Value& x) {
  const auto [high, low] = parts_for(x, std::numbers::log10e, 1.098319650216765e-17);
  const Value y = x.log();
  return y.isinf().where(y, y * high + y * low);
}

/// min(x, 0), with the derivative 1 at 0; that of minimum() is 1/2.
Value not_above_zero(const Value& x) { return x.gt(0).where(0, x); }

}  // namespace

Value Value::cast(DType dtype) const { return Value(node().cast(dtype)); }
Value Value::bitcast(DType dtype) const { return Value(node().bitcast(dtype)); }

// --- primitives ---

Value Value::positive() const {
  STRATA_CHECK(!dtype().is_bool(), domain, "[positive] the tensor has dtype bool; a number dtype is expected");
  return *this;
}
Value Value::neg() const {
  STRATA_CHECK(!dtype().is_bool(), domain, "[neg] a bool has no negative: use logical_not()");
  return apply(Ops::NEG, *this);
}
Value Value::abs() const { return dtype().is_bool() ? *this : apply(Ops::ABS, *this); }
Value Value::sqrt() const { return real(Ops::SQRT, *this); }
Value Value::reciprocal() const { return real(Ops::RECIP, *this); }
Value Value::exp() const { return real(Ops::EXP, *this); }
Value Value::exp2() const { return real(Ops::EXP2, *this); }
Value Value::expm1() const { return real(Ops::EXPM1, *this); }
Value Value::log() const { return real(Ops::LOG, *this); }
Value Value::log2() const { return real(Ops::LOG2, *this); }
Value Value::log1p() const { return real(Ops::LOG1P, *this); }
Value Value::sin() const { return real(Ops::SIN, *this); }
Value Value::cos() const { return real(Ops::COS, *this); }
Value Value::tan() const { return real(Ops::TAN, *this); }
Value Value::atan() const { return real(Ops::ATAN, *this); }
Value Value::tanh() const { return real(Ops::TANH, *this); }
Value Value::erf() const { return real(Ops::ERF, *this); }
Value Value::floor() const { return rounded(Ops::FLOOR, *this); }
Value Value::ceil() const { return rounded(Ops::CEIL, *this); }
Value Value::round() const { return rounded(Ops::ROUND, *this); }
Value Value::trunc() const { return rounded(Ops::TRUNC, *this); }
Value Value::bitwise_not() const { return apply(Ops::NOT, *this); }
Value Value::logical_not() const { return apply(Ops::NOT, cast(dtypes::boolean)); }

// --- compositions ---

Value Value::sign() const {
  if (dtype().is_bool()) return *this;
  const Value out = gt(0).cast(dtype()) - lt(0).cast(dtype());
  return dtype().is_float() ? isnan().where(*this, out) : out;
}
Value Value::square() const { return dtype().is_bool() ? cast(dtypes::int64) : mul(*this); }
Value Value::rsqrt() const {
  return compound(*this, [](const Value& x) { return x.sqrt().reciprocal(); });
}
Value Value::log10() const {
  return differentiated(
      *this, [](const Value& x) { return log10_of(x); },
      [](const Value& x, const Value&) { return x.reciprocal() * std::numbers::log10e; });
}
/// For |x| > 1/2: asin(|x|) = pi/2 - 2*asin(sqrt((1 - |x|)/2)).
Value Value::asin() const {
  return differentiated(
      *this,
      [](const Value& x) {
        const Value a = x.abs(), is_far = a.gt(0.5), near = is_far.where(((1 - a) * 0.5).sqrt(), a);
        const Value cube = cube_part(near, places_for(x, kAsinOfFloats, kAsin)), y = near + cube;
        const auto [high, low] = parts_for(x, std::numbers::pi / 2, kHalfPiLow);
        // NOTE: f64 does not use y, whose rounding would add to the error.
        const Value far = is_wide(x) ? (high - near * 2) - (cube * 2 - low) : (high - y * 2) + low;
        const Value out = is_far.where(far, y);
        return x.lt(0).where(-out, out) + x * 0;
      },
      [](const Value& x, const Value&) { return ((1 - x) * (1 + x)).rsqrt(); });
}
Value Value::acos() const {
  return differentiated(
      *this,
      [](const Value& x) {
        const Value a = x.abs(), is_far = a.gt(0.5), near = is_far.where(((1 - a) * 0.5).sqrt(), x);
        const Value y = with_cube(near, places_for(x, kAsinOfFloats, kAsin));
        const auto [high, low] = parts_for(x, std::numbers::pi / 2, kHalfPiLow);
        const Value far = x.lt(0).where((2 * high - y * 2) + 2 * low, y * 2);
        return is_far.where(far, (high - y) + low);
      },
      [](const Value& x, const Value&) { return -((1 - x) * (1 + x)).rsqrt(); });
}
Value Value::sinh() const {
  return differentiated(
      *this,
      [](const Value& x) {
        const std::span<const double> terms(kSinh);
        const Value a = x.abs(), half = exp_over(a, 2) * 2, large = half - half.reciprocal() * 0.25;
        const Value small = with_cube(x.clip(-1, 1), is_wide(x) ? terms : terms.last(kSinhTermsOfFloats));
        return a.gt(1).where(x.lt(0).where(-large, large), small);
      },
      [](const Value& x, const Value&) { return x.cosh(); });
}
Value Value::cosh() const {
  return differentiated(
      *this,
      [](const Value& x) {
        const Value half = exp_over(x.abs(), 2) * 2;
        return half + half.reciprocal() * 0.25;
      },
      [](const Value& x, const Value&) { return x.sinh(); });
}
Value Value::asinh() const {
  return differentiated(
      *this,
      [](const Value& x) {
        const Value a = x.abs(), middle = (a + a * a / (1 + (a * a + 1).sqrt())).log1p();
        const Value out = a.gt(1e9).where(a.log() + std::numbers::ln2, middle);
        const Value small = with_cube(x.clip(-0.5, 0.5), places_for(x, kAsinhOfFloats, kAsinh));
        return a.le(0.5).where(small, x.lt(0).where(-out, out));
      },
      [](const Value& x, const Value&) { return (x * x + 1).rsqrt(); });
}
/// Near 1: acosh(x) = asinh(sqrt(x*x - 1)).
Value Value::acosh() const {
  return differentiated(
      *this,
      [](const Value& x) {
        const Value t = x.lt(1).where(std::numeric_limits<double>::quiet_NaN(), x - 1);
        const Value root = (t * (x + 1)).sqrt();
        const Value small = with_cube(root.minimum(0.5), places_for(x, kAsinhOfFloats, kAsinh));
        const Value large = x.gt(1e9).where(x.log() + std::numbers::ln2, (t + root).log1p());
        return root.le(0.5).where(small, large);
      },
      [](const Value& x, const Value&) { return ((x - 1).sqrt() * (x + 1).sqrt()).reciprocal(); });
}
Value Value::atanh() const {
  return differentiated(
      *this,
      [](const Value& x) {
        const Value a = x.abs(), out = (a * 2 / (1 - a)).log1p() * 0.5;
        return x.lt(0).where(-out, out);
      },
      [](const Value& x, const Value&) { return ((1 - x) * (1 + x)).reciprocal(); });
}
Value Value::frac() const { return sub(trunc()); }
Value Value::round(std::int64_t decimals) const {
  const double places = std::pow(10.0, static_cast<double>(decimals));
  return decimals == 0 ? round() : (*this * places).round() / places;
}
Value Value::deg2rad() const {
  return compound(*this, [](const Value& x) { return x * (std::numbers::pi / 180); });
}
Value Value::rad2deg() const {
  return compound(*this, [](const Value& x) { return x * (180 / std::numbers::pi); });
}

Value Value::isnan() const { return ne(*this); }
Value Value::isinf() const {
  return dtype().is_float() ? abs().eq(std::numeric_limits<double>::infinity()) : zeros_like().cast(dtypes::boolean);
}
Value Value::isposinf() const { return isinf() & gt(0); }
Value Value::isneginf() const { return isinf() & lt(0); }
Value Value::isreal() const { return ones_like().cast(dtypes::boolean); }
Value Value::angle() const {
  const Value x = as_real(*this).detach();
  return flat_in(x.isnan().where(x, x.lt(0).where(std::numbers::pi, x.zeros_like())), {*this});
}
Value Value::isfinite() const { return isnan().logical_or(isinf()).logical_not(); }
Value Value::signbit() const {
  if (!dtype().is_float()) return lt(0);
  const DType bits = itemsize() == 2 ? dtypes::int16 : itemsize() == 4 ? dtypes::int32 : dtypes::int64;
  return bitcast(bits).lt(0);
}
namespace {
/// isclose() of integers. The difference is computed as an unsigned integer, which is exact.
Value is_close_of_integers(const Value& a, const Value& b, double rtol, double atol) {
  const bool is_wide = a.dtype() == dtypes::uint64 && b.dtype() == dtypes::uint64;
  if (!is_wide && (a.dtype() == dtypes::uint64 || b.dtype() == dtypes::uint64))  // promoted to f64
    return a.cast(dtypes::float64).isclose(b.cast(dtypes::float64), rtol, atol);
  const DType d = is_wide ? dtypes::uint64 : dtypes::int64;
  const Value x = a.cast(d), y = b.cast(d);
  const Value apart = (x.maximum(y) - x.minimum(y)).bitcast(dtypes::uint64).cast(dtypes::float64);
  return apart.le(y.cast(dtypes::float64).abs() * rtol + atol);
}
}  // namespace

Value Value::isclose(const Value& other, double rtol, double atol, bool equal_nan) const {
  if (!dtype().is_float() && !other.dtype().is_float()) return is_close_of_integers(*this, other, rtol, atol);
  const Value near = isfinite() & other.isfinite() & (*this - other).abs().le(other.abs() * rtol + atol);
  const Value out = near | eq(other);
  return equal_nan ? out | (isnan() & other.isnan()) : out;
}
Value Value::nan_to_num(double nan, std::optional<double> inf, std::optional<double> neg_inf) const {
  if (!dtype().is_float()) return *this;
  const double infinity = std::numeric_limits<double>::infinity();
  const Value numbers = isnan().where(nan, *this);
  return eq(infinity).where(inf.value_or(highest(dtype())),
                            eq(-infinity).where(neg_inf.value_or(lowest(dtype())), numbers));
}

/// Replaces the exponent bits by those of 1/2. Subnormal numbers are scaled to normal ones first.
std::pair<Value, Value> Value::frexp() const {
  STRATA_CHECK(dtype().is_float(), domain, "[frexp] takes floats, not ", dtype().name());
  if (itemsize() == 2) {
    const auto [mantissa, exponent] = cast(dtypes::float32).frexp();
    return {mantissa.cast(dtype()), exponent};
  }
  const bool is_double = itemsize() == 8;
  const DType bits = is_double ? dtypes::int64 : dtypes::int32;
  const int places = is_double ? 52 : 23, half = is_double ? 1022 : 126;
  const std::int64_t field = (std::int64_t{2 * half + 3} << places);
  const double least_normal = std::ldexp(1.0, 1 - half);
  const Value is_small = abs().lt(least_normal);
  const Value scaled = is_small.where(*this * std::ldexp(1.0, places + 1), *this);
  const Value pattern = scaled.detach().bitcast(bits);
  const Value is_plain = isfinite() & ne(0);
  const Value exponent = pattern.bitwise_and(field).rshift(places) - half - is_small.where(places + 1, 0);
  const Value normal = pattern.bitwise_and(~field).bitwise_or(std::int64_t{half} << places);
  const Value power = is_plain.where(exponent, 0).cast(dtypes::int32);
  const Value mantissa = is_plain.where(normal.bitcast(dtype()), detach());
  if (!is_tracked()) return {mantissa, power};
  const auto backward = [](const Value& dy, const Saved& saved) {
    return std::vector{dy * saved[0].neg().cast(dy.dtype()).exp2()};
  };
  return {with_gradient(mantissa, {this, 1}, backward, Saved({power})), power};
}

// --- activations ---

Value Value::relu() const {
  const LazyOp& x = node();
  const DType d = x.dtype().is_bool() ? dtypes::int64 : x.dtype();  // as where() promotes bools and a number
  const LazyOp from = x.cast(d), zero = LazyOp::constant(Scalar::of(d, std::int64_t{0}), x.shape());
  return Value(LazyOp::alu(Ops::WHERE, {at_or_below(from, zero), zero, from}));  // NaN stays NaN
}
Value Value::relu6() const { return hardtanh(0, 6); }
Value Value::sigmoid() const {
  return differentiated(
      *this,
      [](const Value& x) {
        const Value e = x.abs().neg().exp();
        return x.lt(0).where(e, 1) / (e + 1);
      },
      [](const Value&, const Value& y) { return y * (1 - y); });
}
Value Value::logsigmoid() const {
  return differentiated(
      *this, [](const Value& x) { return x.minimum(0) - x.abs().neg().exp().log1p(); },
      [](const Value& x, const Value&) { return x.neg().sigmoid(); });
}
Value Value::silu() const {
  return differentiated(
      *this, [](const Value& x) { return gated(x, itself); },
      [](const Value& x, const Value&) { return slope_of_gate(x, x.sigmoid(), x.ones_like()); });
}
/// x * t with t = tanh(log(1 + exp(x))). With e = exp(-|x|):
///   x >= 0: t = 1 - 2*e^2 / (1 + 2*e + 2*e^2)
///   x < 0:  t = e * (1 - e*(e + 1) / (e*(e + 2) + 2))
/// For e > 1/2 the subtraction from 1 would lose accuracy; there t, or t/e, is written as 1/2 plus a small quotient.
Value Value::mish() const {
  return differentiated(
      *this,
      [](const Value& given) {
        const double most = is_wide(given) ? 1e4 : 1e3;
        const Value x = given.abs().gt(most).where(-most, given), is_below = x.lt(0);
        const auto [more, power, scale] = small_power({-x.abs(), x.zeros_like()});
        const Value size = power * scale, e = size + size * more, square = e * e;
        const Value is_large = e.gt(0.5), from = is_large.where(0.5, e.ones_like());
        const Value below = is_large.where(1 - square * 0.5, -(square + e)) / (square + e * 2 + 2);
        const Value above = is_large.where((e + 0.5) - square, square * -2) / (square * 2 + e * 2 + 1);
        const Value share = is_below.where(below, above);
        const auto [part, low] = with_more(x, is_below.where(more, 0));
        const Value out = part * from + (part * share + low * (from + share));
        return given.gt(most).where(given, out * is_below.where(power, 1 / scale) * scale);
      },
      [](const Value& x, const Value&) {
        const Value t = x.softplus().tanh();
        return t + x * x.sigmoid() * (1 - t * t);
      });
}
Value Value::elu(double alpha) const {
  return compound(*this, [alpha](const Value& x) { return x.gt(0).where(x, not_above_zero(x).expm1() * alpha); });
}
Value Value::celu(double alpha) const {
  return compound(*this,
                  [alpha](const Value& x) { return x.gt(0).where(x, (not_above_zero(x) / alpha).expm1() * alpha); });
}
Value Value::selu() const {
  return compound(*this, [](const Value& x) {
    const Value e = not_above_zero(x).expm1();
    const auto [high, low] = parts_for(x, 1.7580993408473768, 1.41535193800845e-17);
    return x.gt(0).where(x * 1.0507009873554805, e * high + e * low);
  });
}
Value Value::leaky_relu(double slope) const { return gt(0).where(*this, *this * slope); }
Value Value::softplus(double beta, double threshold) const {
  return compound(*this, [beta, threshold](const Value& x) {
    const Value scaled = x * beta;
    return scaled.gt(threshold).where(x, scaled.logaddexp(0) / beta);
  });
}
Value Value::hardtanh(double low, double high) const {
  if (low > high) return hardtanh(high, high);  // as clip()
  const Number least = number_for(low, dtype()), most = number_for(high, dtype());
  return le(least).where(least, ge(most).where(most, *this));  // the gradient at both bounds is 0
}
Value Value::hardsigmoid() const {
  return compound(*this, [](const Value& x) { return (x + 3).relu6() / 6; });
}
Value Value::hardswish() const {
  return differentiated(
      *this, [](const Value& x) { return x.lt(-3).where(0, x.ge(3).where(x, x * (x + 3) / 6)); },
      [](const Value& x, const Value&) { return x.lt(-3).where(0, x.ge(3).where(1, x / 3 + 0.5)); });
}
Value Value::softsign() const {
  return compound(*this, [](const Value& x) { return x / (1 + x.abs()); });
}
Value Value::tanhshrink() const {
  return differentiated(
      *this,
      [](const Value& x) {
        const Value a = x.abs(), square = x * x;
        // x^3/3 - ... as x^3/4 (exact in two parts) plus a polynomial for the rest
        const auto [cube, low] = cube_of(x);
        const std::span<const double> table = places_for(x, kTanhOfFloats, kTanh);
        std::vector<double> beyond(table.begin(), table.end());
        for (double& c : beyond) c *= -4;
        beyond.back() -= 1;
        const Value small = (cube + (low + (cube + low) * polynomial(beyond, square))) * 0.25;
        const Value large = (a - 1) + 2 / ((a * 2).exp() + 1);
        return a.lt(1.1).where(small, x.lt(0).where(-large, large));
      },
      [](const Value& x, const Value&) { return x.tanh().square(); });
}
Value Value::hardshrink(double lambda) const {
  return abs().le(lambda).where(0, *this);  // NaN stays NaN, here and in the functions below
}
Value Value::softshrink(double lambda) const {
  return gt(lambda).where(*this - lambda, ge(-lambda).where(0, *this + lambda));
}
Value Value::threshold(double threshold, double value) const {
  return le(number_for(threshold, dtype())).where(number_for(value, dtype()), *this);
}
Value Value::quick_gelu() const {
  return differentiated(
      *this, [](const Value& x) { return gated(x, quick); },
      [](const Value& x, const Value&) { return slope_of_gate(x, (x * 1.702).sigmoid(), x.full_like(1.702)); });
}
Value Value::gelu(bool tanh_approximation) const {
  if (tanh_approximation) {
    return differentiated(
        *this, [](const Value& x) { return gated(x, cubic); },
        [](const Value& x, const Value&) {
          const double c = std::sqrt(8 / std::numbers::pi);
          const Value square = x * x;
          return slope_of_gate(x, (x * (square * 0.044715 + 1) * c).sigmoid(), (square * 0.134145 + 1) * c);
        });
  }
  return differentiated(
      *this, [](const Value& x) { return gelu_value(x); },
      [](const Value& x, const Value&) {
        const double c = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
        return x.ndtr() + x * (x * x * -0.5).exp() * c;
      });
}

Value Value::to_float() const { return cast(dtypes::float32); }

}  // namespace strata::ops
