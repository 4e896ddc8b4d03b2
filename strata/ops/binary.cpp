// Elementwise functions of two operands that broadcast, and the operators.

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "strata/base/int_math.h"
#include "strata/ops/exact.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

Value apply(const char* name, Ops op, const Operand& a, const Operand& b, DType dtype = dtypes::none) {
  return LazyOp::alu(op, promote_operands(name, {&a, &b}, dtype));
}

DType dtype_of(const Operand& a, const Operand& b) {
  const Operand* both[] = {&a, &b};
  return promoted_dtype(both);
}
/// The promoted dtype; f32 for integers and bools.
DType real_dtype_of(const Operand& a, const Operand& b) {
  const DType d = dtype_of(a, b);
  return d.is_float() ? d : dtypes::float32;
}
/// The promoted dtype; i64 for bools, which have no arithmetic.
DType number_dtype_of(const Operand& a, const Operand& b) {
  const DType d = dtype_of(a, b);
  return d.is_bool() ? dtypes::int64 : d;
}
DType integer_dtype_of(const char* name, const Operand& a, const Operand& b) {
  const DType d = dtype_of(a, b);
  STRATA_CHECK(!d.is_float(), domain, "[", name, "] takes integers or bools, not ", d.name());
  return d;
}

/// Both operands, broadcast and cast to `dtype`.
std::pair<Value, Value> both(const char* name, const Operand& a, const Operand& b, DType dtype) {
  const auto [x, y] = promote_operands(name, {&a, &b}, dtype);
  return {x, y};
}

/// f(a, b) in the promoted float dtype; 16-bit floats are computed in f32 and rounded once.
Value compound_of(const char* name, const Operand& a, const Operand& b, Value (*f)(const Value& x, const Value& y)) {
  const DType d = real_dtype_of(a, b);
  const auto [x, y] = both(name, a, b, d.itemsize() == 2 ? dtypes::float32 : d);
  return f(x, y).cast(d);
}

/// floor(a / b) for floats, as ((a - a mod b) / b), an almost whole number that is rounded: a / b itself may be rounded
/// up across a whole number.
Value float_floor_quotient(const Operand& a, const Operand& b, DType d) {
  const Value rest = apply("floor_divide", Ops::MOD, a, b, d).detach();
  const auto [x, y] = both("floor_divide", a, b, d);
  const Value is_above = rest.ne(0) & rest.lt(0).ne(y.lt(0));
  const Value whole = ((x - rest) / y - is_above.cast(d)).round();
  return flat_in(y.eq(0).where(x / y, whole), {x, y});
}

/// x^exponent by repeated squaring, for a small exponent >= 0: exact for integers, with simple gradients.
Value whole_power(const Value& x, std::int64_t exponent) {
  Value base = x, out = x.ones_like();
  bool is_one = true;
  for (std::int64_t left = exponent; left > 0; left >>= 1) {
    if (left % 2 == 1) out = is_one ? base : out * base, is_one = false;
    if (left > 1) base = base * base;
  }
  return out;
}
/// x^n for floats, rounded once at the end: repeated squaring in TwoParts arithmetic (exact.h).
template <int n>
Value exact_power(const Value& x) {
  const Value upper = upper_half(x);
  TwoParts base{upper, x - upper}, out = base;
  bool is_one = true;
  for (int left = n; left > 0; left >>= 1) {
    if (left % 2 == 1) out = is_one ? base : product_of_parts(out, base), is_one = false;
    if (left > 1) base = product_of_parts(base, base);
  }
  const Value plain = whole_power(x, n);  // NOTE: the parts of an infinity are infinity and NaN
  return plain.isfinite().where(out.high + out.low, plain);
}
template <int n>
Value exact_power_with_slope(const Value& x) {
  return differentiated(x, exact_power<n>, [](const Value& a, const Value&) { return a.pow(n - 1) * n; });
}
constexpr int kLeastExact = 4, kMostExact = 16;
/// @pre kLeastExact <= exponent <= kMostExact
template <int... n>
Value any_exact_power(const Value& x, int exponent, std::integer_sequence<int, n...>) {
  using Function = Value (*)(const Value&);
  static constexpr Function kPowers[] = {exact_power_with_slope<kLeastExact + n>...};
  return kPowers[static_cast<std::size_t>(exponent - kLeastExact)](x);
}
/// x^exponent for floats and a whole exponent >= 0. @pre exponent <= kMostExact
Value float_power_of(const Value& x, int exponent) {
  if (exponent >= kLeastExact)
    return any_exact_power(x, exponent, std::make_integer_sequence<int, kMostExact - kLeastExact + 1>());
  if (exponent < 3 || x.itemsize() > 2) return whole_power(x, exponent);
  return whole_power(x.cast(dtypes::float32), exponent).cast(x.dtype());
}
/// x^y for integers, modulo 2^bits. A negative power is 0, except of 1 and -1.
Value integer_power(const Value& x, const Value& y) {
  Value base = x, out = x.ones_like();
  for (int bit = 0; bit < 6; ++bit) {
    out = y.bitwise_and(std::int64_t{1} << bit).ne(0).where(out * base, out);
    base = base * base;
  }
  const Value beyond = x.eq(1).where(1, x.eq(-1).where(1 - y.bitwise_and(1) * 2, 0));
  return y.lt(0).where(beyond.cast(x.dtype()), out);
}

/// -1 or 1 where x is an integer number below or above the range of the integer dtype `d`; else 0.
int side_of(const Operand& x, DType d) {
  if (x.value() != nullptr || !d.is_int() || !x.number().value().dtype().is_int()) return 0;
  const auto wide = [](const Scalar& s) {
    return s.dtype() == dtypes::uint64 ? Int128{s.as_uint()} : Int128{s.as_int()};
  };
  const Int128 value = wide(x.number().value());
  if (value < wide(identity_of(Ops::REDUCE_MAX, d))) return -1;
  return value > wide(identity_of(Ops::REDUCE_MIN, d)) ? 1 : 0;
}
/// `bound`, clamped to the range of the integer dtype `d`.
Operand as_bound(const Operand& bound, DType d) {
  const int side = side_of(bound, d);
  if (side == 0) return bound;
  return Operand(Number(identity_of(side < 0 ? Ops::REDUCE_MAX : Ops::REDUCE_MIN, d)));
}
/// Both operands in their promoted dtype; numbers out of its range are clamped, which does not change a minimum or
/// maximum.
std::pair<Value, Value> bounds(const char* name, const Operand& a, const Operand& b) {
  const DType d = dtype_of(a, b);
  return both(name, as_bound(a, d), as_bound(b, d), d);
}
/// sqrt(x*x + y*y), with both scaled by a power of two so that squares neither overflow nor underflow.
Value hypotenuse_of(const Value& x, const Value& y) {
  const bool is_double = is_wide(x);
  const int large = is_double ? 500 : 60, by = is_double ? 600 : 90;
  const Value m = x.abs().maximum(y.abs()).detach(), one = m.ones_like();
  const Value is_large = m.gt(std::ldexp(1.0, large)), is_small = m.lt(std::ldexp(1.0, -large));
  const auto scale = [&](int sign) {
    return is_large.where(std::ldexp(1.0, -by * sign), is_small.where(std::ldexp(1.0, by * sign), one));
  };
  const Value down = scale(1);
  const Value out = ((x * down).square() + (y * down).square()).sqrt() * scale(-1);
  return (x.isinf() | y.isinf()).where(std::numeric_limits<double>::infinity(), out);
}
/// `out` = log(b^x + b^y) to the base b = e, or b = 2 with is_of_twos. Its derivatives are the shares of b^x and b^y in
/// the sum.
template <bool is_of_twos>
Value with_shares(const Value& out, const Value& x, const Value& y) {
  if (!kTakesGradients || (!x.is_tracked() && !y.is_tracked())) return out;
  const std::array inputs = {x, y};
  const auto backward = [](const Value& dy, const Saved& saved) {
    const Value &a = saved[0], &b = saved[1];
    const Value apart = (a.eq(b) & a.isinf()).where(0, a - b);
    const Value ahead = is_of_twos ? apart * std::numbers::ln2 : apart;
    return std::vector{dy * ahead.sigmoid(), dy * ahead.neg().sigmoid()};
  };
  return with_gradient(out, inputs, backward, Saved({x, y}));
}
/// |x - y| in two parts: the rounded difference and the rounding error. 0 for equal infinities.
TwoParts distance(const Value& x, const Value& y) {
  const Value top = x.maximum(y), bottom = x.minimum(y);
  const Value apart = x.eq(y).where(0, top - bottom), back = apart - top;
  const Value lost = (top - (apart - back)) - (bottom + back);
  return {apart, (x.eq(y) | apart.ge(1e4)).where(0, lost)};
}
Value log_of_sum_of(const Value& x, const Value& y) {
  const auto [apart, lost] = distance(x.detach(), y.detach());
  const Value power = (-apart).exp();
  return with_shares<false>(x.maximum(y).detach() + (power - power * lost).log1p(), x, y);
}
Value log2_of_sum_of(const Value& x, const Value& y) {
  const auto [apart, lost] = distance(x.detach(), y.detach());
  const Value power = (-apart).exp2(), log = (power - power * (lost * std::numbers::ln2)).log1p();
  const auto [high, low] = parts_for(x, std::numbers::log2e, 2.0355273740931033e-17);
  return with_shares<true>(x.maximum(y).detach() + (log * high + log * low), x, y);
}

/// The greatest common divisor by Euclid's algorithm, unrolled for the worst case (Fibonacci numbers). A remainder by 0
/// is 0, so that further steps change nothing.
Value divisor_of_both(const Operand& a, const Operand& b, const char* name) {
  const DType d = integer_dtype_of(name, a, b);
  STRATA_CHECK(!d.is_bool(), domain, "[", name, "] of bools");
  const auto [x, y] = both(name, a, b, d);
  Value larger_one = x.abs(), rest = y.abs();
  const int steps = static_cast<int>(d.itemsize()) * 12;  // bits / log2(golden ratio)
  for (int k = 0; k < steps; ++k) {
    const Value next = larger_one.fmod(rest);
    larger_one = rest.eq(0).where(larger_one, rest);
    rest = next;
  }
  return larger_one;
}
/// `a` clamped from below (is_low) or above by `given`. Where both are equal the gradient goes to `a`.
Value bounded(const Operand& a, const Operand& given, bool is_low) {
  const Value x = a.value() != nullptr ? *a.value() : Value::full({}, a.number());
  const Operand bound = as_bound(given, dtype_of(x, given));
  if (bound.value() == nullptr) return (is_low ? x.lt(bound) : x.gt(bound)).where(bound, x);
  return ((is_low ? x.ge(bound) : x.le(bound)) | x.isnan()).where(x, bound);
}
DType shift_dtype_of(const char* name, const Operand& a, const Operand& b) {
  const DType d = integer_dtype_of(name, a, b);
  return d.is_bool() ? dtypes::int64 : d;
}

/// The constant result of comparing a tensor with a number out of its dtype's range: `if_below` where the left operand
/// is always less, `if_above` where it is always greater. Nothing for other comparisons.
std::optional<Value> decided(const Operand& a, const Operand& b, bool if_below, bool if_above) {
  const Value* const x = a.value() != nullptr ? a.value() : b.value();
  if (x == nullptr || (a.value() != nullptr && b.value() != nullptr)) return std::nullopt;
  const int side = x == a.value() ? -side_of(b, x->dtype()) : side_of(a, x->dtype());
  if (side == 0) return std::nullopt;
  return Value(LazyOp::constant(Scalar(side < 0 ? if_below : if_above), x->shape()));
}

}  // namespace

Value add(const Operand& a, const Operand& b) { return apply("add", Ops::ADD, a, b); }
Value sub(const Operand& a, const Operand& b) {
  STRATA_CHECK(!dtype_of(a, b).is_bool(), domain, "[sub] bools cannot be subtracted: use logical_xor()");
  return apply("sub", Ops::SUB, a, b);
}
Value mul(const Operand& a, const Operand& b) { return apply("mul", Ops::MUL, a, b); }
Value div(const Operand& a, const Operand& b) { return apply("div", Ops::DIV, a, b, real_dtype_of(a, b)); }
Value floor_divide(const Operand& a, const Operand& b) {
  const DType d = number_dtype_of(a, b);
  if (!d.is_float()) return apply("floor_divide", Ops::FLOORDIV, a, b, d);
  return float_floor_quotient(a, b, d);
}
Value trunc_divide(const Operand& a, const Operand& b) {
  const DType d = number_dtype_of(a, b);
  if (!d.is_float()) return apply("trunc_divide", Ops::IDIV, a, b, d);
  const auto [x, y] = both("trunc_divide", a, b, d);
  return flat_in((x.detach() / y.detach()).trunc(), {x, y});  // gradient 0 also for a divisor of 0
}
Value fmod(const Operand& a, const Operand& b) { return apply("fmod", Ops::MOD, a, b, number_dtype_of(a, b)); }
Value remainder(const Operand& a, const Operand& b) {
  const DType d = number_dtype_of(a, b);
  if (!d.is_float()) return apply("remainder", Ops::FLOORMOD, a, b, d);
  const Value r = apply("remainder", Ops::MOD, a, b, d);
  const auto [x, y] = both("remainder", a, b, d);
  return (r.ne(0) & r.lt(0).ne(y.lt(0))).where(r + y, r);
}
Value pow(const Operand& a, const Operand& b) {
  if (b.value() == nullptr && a.value() != nullptr) {
    const double e = b.number().value().as_double();
    const bool is_whole = std::floor(e) == e && std::abs(e) <= kMostExact;
    const DType d = number_dtype_of(a, b);
    if (is_whole && e >= 0) {
      const Value x = a.value()->cast(d);
      if (e == 0 && d.is_float()) return flat_in(float_power_of(x, 0), {x});
      return d.is_float() ? float_power_of(x, static_cast<int>(e)) : whole_power(x, static_cast<std::int64_t>(e));
    }
    if (e == -1 && d.is_float()) return a.value()->reciprocal();
    if (e == 0.5) return a.value()->sqrt();
    if (e == -0.5) return a.value()->rsqrt();
  }
  const DType d = number_dtype_of(a, b);
  if (d.is_float()) return apply("pow", Ops::POW, a, b, d);
  const auto [x, y] = both("pow", a, b, d);
  return integer_power(x, y);
}
Value maximum(const Operand& a, const Operand& b) {
  const DType d = dtype_of(a, b);
  return apply("maximum", Ops::MAX, as_bound(a, d), as_bound(b, d), d);
}
Value minimum(const Operand& a, const Operand& b) {
  const DType d = dtype_of(a, b);
  return apply("minimum", Ops::MIN, as_bound(a, d), as_bound(b, d), d);
}
Value fmax(const Operand& a, const Operand& b) {
  const auto [x, y] = bounds("fmax", a, b);
  return (x.ge(y) | y.isnan()).where(x, y);
}
Value fmin(const Operand& a, const Operand& b) {
  const auto [x, y] = bounds("fmin", a, b);
  return (x.le(y) | y.isnan()).where(x, y);
}
Value atan2(const Operand& a, const Operand& b) { return apply("atan2", Ops::ATAN2, a, b, real_dtype_of(a, b)); }
Value hypot(const Operand& a, const Operand& b) { return compound_of("hypot", a, b, hypotenuse_of); }
/// The gradient at 0 is 0, as that of abs().
Value copysign(const Operand& a, const Operand& b) {
  const auto [x, y] = both("copysign", a, b, real_dtype_of(a, b));
  const Value out = x.signbit().ne(y.signbit()).where(-x, x);
  return x.is_tracked() ? x.eq(0).where(out.detach(), out) : out;
}
Value logaddexp(const Operand& a, const Operand& b) { return compound_of("logaddexp", a, b, log_of_sum_of); }
Value logaddexp2(const Operand& a, const Operand& b) { return compound_of("logaddexp2", a, b, log2_of_sum_of); }
/// NOTE: where x is 0, a logarithm that would not be finite is replaced by log(1); elsewhere the derivative by x is the
/// logarithm.
Value xlogy(const Operand& a, const Operand& b) {
  return compound_of("xlogy", a, b, [](const Value& x, const Value& y) {
    return x * (x.eq(0) & (y.le(0) | y.isinf())).where(1, y).log();
  });
}
Value xlog1py(const Operand& a, const Operand& b) {
  return compound_of("xlog1py", a, b, [](const Value& x, const Value& y) {
    return x * (x.eq(0) & (y.le(-1) | y.isinf())).where(0, y).log1p();
  });
}
Value gcd(const Operand& a, const Operand& b) { return divisor_of_both(a, b, "gcd"); }
Value lcm(const Operand& a, const Operand& b) {
  const Value divisor = divisor_of_both(a, b, "lcm");
  const auto [x, y] = both("lcm", a, b, divisor.dtype());
  return (x.trunc_divide(divisor) * y).abs();
}
Value float_power(const Operand& a, const Operand& b) {
  const auto [x, y] = both("float_power", a, b, dtypes::float64);
  return b.value() == nullptr ? pow(x, b) : pow(x, y);
}
/// x * 2^y as a product with three powers of 2 whose exponents sum to y: 2^y alone may be infinite or 0 although the
/// product is not. Two exponents are whole, so that these powers are exact; they are multiplied first, so that
/// derivatives contain all three.
Value ldexp(const Operand& a, const Operand& b) {
  return compound_of("ldexp", a, b, [](const Value& x, const Value& given) {
    const double most = is_wide(x) ? 2400 : 320;  // a larger exponent makes any product infinite or 0
    const Value y = given.gt(most).where(most, given.lt(-most).where(-most, given));
    const Value third = (y.detach() / 3).trunc(), whole = third.exp2(), rest = (y - third * 2).exp2();
    // An infinite exponent is computed apart: in the common branch its derivative would be 0 * infinity.
    const Value is_end = given.isinf(), end = is_end.where(x, 0) * is_end.where(given, 0).exp2();
    return is_end.where(end, is_end.where(0, x) * whole * whole * rest);
  });
}
/// Uses that the bit patterns of floats of one sign, as integers, are in the order of the floats.
Value nextafter(const Operand& a, const Operand& b) {
  const DType d = dtype_of(a, b);
  STRATA_CHECK(d.is_float(), domain, "[nextafter] takes floats, not ", d.name());
  const auto [x, y] = both("nextafter", a, b, d);
  const DType bits = d.itemsize() == 2 ? dtypes::int16 : d.itemsize() == 4 ? dtypes::int32 : dtypes::int64;
  const Value pattern = x.bitcast(bits);
  const Value away = y.gt(x).eq(x.gt(0));
  const Value sign = y.bitcast(bits).bitwise_and(Number(identity_of(Ops::REDUCE_MAX, bits)));
  const Value moved = x.eq(0).where(sign + 1, away.where(pattern + 1, pattern - 1)).bitcast(d);
  return (x.isnan() | y.isnan()).where(x + y, x.eq(y).where(y, moved));
}
Value heaviside(const Operand& a, const Operand& b) {
  const auto [x, y] = both("heaviside", a, b, dtype_of(a, b));
  return x.eq(0).where(y, x.gt(0).cast(x.dtype()));
}

Value clamp_min(const Operand& a, const Operand& b) { return bounded(a, b, true); }
Value clamp_max(const Operand& a, const Operand& b) { return bounded(a, b, false); }

Value bitwise_and(const Operand& a, const Operand& b) {
  return apply("bitwise_and", Ops::AND, a, b, integer_dtype_of("bitwise_and", a, b));
}
Value bitwise_or(const Operand& a, const Operand& b) {
  return apply("bitwise_or", Ops::OR, a, b, integer_dtype_of("bitwise_or", a, b));
}
Value bitwise_xor(const Operand& a, const Operand& b) {
  return apply("bitwise_xor", Ops::XOR, a, b, integer_dtype_of("bitwise_xor", a, b));
}
Value lshift(const Operand& a, const Operand& b) {
  return apply("lshift", Ops::SHL, a, b, shift_dtype_of("lshift", a, b));
}
Value rshift(const Operand& a, const Operand& b) {
  return apply("rshift", Ops::SHR, a, b, shift_dtype_of("rshift", a, b));
}
Value logical_and(const Operand& a, const Operand& b) { return apply("logical_and", Ops::AND, a, b, dtypes::boolean); }
Value logical_or(const Operand& a, const Operand& b) { return apply("logical_or", Ops::OR, a, b, dtypes::boolean); }
Value logical_xor(const Operand& a, const Operand& b) { return apply("logical_xor", Ops::XOR, a, b, dtypes::boolean); }
Value eq(const Operand& a, const Operand& b) {
  if (const auto known = decided(a, b, false, false)) return *known;
  return apply("eq", Ops::CMPEQ, a, b);
}
Value ne(const Operand& a, const Operand& b) {
  if (const auto known = decided(a, b, true, true)) return *known;
  return apply("ne", Ops::CMPNE, a, b);
}
Value lt(const Operand& a, const Operand& b) {
  if (const auto known = decided(a, b, true, false)) return *known;
  return apply("lt", Ops::CMPLT, a, b);
}
Value gt(const Operand& a, const Operand& b) { return lt(b, a); }
/// NOTE: not !(b < a), which would be true for a NaN.
Value le(const Operand& a, const Operand& b) {
  if (const auto known = decided(a, b, true, false)) return *known;
  const auto [x, y] = promote_operands("le", {&a, &b});
  return at_or_below(x, y);
}
Value ge(const Operand& a, const Operand& b) {
  if (const auto known = decided(a, b, false, true)) return *known;
  const auto [x, y] = promote_operands("ge", {&a, &b});
  return at_or_below(y, x);
}

Value Value::where(const Operand& a, const Operand& b) const {
  const Operand self(*this);
  const PromotionTarget target("where", std::array{&a, &b, &self}, dtype_of(a, b));
  const LazyOp x = target.promote(a), y = target.promote(b);
  return LazyOp::alu(Ops::WHERE, {broadcast(node().cast(dtypes::boolean), x.shape()), x, y});
}
Value Value::masked_fill(const Value& mask, const Operand& value) const {
  STRATA_CHECK(mask.dtype().is_bool(), domain, "[masked_fill] a mask of ", mask.dtype().name(),
               ": of bools is expected, such as mask != 0");
  // NOTE: the value is cast, not the elements: these must not pass through a promoted dtype.
  if (value.value() != nullptr) return mask.where(value.value()->cast(dtype()), *this);
  const LazyOp number = LazyOp::constant(scalar_of(value.number(), dtype()), Ints{});
  return mask.where(Value(number), *this);
}
namespace {
/// f(x...) with all tensors cast to their promoted dtype, if that is a float, so that no intermediate result is rounded
/// to a narrower one.
template <class F, class... T>
Value in_promoted_dtype(const F& f, const T&... x) {
  const Operand operands[] = {x...};
  std::vector<const Operand*> all;
  for (const Operand& o : operands) all.push_back(&o);
  const DType promoted = promoted_dtype(all);
  return promoted.is_float() ? rounded_once_of(f, x.cast(promoted)...) : f(x...);
}
}  // namespace

namespace {
/// x + alpha*other, or x - alpha*other, in their promoted dtype, rounded once.
Value with_multiple(const Value& x, const Operand& other, const Number& alpha, bool is_difference) {
  const auto number = [&] {
    return x.dtype().is_float() ? Value::full({}, other.number(), x.dtype()) : Value::full({}, other.number());
  };
  const Value more = other.value() != nullptr ? *other.value() : number();
  return rounded_once_of(
      [&](const Value& a, const Value& b) {
        const DType promoted = dtype_of(a, b);
        const Value multiple = (promoted.is_float() ? b.cast(promoted) : b) * alpha;
        return is_difference ? a - multiple : a + multiple;
      },
      x, more);
}
}  // namespace

Value Value::add(const Operand& other, const Number& alpha) const { return with_multiple(*this, other, alpha, false); }
Value Value::sub(const Operand& other, const Number& alpha) const { return with_multiple(*this, other, alpha, true); }

/// Computed from the nearer end: a + (b - a)*w or b - (b - a)*(1 - w): exact at w = 0 and w = 1.
Value Value::lerp(const Value& end, const Operand& weight) const {
  if (weight.value() != nullptr)
    return in_promoted_dtype(
        [](const Value& a, const Value& b, const Value& w) {
          return w.abs().lt(0.5).where(a + (b - a) * w, b - (b - a) * (1 - w));
        },
        *this, end, *weight.value());
  const Number number = weight.number();
  return in_promoted_dtype(
      [number](const Value& a, const Value& b) {
        const Scalar& w = number.value();
        const Value way = b - a;
        const bool is_exact = !way.dtype().is_float() && !w.dtype().is_float();
        if (is_exact || std::abs(w.as_double()) < 0.5) return a + way * number;
        return b - way * (1 - w.as_double());
      },
      *this, end);
}
Value Value::addcmul(const Value& a, const Value& b, const Number& value) const {
  return in_promoted_dtype([value](const Value& x, const Value& y, const Value& z) { return x + y * z * value; }, *this,
                           a, b);
}
Value Value::addcdiv(const Value& a, const Value& b, const Number& value) const {
  STRATA_CHECK(a.dtype().is_float() || b.dtype().is_float(), domain,
               "[addcdiv] the dividend and the divisor are integers, ", a.dtype().name(), " and ", b.dtype().name(),
               ": cast one of them to a float dtype");
  return in_promoted_dtype([value](const Value& x, const Value& y, const Value& z) { return x + y / z * value; }, *this,
                           a, b);
}
Value Value::clip(const std::optional<Operand>& low, const std::optional<Operand>& high) const {
  STRATA_CHECK(low || high, domain, "[clip] neither the lower bound nor the upper bound is given");
  Value out = *this;
  if (low) out = bounded(out, *low, true);
  return high ? bounded(out, *high, false) : out;
}

}  // namespace strata::ops
