// Functions of one tensor and of two, element by element.

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "strata/tensor/access.h"
#include "strata/tensor/autograd.h"

namespace strata {

namespace {

Tensor apply(Ops op, const Tensor& x) { return TensorAccess::of(LazyOp::alu(op, {x.node()}), x); }

/// A function of real numbers.
Tensor real(Ops op, const Tensor& x, const char* name, At at) {
  const OriginScope scope(name, at);
  return apply(op, as_real(x));
}
/// A function that leaves integers and bools as they are.
Tensor rounded(Ops op, const Tensor& x, const char* name, At at) {
  const OriginScope scope(name, at);
  return x.dtype().is_float() ? apply(op, x) : x;
}

/// The smaller of x and 0. Unlike minimum() it has the slope 1 at 0.
Tensor not_above_zero(const Tensor& x) { return x.gt(0).where(0, x); }

}  // namespace

Tensor Tensor::cast(DType dtype, At at) const {
  const OriginScope scope("cast", at);
  return TensorAccess::of(node().cast(dtype), *this);
}
Tensor Tensor::bitcast(DType dtype, At at) const {
  const OriginScope scope("bitcast", at);
  return TensorAccess::of(node().bitcast(dtype), *this);
}

// --- primitives ---

Tensor Tensor::positive(At at) const {
  const OriginScope scope("positive", at);
  STRATA_CHECK(!dtype().is_bool(), domain, "[positive] of bool");
  return *this;
}
Tensor Tensor::neg(At at) const {
  const OriginScope scope("neg", at);
  STRATA_CHECK(!dtype().is_bool(), domain, "[neg] of bool: logical_not() is meant");
  return apply(Ops::NEG, *this);
}
Tensor Tensor::abs(At at) const {
  const OriginScope scope("abs", at);
  return dtype().is_bool() ? *this : apply(Ops::ABS, *this);
}
Tensor Tensor::sqrt(At at) const { return real(Ops::SQRT, *this, "sqrt", at); }
Tensor Tensor::reciprocal(At at) const { return real(Ops::RECIP, *this, "reciprocal", at); }
Tensor Tensor::exp(At at) const { return real(Ops::EXP, *this, "exp", at); }
Tensor Tensor::exp2(At at) const { return real(Ops::EXP2, *this, "exp2", at); }
Tensor Tensor::expm1(At at) const { return real(Ops::EXPM1, *this, "expm1", at); }
Tensor Tensor::log(At at) const { return real(Ops::LOG, *this, "log", at); }
Tensor Tensor::log2(At at) const { return real(Ops::LOG2, *this, "log2", at); }
Tensor Tensor::log1p(At at) const { return real(Ops::LOG1P, *this, "log1p", at); }
Tensor Tensor::sin(At at) const { return real(Ops::SIN, *this, "sin", at); }
Tensor Tensor::cos(At at) const { return real(Ops::COS, *this, "cos", at); }
Tensor Tensor::tan(At at) const { return real(Ops::TAN, *this, "tan", at); }
Tensor Tensor::atan(At at) const { return real(Ops::ATAN, *this, "atan", at); }
Tensor Tensor::tanh(At at) const { return real(Ops::TANH, *this, "tanh", at); }
Tensor Tensor::erf(At at) const { return real(Ops::ERF, *this, "erf", at); }
Tensor Tensor::floor(At at) const { return rounded(Ops::FLOOR, *this, "floor", at); }
Tensor Tensor::ceil(At at) const { return rounded(Ops::CEIL, *this, "ceil", at); }
Tensor Tensor::round(At at) const { return rounded(Ops::ROUND, *this, "round", at); }
Tensor Tensor::trunc(At at) const { return rounded(Ops::TRUNC, *this, "trunc", at); }
Tensor Tensor::bitwise_not(At at) const {
  const OriginScope scope("bitwise_not", at);
  return apply(Ops::NOT, *this);
}
Tensor Tensor::logical_not(At at) const {
  const OriginScope scope("logical_not", at);
  return apply(Ops::NOT, cast(dtypes::boolean));
}

// --- compositions ---

Tensor Tensor::sign(At at) const {
  const OriginScope scope("sign", at);
  if (dtype().is_bool()) return *this;
  const Tensor out = gt(0).cast(dtype()) - lt(0).cast(dtype());
  return dtype().is_float() ? isnan().where(*this, out) : out;
}
Tensor Tensor::square(At at) const {
  const OriginScope scope("square", at);
  return dtype().is_bool() ? cast(dtypes::int64) : mul(*this);
}
Tensor Tensor::rsqrt(At at) const {
  const OriginScope scope("rsqrt", at);
  return sqrt().reciprocal();
}
Tensor Tensor::log10(At at) const {
  const OriginScope scope("log10", at);
  return log2() * std::log10(2.0);
}
Tensor Tensor::asin(At at) const {
  const OriginScope scope("asin", at);
  return differentiated(
      *this, [](const Tensor& x) { return x.atan2(((1 - x) * (1 + x)).sqrt()); },
      [](const Tensor& x, const Tensor&) { return ((1 - x) * (1 + x)).rsqrt(); });
}
Tensor Tensor::acos(At at) const {
  const OriginScope scope("acos", at);
  return differentiated(
      *this, [](const Tensor& x) { return ((1 - x) * (1 + x)).sqrt().atan2(x); },
      [](const Tensor& x, const Tensor&) { return -((1 - x) * (1 + x)).rsqrt(); });
}
Tensor Tensor::sinh(At at) const {
  const OriginScope scope("sinh", at);
  const Tensor x = as_real(*this), e = x.expm1(), half = (x.abs() - std::numbers::ln2).exp();
  const Tensor large = (half - half.reciprocal() * 0.25) * x.sign();
  return x.abs().gt(1).where(large, (e + e / (e + 1)) * 0.5);
}
Tensor Tensor::cosh(At at) const {
  const OriginScope scope("cosh", at);
  const Tensor e = (as_real(*this).abs() - std::numbers::ln2).exp();
  return e + e.reciprocal() * 0.25;
}
Tensor Tensor::asinh(At at) const {
  const OriginScope scope("asinh", at);
  return differentiated(
      *this,
      [](const Tensor& x) {
        const Tensor a = x.abs(), small = (a + a * a / (1 + (a * a + 1).sqrt())).log1p();
        const Tensor out = a.gt(1e9).where(a.log() + std::numbers::ln2, small);
        return x.lt(0).where(-out, out);
      },
      [](const Tensor& x, const Tensor&) { return (x * x + 1).rsqrt(); });
}
Tensor Tensor::acosh(At at) const {
  const OriginScope scope("acosh", at);
  return differentiated(
      *this,
      [](const Tensor& x) {
        const Tensor t = x.lt(1).where(std::numeric_limits<double>::quiet_NaN(), x - 1);
        return x.gt(1e9).where(x.log() + std::numbers::ln2, (t + (t * (x + 1)).sqrt()).log1p());
      },
      [](const Tensor& x, const Tensor&) { return ((x - 1).sqrt() * (x + 1).sqrt()).reciprocal(); });
}
Tensor Tensor::atanh(At at) const {
  const OriginScope scope("atanh", at);
  return differentiated(
      *this,
      [](const Tensor& x) {
        const Tensor a = x.abs(), out = (a * 2 / (1 - a)).log1p() * 0.5;
        return x.lt(0).where(-out, out);
      },
      [](const Tensor& x, const Tensor&) { return ((1 - x) * (1 + x)).reciprocal(); });
}
Tensor Tensor::frac(At at) const {
  const OriginScope scope("frac", at);
  return sub(trunc());
}
Tensor Tensor::round(std::int64_t decimals, At at) const {
  const OriginScope scope("round", at);
  const double places = std::pow(10.0, static_cast<double>(decimals));
  return decimals == 0 ? round() : (*this * places).round() / places;
}
Tensor Tensor::deg2rad(At at) const {
  const OriginScope scope("deg2rad", at);
  return as_real(*this) * (std::numbers::pi / 180);
}
Tensor Tensor::rad2deg(At at) const {
  const OriginScope scope("rad2deg", at);
  return as_real(*this) * (180 / std::numbers::pi);
}

Tensor Tensor::isnan(At at) const {
  const OriginScope scope("isnan", at);
  return ne(*this);
}
Tensor Tensor::isinf(At at) const {
  const OriginScope scope("isinf", at);
  return dtype().is_float() ? abs().eq(std::numeric_limits<double>::infinity())
                            : zeros_like().cast(dtypes::boolean);
}
Tensor Tensor::isposinf(At at) const {
  const OriginScope scope("isposinf", at);
  return isinf() & gt(0);
}
Tensor Tensor::isneginf(At at) const {
  const OriginScope scope("isneginf", at);
  return isinf() & lt(0);
}
Tensor Tensor::isreal(At at) const {
  const OriginScope scope("isreal", at);
  return ones_like().cast(dtypes::boolean);
}
Tensor Tensor::angle(At at) const {
  const OriginScope scope("angle", at);
  const Tensor x = as_real(*this).detach();
  return x.isnan().where(x, x.lt(0).where(std::numbers::pi, x.zeros_like()));
}
Tensor Tensor::isfinite(At at) const {
  const OriginScope scope("isfinite", at);
  return isnan().logical_or(isinf()).logical_not();
}
Tensor Tensor::signbit(At at) const {
  const OriginScope scope("signbit", at);
  if (!dtype().is_float()) return lt(0);
  const DType bits = itemsize() == 2   ? dtypes::int16
                     : itemsize() == 4 ? dtypes::int32
                                       : dtypes::int64;
  return bitcast(bits).lt(0);
}
Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan, At at) const {
  const OriginScope scope("isclose", at);
  if (dtype().is_bool() && other.dtype().is_bool()) return eq(other);
  const Tensor near =
      isfinite() & other.isfinite() & (*this - other).abs().le(other.abs() * rtol + atol);
  const Tensor out = near | eq(other);
  return equal_nan ? out | (isnan() & other.isnan()) : out;
}
Tensor Tensor::nan_to_num(double nan, std::optional<double> inf, std::optional<double> neg_inf,
                          At at) const {
  const OriginScope scope("nan_to_num", at);
  if (!dtype().is_float()) return *this;
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor numbers = isnan().where(nan, *this);
  return eq(infinity).where(inf.value_or(highest(dtype())),
                            eq(-infinity).where(neg_inf.value_or(lowest(dtype())), numbers));
}

/// The exponent's bits are put to those of 1/2. What is below the least normal number is made larger first.
std::pair<Tensor, Tensor> Tensor::frexp(At at) const {
  const OriginScope scope("frexp", at);
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
  const Tensor is_small = abs().lt(least_normal);
  const Tensor scaled = is_small.where(*this * std::ldexp(1.0, places + 1), *this);
  const Tensor pattern = scaled.detach().bitcast(bits);
  const Tensor is_plain = isfinite() & ne(0);
  const Tensor exponent =
      pattern.bitwise_and(field).rshift(places) - half - is_small.where(places + 1, 0);
  const Tensor normal = pattern.bitwise_and(~field).bitwise_or(std::int64_t{half} << places);
  const Tensor power = is_plain.where(exponent, 0).cast(dtypes::int32);
  const Tensor mantissa = is_plain.where(normal.bitcast(dtype()), detach());
  if (!requires_grad()) return {mantissa, power};
  const auto backward = [](const Tensor& dy, const Saved& saved) {
    return std::vector{dy * saved[0].neg().cast(dy.dtype()).exp2()};
  };
  return {with_gradient(mantissa, {this, 1}, backward, Saved({power})), power};
}

// --- activations ---

Tensor Tensor::relu(At at) const {
  const OriginScope scope("relu", at);
  const LazyOp& x = node();
  const DType d = x.dtype().is_bool() ? dtypes::int64 : x.dtype();  // as where() of a number has it
  const LazyOp from = x.cast(d), zero = LazyOp::constant(Scalar::of(d, std::int64_t{0}), x.shape());
  return TensorAccess::of(LazyOp::alu(Ops::WHERE, {at_or_below(from, zero), zero, from}), *this);  // NaN stays
}
Tensor Tensor::relu6(At at) const {
  const OriginScope scope("relu6", at);
  return hardtanh(0, 6);
}
/// NOTE: where exp(-x) is infinite the derivatives of its parts would be 0 * infinity.
Tensor Tensor::sigmoid(At at) const {
  const OriginScope scope("sigmoid", at);
  return differentiated(
      *this, [](const Tensor& x) { return (1 + x.neg().exp()).reciprocal(); },
      [](const Tensor&, const Tensor& y) { return y * (1 - y); });
}
Tensor Tensor::logsigmoid(At at) const {
  const OriginScope scope("logsigmoid", at);
  return neg().softplus().neg();
}
Tensor Tensor::silu(At at) const {
  const OriginScope scope("silu", at);
  return *this * sigmoid();
}
Tensor Tensor::mish(At at) const {
  const OriginScope scope("mish", at);
  return *this * softplus().tanh();
}
Tensor Tensor::elu(double alpha, At at) const {
  const OriginScope scope("elu", at);
  return gt(0).where(*this, not_above_zero(*this).expm1() * alpha);
}
Tensor Tensor::celu(double alpha, At at) const {
  const OriginScope scope("celu", at);
  return gt(0).where(*this, (not_above_zero(*this) / alpha).expm1() * alpha);
}
Tensor Tensor::selu(At at) const {
  const OriginScope scope("selu", at);
  return elu(1.6732632423543772) * 1.0507009873554805;
}
Tensor Tensor::leaky_relu(double slope, At at) const {
  const OriginScope scope("leaky_relu", at);
  return gt(0).where(*this, *this * slope);
}
Tensor Tensor::softplus(double beta, double threshold, At at) const {
  const OriginScope scope("softplus", at);
  const Tensor x = as_real(*this) * beta;
  return x.gt(threshold).where(as_real(*this), x.logaddexp(0) / beta);
}
Tensor Tensor::hardtanh(double low, double high, At at) const {
  const OriginScope scope("hardtanh", at);
  return le(low).where(low, ge(high).where(high, *this));  // no gradient at the ends
}
Tensor Tensor::hardsigmoid(At at) const {
  const OriginScope scope("hardsigmoid", at);
  return (*this + 3).relu6() / 6;
}
Tensor Tensor::hardswish(At at) const {
  const OriginScope scope("hardswish", at);
  return lt(-3).where(0, ge(3).where(*this, *this * (*this + 3) / 6));
}
Tensor Tensor::softsign(At at) const {
  const OriginScope scope("softsign", at);
  return *this / (1 + abs());
}
Tensor Tensor::tanhshrink(At at) const {
  const OriginScope scope("tanhshrink", at);
  return *this - tanh();
}
Tensor Tensor::hardshrink(double lambda, At at) const {
  const OriginScope scope("hardshrink", at);
  return abs().gt(lambda).where(*this, 0);
}
Tensor Tensor::softshrink(double lambda, At at) const {
  const OriginScope scope("softshrink", at);
  return gt(lambda).where(*this - lambda, lt(-lambda).where(*this + lambda, 0));
}
Tensor Tensor::threshold(double threshold, double value, At at) const {
  const OriginScope scope("threshold", at);
  return gt(threshold).where(*this, value);
}
Tensor Tensor::quick_gelu(At at) const {
  const OriginScope scope("quick_gelu", at);
  return *this * (*this * 1.702).sigmoid();
}
Tensor Tensor::gelu(bool tanh_approximation, At at) const {
  const OriginScope scope("gelu", at);
  const Tensor x = as_real(*this);
  if (!tanh_approximation) return x * 0.5 * (1 + (x * std::numbers::sqrt2 * 0.5).erf());
  const double c = std::sqrt(2 / std::numbers::pi);
  return x * 0.5 * (1 + (x * c * (1 + x * x * 0.044715)).tanh());
}

}  // namespace strata
