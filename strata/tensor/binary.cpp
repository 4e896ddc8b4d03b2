// Functions of two operands that broadcast, element by element; the operators.

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "strata/base/int_math.h"
#include "strata/tensor/access.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/exact.h"

namespace strata {

namespace {

Tensor made(const LazyOp& node, const Met& met) { return TensorAccess::of(node, *met.device); }

Tensor apply(const char* name, Ops op, const Operand& a, const Operand& b, DType dtype = dtypes::none) {
  const OriginScope scope(name, b.at());
  const Met met = meet(name, {&a, &b}, dtype);
  return made(LazyOp::alu(op, met.nodes), met);
}

DType meeting(const Operand& a, const Operand& b) {
  const Operand* both[] = {&a, &b};
  return meeting_dtype(both);
}
/// f32 where operands meet as integers or bools.
DType real_meeting(const Operand& a, const Operand& b) {
  const DType d = meeting(a, b);
  return d.is_float() ? d : dtypes::float32;
}
/// i64 where operands meet as bools: arithmetic between these is not defined.
DType number_meeting(const Operand& a, const Operand& b) {
  const DType d = meeting(a, b);
  return d.is_bool() ? dtypes::int64 : d;
}
DType integer_meeting(const char* name, const Operand& a, const Operand& b) {
  const DType d = meeting(a, b);
  STRATA_CHECK(!d.is_float(), domain, "[", name, "] takes integers or bools, not ", d.name());
  return d;
}

/// Both operands as tensors that met.
std::pair<Tensor, Tensor> both(const char* name, const Operand& a, const Operand& b, DType dtype) {
  const Met met = meet(name, {&a, &b}, dtype);
  return {made(met.nodes[0], met), made(met.nodes[1], met)};
}

Tensor sum_of(const Operand& a, const Operand& b) { return apply("add", Ops::ADD, a, b); }
Tensor difference(const Operand& a, const Operand& b) {
  STRATA_CHECK(!meeting(a, b).is_bool(), domain, "[sub] of bools: logical_xor() is meant");
  return apply("sub", Ops::SUB, a, b);
}
Tensor product_of(const Operand& a, const Operand& b) { return apply("mul", Ops::MUL, a, b); }
Tensor quotient(const Operand& a, const Operand& b) {
  return apply("div", Ops::DIV, a, b, real_meeting(a, b));
}

/// f of both as reals of 32 bits at least, in the dtype that they meet as: 16-bit floats are rounded once.
Tensor compound_of(const char* name, const Operand& a, const Operand& b,
                   Tensor (*f)(const Tensor& x, const Tensor& y)) {
  const DType d = real_meeting(a, b);
  const auto [x, y] = both(name, a, b, d.itemsize() == 2 ? dtypes::float32 : d);
  return f(x, y).cast(d);
}

/// Of what is left without the modulus: the quotient itself may be rounded up to a whole number.
Tensor float_floor_quotient(const Operand& a, const Operand& b, DType d) {
  const Tensor rest = apply("floor_divide", Ops::MOD, a, b, d).detach();
  const auto [x, y] = both("floor_divide", a, b, d);
  const Tensor is_above = rest.ne(0) & rest.lt(0).ne(y.lt(0));
  const Tensor whole = ((x - rest) / y - is_above.cast(d)).round();
  return flat_in(y.eq(0).where(x / y, whole), {x, y});
}
Tensor floor_quotient(const Operand& a, const Operand& b) {
  const DType d = number_meeting(a, b);
  if (!d.is_float()) return apply("floor_divide", Ops::FLOORDIV, a, b, d);
  return float_floor_quotient(a, b, d);
}
Tensor truncated_quotient(const Operand& a, const Operand& b) {
  const DType d = number_meeting(a, b);
  if (!d.is_float()) return apply("trunc_divide", Ops::IDIV, a, b, d);
  const auto [x, y] = both("trunc_divide", a, b, d);
  return flat_in((x.detach() / y.detach()).trunc(), {x, y});  // 0 by a divisor of 0, too
}
Tensor modulus(const Operand& a, const Operand& b) {
  return apply("fmod", Ops::MOD, a, b, number_meeting(a, b));
}
Tensor remainder_of(const Operand& a, const Operand& b) {
  const DType d = number_meeting(a, b);
  if (!d.is_float()) return apply("remainder", Ops::FLOORMOD, a, b, d);
  const Tensor r = apply("remainder", Ops::MOD, a, b, d);
  const auto [x, y] = both("remainder", a, b, d);
  return (r.ne(0) & r.lt(0).ne(y.lt(0))).where(r + y, r);
}

/// Small whole exponents are products, which integers need and gradients like.
Tensor whole_power(const Tensor& x, std::int64_t exponent) {
  Tensor base = x, out = x.ones_like();
  bool is_one = true;
  for (std::int64_t left = exponent; left > 0; left >>= 1) {
    if (left % 2 == 1) out = is_one ? base : out * base, is_one = false;
    if (left > 1) base = base * base;
  }
  return out;
}
/// x^n, rounded once at the end: factors are numbers of half the places and a rest, whose products are exact.
template <int n>
Tensor exact_power(const Tensor& x) {
  const Tensor upper = upper_half(x);
  TwoParts base{upper, x - upper}, out = base;
  bool is_one = true;
  for (int left = n; left > 0; left >>= 1) {
    if (left % 2 == 1) out = is_one ? base : product_of_parts(out, base), is_one = false;
    if (left > 1) base = product_of_parts(base, base);
  }
  const Tensor plain = whole_power(x, n);  // NOTE: infinities have no parts
  return plain.isfinite().where(out.high + out.low, plain);
}
template <int n>
Tensor exact_power_with_slope(const Tensor& x) {
  return differentiated(x, exact_power<n>,
                        [](const Tensor& a, const Tensor&) { return a.pow(n - 1) * n; });
}
constexpr int kLeastExact = 4, kMostExact = 16;
/// @pre kLeastExact <= exponent <= kMostExact
template <int... n>
Tensor any_exact_power(const Tensor& x, int exponent, std::integer_sequence<int, n...>) {
  using Function = Tensor (*)(const Tensor&);
  static constexpr Function kPowers[] = {exact_power_with_slope<kLeastExact + n>...};
  return kPowers[static_cast<std::size_t>(exponent - kLeastExact)](x);
}
/// A float to a whole power from 0 on.
Tensor float_power_of(const Tensor& x, int exponent) {
  if (exponent >= kLeastExact)
    return any_exact_power(x, exponent,
                           std::make_integer_sequence<int, kMostExact - kLeastExact + 1>());
  if (exponent < 3 || x.itemsize() > 2) return whole_power(x, exponent);
  return whole_power(x.cast(dtypes::float32), exponent).cast(x.dtype());
}
/// Integers to the power of integers, which wrap; a negative power is 0 but of 1 and -1.
Tensor integer_power(const Tensor& x, const Tensor& y) {
  Tensor base = x, out = x.ones_like();
  for (int bit = 0; bit < 6; ++bit) {
    out = y.bitwise_and(std::int64_t{1} << bit).ne(0).where(out * base, out);
    base = base * base;
  }
  const Tensor beyond = x.eq(1).where(1, x.eq(-1).where(1 - y.bitwise_and(1) * 2, 0));
  return y.lt(0).where(beyond.cast(x.dtype()), out);
}
Tensor power(const Operand& a, const Operand& b) {
  if (b.tensor() == nullptr && a.tensor() != nullptr) {
    const double e = b.number().value().as_double();
    const bool is_whole = std::floor(e) == e && std::abs(e) <= kMostExact;
    const DType d = number_meeting(a, b);
    if (is_whole && e >= 0) {
      const Tensor x = a.tensor()->cast(d);
      if (e == 0 && d.is_float()) return flat_in(float_power_of(x, 0), {x});
      return d.is_float() ? float_power_of(x, static_cast<int>(e))
                          : whole_power(x, static_cast<std::int64_t>(e));
    }
    if (e == -1 && d.is_float()) return a.tensor()->reciprocal();
    if (e == 0.5) return a.tensor()->sqrt();
    if (e == -0.5) return a.tensor()->rsqrt();
  }
  const DType d = number_meeting(a, b);
  if (d.is_float()) return apply("pow", Ops::POW, a, b, d);
  const auto [x, y] = both("pow", a, b, d);
  return integer_power(x, y);
}

/// Whether a whole number is below (-1) or above (1) all that a dtype holds; 0 of what is none.
int side_of(const Operand& x, DType d) {
  if (x.tensor() != nullptr || !d.is_int() || !x.number().value().dtype().is_int()) return 0;
  const auto wide = [](const Scalar& s) {
    return s.dtype() == dtypes::uint64 ? Int128{s.as_uint()} : Int128{s.as_int()};
  };
  const Int128 value = wide(x.number().value());
  if (value < wide(identity_of(Ops::REDUCE_MAX, d))) return -1;
  return value > wide(identity_of(Ops::REDUCE_MIN, d)) ? 1 : 0;
}
/// A bound for a tensor of a dtype: the nearest end of what that holds, where the bound is beyond.
Operand as_bound(const Operand& bound, DType d) {
  const int side = side_of(bound, d);
  if (side == 0) return bound;
  return Operand(Number(identity_of(side < 0 ? Ops::REDUCE_MAX : Ops::REDUCE_MIN, d)), bound.at());
}
/// Both as the bounds of each other.
std::pair<Tensor, Tensor> bounds(const char* name, const Operand& a, const Operand& b) {
  const DType d = meeting(a, b);
  return both(name, as_bound(a, d), as_bound(b, d), d);
}
Tensor larger(const Operand& a, const Operand& b) {
  const DType d = meeting(a, b);
  return apply("maximum", Ops::MAX, as_bound(a, d), as_bound(b, d), d);
}
Tensor smaller(const Operand& a, const Operand& b) {
  const DType d = meeting(a, b);
  return apply("minimum", Ops::MIN, as_bound(a, d), as_bound(b, d), d);
}
Tensor known_larger(const Operand& a, const Operand& b) {
  const auto [x, y] = bounds("fmax", a, b);
  return (x.ge(y) | y.isnan()).where(x, y);
}
Tensor known_smaller(const Operand& a, const Operand& b) {
  const auto [x, y] = bounds("fmin", a, b);
  return (x.le(y) | y.isnan()).where(x, y);
}
Tensor angle_of(const Operand& a, const Operand& b) {
  return apply("atan2", Ops::ATAN2, a, b, real_meeting(a, b));
}
/// Scaled by a power of two, so that squares neither overflow nor vanish.
Tensor hypotenuse_of(const Tensor& x, const Tensor& y) {
  const bool is_double = is_wide(x);
  const int large = is_double ? 500 : 60, by = is_double ? 600 : 90;
  const Tensor m = x.abs().maximum(y.abs()).detach(), one = m.ones_like();
  const Tensor is_large = m.gt(std::ldexp(1.0, large)), is_small = m.lt(std::ldexp(1.0, -large));
  const auto scale = [&](int sign) {
    return is_large.where(std::ldexp(1.0, -by * sign), is_small.where(std::ldexp(1.0, by * sign), one));
  };
  const Tensor down = scale(1);
  const Tensor out = ((x * down).square() + (y * down).square()).sqrt() * scale(-1);
  return (x.isinf() | y.isinf()).where(std::numeric_limits<double>::infinity(), out);
}
Tensor hypotenuse(const Operand& a, const Operand& b) {
  return compound_of("hypot", a, b, hypotenuse_of);
}
/// Its slope is 0 at 0, as that of abs() is.
Tensor with_sign(const Operand& a, const Operand& b) {
  const auto [x, y] = both("copysign", a, b, real_meeting(a, b));
  const Tensor out = x.signbit().ne(y.signbit()).where(-x, x);
  return x.requires_grad() ? x.eq(0).where(out.detach(), out) : out;
}
/// `out`, a logarithm of the sum of powers of `base` to x and y: its slopes are the shares of both in the sum.
template <bool is_of_twos>
Tensor with_shares(const Tensor& out, const Tensor& x, const Tensor& y) {
  if (!x.requires_grad() && !y.requires_grad()) return out;
  const std::array inputs = {x, y};
  const auto backward = [](const Tensor& dy, const Saved& saved) {
    const Tensor a = saved[0], b = saved[1], apart = (a.eq(b) & a.isinf()).where(0, a - b);
    const Tensor ahead = is_of_twos ? apart * std::numbers::ln2 : apart;
    return std::vector{dy * ahead.sigmoid(), dy * ahead.neg().sigmoid()};
  };
  return with_gradient(out, inputs, backward, Saved({x, y}));
}
/// |x - y| with what rounding took of it; nothing of equal infinities.
TwoParts distance(const Tensor& x, const Tensor& y) {
  const Tensor top = x.maximum(y), bottom = x.minimum(y);
  const Tensor apart = x.eq(y).where(0, top - bottom), back = apart - top;
  const Tensor lost = (top - (apart - back)) - (bottom + back);
  return {apart, (x.eq(y) | apart.ge(1e4)).where(0, lost)};
}
Tensor log_of_sum_of(const Tensor& x, const Tensor& y) {
  const auto [apart, lost] = distance(x.detach(), y.detach());
  const Tensor power = (-apart).exp();
  return with_shares<false>(x.maximum(y).detach() + (power - power * lost).log1p(), x, y);
}
Tensor log_of_sum(const Operand& a, const Operand& b) {
  return compound_of("logaddexp", a, b, log_of_sum_of);
}
Tensor log2_of_sum_of(const Tensor& x, const Tensor& y) {
  const auto [apart, lost] = distance(x.detach(), y.detach());
  const Tensor power = (-apart).exp2(), log = (power - power * (lost * std::numbers::ln2)).log1p();
  const auto [high, low] = parts_for(x, std::numbers::log2e, 2.0355273740931033e-17);
  return with_shares<true>(x.maximum(y).detach() + (log * high + log * low), x, y);
}
Tensor log_of_sum_of_twos(const Operand& a, const Operand& b) {
  return compound_of("logaddexp2", a, b, log2_of_sum_of);
}
/// NOTE: where x is 0, a logarithm that is not finite is not taken; the slope along x stays the logarithm elsewhere.
Tensor x_log_y(const Operand& a, const Operand& b) {
  return compound_of("xlogy", a, b, [](const Tensor& x, const Tensor& y) {
    return x * (x.eq(0) & (y.le(0) | y.isinf())).where(1, y).log();
  });
}
Tensor x_log_1_plus_y(const Operand& a, const Operand& b) {
  return compound_of("xlog1py", a, b, [](const Tensor& x, const Tensor& y) {
    return x * (x.eq(0) & (y.le(-1) | y.isinf())).where(0, y).log1p();
  });
}

/// Euclid's algorithm, as many steps as Fibonacci's numbers need in that dtype. A remainder by 0 is 0.
Tensor divisor_of_both(const Operand& a, const Operand& b, const char* name) {
  const DType d = integer_meeting(name, a, b);
  STRATA_CHECK(!d.is_bool(), domain, "[", name, "] of bools");
  const auto [x, y] = both(name, a, b, d);
  Tensor larger_one = x.abs(), rest = y.abs();
  const int steps = static_cast<int>(d.itemsize()) * 12;  // bits / log2(golden ratio)
  for (int k = 0; k < steps; ++k) {
    const Tensor next = larger_one.fmod(rest);
    larger_one = rest.eq(0).where(larger_one, rest);
    rest = next;
  }
  return larger_one;
}
Tensor greatest_divisor(const Operand& a, const Operand& b) { return divisor_of_both(a, b, "gcd"); }
Tensor least_multiple(const Operand& a, const Operand& b) {
  const Tensor divisor = divisor_of_both(a, b, "lcm");
  const auto [x, y] = both("lcm", a, b, divisor.dtype());
  return (x.trunc_divide(divisor) * y).abs();
}
Tensor wide_power(const Operand& a, const Operand& b) {
  const auto [x, y] = both("float_power", a, b, dtypes::float64);
  return b.tensor() == nullptr ? power(x, b) : power(x, y);
}
/// By three powers, as one alone may be infinite or 0 where the product is not: two are whole, which makes them exact. They stand in
/// front of the third, so that slopes have the products of all three.
Tensor scaled_by_two(const Operand& a, const Operand& b) {
  return compound_of("ldexp", a, b, [](const Tensor& x, const Tensor& given) {
    const double most = is_wide(x) ? 2400 : 320;  // beyond, the product of any number is infinite or 0
    const Tensor y = given.gt(most).where(most, given.lt(-most).where(-most, given));
    const Tensor third = (y.detach() / 3).trunc(), whole = third.exp2(), rest = (y - third * 2).exp2();
    // A slope by what is not taken would be 0 times infinity.
    const Tensor is_end = given.isinf(), end = is_end.where(x, 0) * is_end.where(given, 0).exp2();
    return is_end.where(end, is_end.where(0, x) * whole * whole * rest);
  });
}
/// The bits of floats of one sign count as the floats do.
Tensor next_towards(const Operand& a, const Operand& b) {
  const DType d = meeting(a, b);
  STRATA_CHECK(d.is_float(), domain, "[nextafter] takes floats, not ", d.name());
  const auto [x, y] = both("nextafter", a, b, d);
  const DType bits = d.itemsize() == 2   ? dtypes::int16
                     : d.itemsize() == 4 ? dtypes::int32
                                         : dtypes::int64;
  const Tensor pattern = x.bitcast(bits);
  const Tensor away = y.gt(x).eq(x.gt(0));
  const Tensor sign = y.bitcast(bits).bitwise_and(Number(identity_of(Ops::REDUCE_MAX, bits)));
  const Tensor moved = x.eq(0).where(sign + 1, away.where(pattern + 1, pattern - 1)).bitcast(d);
  return (x.isnan() | y.isnan()).where(x + y, x.eq(y).where(y, moved));
}
Tensor step_function(const Operand& a, const Operand& b) {
  const auto [x, y] = both("heaviside", a, b, meeting(a, b));
  return x.eq(0).where(y, x.gt(0).cast(x.dtype()));
}
/// What is beyond a bound is the bound; of equal ones the gradient is the tensor's.
Tensor bounded(const Tensor& x, const Operand& given, bool is_low) {
  const Operand bound = as_bound(given, meeting(x, given));
  if (bound.tensor() == nullptr) return (is_low ? x.lt(bound) : x.gt(bound)).where(bound, x);
  return ((is_low ? x.ge(bound) : x.le(bound)) | x.isnan()).where(x, bound);
}

Tensor not_below(const Operand& a, const Operand& b) { return bounded(*a.tensor(), b, true); }
Tensor not_above(const Operand& a, const Operand& b) { return bounded(*a.tensor(), b, false); }

Tensor bits_of_both(const Operand& a, const Operand& b) {
  return apply("bitwise_and", Ops::AND, a, b, integer_meeting("bitwise_and", a, b));
}
Tensor bits_of_either(const Operand& a, const Operand& b) {
  return apply("bitwise_or", Ops::OR, a, b, integer_meeting("bitwise_or", a, b));
}
Tensor bits_that_differ(const Operand& a, const Operand& b) {
  return apply("bitwise_xor", Ops::XOR, a, b, integer_meeting("bitwise_xor", a, b));
}
DType shift_meeting(const char* name, const Operand& a, const Operand& b) {
  const DType d = integer_meeting(name, a, b);
  return d.is_bool() ? dtypes::int64 : d;
}
Tensor shifted_left(const Operand& a, const Operand& b) {
  return apply("lshift", Ops::SHL, a, b, shift_meeting("lshift", a, b));
}
Tensor shifted_right(const Operand& a, const Operand& b) {
  return apply("rshift", Ops::SHR, a, b, shift_meeting("rshift", a, b));
}
Tensor and_of(const Operand& a, const Operand& b) {
  return apply("logical_and", Ops::AND, a, b, dtypes::boolean);
}
Tensor or_of(const Operand& a, const Operand& b) {
  return apply("logical_or", Ops::OR, a, b, dtypes::boolean);
}
Tensor xor_of(const Operand& a, const Operand& b) {
  return apply("logical_xor", Ops::XOR, a, b, dtypes::boolean);
}

/// What a comparison with a number that the dtype does not hold always gives, or nothing.
std::optional<Tensor> decided(const Operand& a, const Operand& b, bool if_below, bool if_above) {
  const Tensor* const x = a.tensor() != nullptr ? a.tensor() : b.tensor();
  if (x == nullptr || (a.tensor() != nullptr && b.tensor() != nullptr)) return std::nullopt;
  const int side = x == a.tensor() ? -side_of(b, x->dtype()) : side_of(a, x->dtype());
  if (side == 0) return std::nullopt;
  return TensorAccess::of(LazyOp::constant(Scalar(side < 0 ? if_below : if_above), x->shape()), *x);
}
Tensor is_equal_to(const Operand& a, const Operand& b) {
  if (const auto known = decided(a, b, false, false)) return *known;
  return apply("eq", Ops::CMPEQ, a, b);
}
Tensor differs(const Operand& a, const Operand& b) {
  if (const auto known = decided(a, b, true, true)) return *known;
  return apply("ne", Ops::CMPNE, a, b);
}
Tensor is_below(const Operand& a, const Operand& b) {
  if (const auto known = decided(a, b, true, false)) return *known;
  return apply("lt", Ops::CMPLT, a, b);
}
Tensor is_above(const Operand& a, const Operand& b) {
  const OriginScope scope("gt", b.at());
  return is_below(b, a);
}
/// NOTE: not the opposite of above, as of NaN neither holds.
Tensor is_at_or_below(const Operand& a, const Operand& b) {
  const OriginScope scope("le", b.at());
  if (const auto known = decided(a, b, true, false)) return *known;
  const Met met = meet("le", {&a, &b});
  return made(at_or_below(met.nodes[0], met.nodes[1]), met);
}
Tensor is_at_or_above(const Operand& a, const Operand& b) {
  const OriginScope scope("ge", b.at());
  if (const auto known = decided(a, b, false, true)) return *known;
  const Met met = meet("ge", {&a, &b});
  return made(at_or_below(met.nodes[1], met.nodes[0]), met);
}

}  // namespace

// The methods, and operators that may have a number on the left.
#define STRATA_FUNCTION(name, f)                    \
  Tensor Tensor::name(const Operand& other) const { \
    const OriginScope scope(#name, other.at());     \
    return f(*this, other);                         \
  }
STRATA_FUNCTION(add, sum_of)
STRATA_FUNCTION(sub, difference)
STRATA_FUNCTION(mul, product_of)
STRATA_FUNCTION(div, quotient)
STRATA_FUNCTION(floor_divide, floor_quotient)
STRATA_FUNCTION(trunc_divide, truncated_quotient)
STRATA_FUNCTION(remainder, remainder_of)
STRATA_FUNCTION(fmod, modulus)
STRATA_FUNCTION(pow, power)
STRATA_FUNCTION(float_power, wide_power)
STRATA_FUNCTION(maximum, larger)
STRATA_FUNCTION(minimum, smaller)
STRATA_FUNCTION(clamp_min, not_below)
STRATA_FUNCTION(clamp_max, not_above)
STRATA_FUNCTION(fmax, known_larger)
STRATA_FUNCTION(fmin, known_smaller)
STRATA_FUNCTION(atan2, angle_of)
STRATA_FUNCTION(hypot, hypotenuse)
STRATA_FUNCTION(copysign, with_sign)
STRATA_FUNCTION(logaddexp, log_of_sum)
STRATA_FUNCTION(logaddexp2, log_of_sum_of_twos)
STRATA_FUNCTION(ldexp, scaled_by_two)
STRATA_FUNCTION(nextafter, next_towards)
STRATA_FUNCTION(heaviside, step_function)
STRATA_FUNCTION(xlogy, x_log_y)
STRATA_FUNCTION(xlog1py, x_log_1_plus_y)
STRATA_FUNCTION(gcd, greatest_divisor)
STRATA_FUNCTION(lcm, least_multiple)
STRATA_FUNCTION(bitwise_and, bits_of_both)
STRATA_FUNCTION(bitwise_or, bits_of_either)
STRATA_FUNCTION(bitwise_xor, bits_that_differ)
STRATA_FUNCTION(lshift, shifted_left)
STRATA_FUNCTION(rshift, shifted_right)
STRATA_FUNCTION(logical_and, and_of)
STRATA_FUNCTION(logical_or, or_of)
STRATA_FUNCTION(logical_xor, xor_of)
STRATA_FUNCTION(eq, is_equal_to)
STRATA_FUNCTION(ne, differs)
STRATA_FUNCTION(lt, is_below)
STRATA_FUNCTION(le, is_at_or_below)
STRATA_FUNCTION(gt, is_above)
STRATA_FUNCTION(ge, is_at_or_above)
#undef STRATA_FUNCTION

#define STRATA_FUNCTION(symbol, f)                             \
  Tensor operator symbol(const Operand& a, const Operand& b) { \
    const OriginScope scope("operator " #symbol, a.at());      \
    return f(a, b);                                            \
  }
STRATA_FUNCTION(+, sum_of)
STRATA_FUNCTION(-, difference)
STRATA_FUNCTION(*, product_of)
STRATA_FUNCTION(/, quotient)
STRATA_FUNCTION(%, remainder_of)
STRATA_FUNCTION(&, bits_of_both)
STRATA_FUNCTION(|, bits_of_either)
STRATA_FUNCTION(^, bits_that_differ)
STRATA_FUNCTION(<<, shifted_left)
STRATA_FUNCTION(>>, shifted_right)
STRATA_FUNCTION(==, is_equal_to)
STRATA_FUNCTION(!=, differs)
STRATA_FUNCTION(<, is_below)
STRATA_FUNCTION(<=, is_at_or_below)
STRATA_FUNCTION(>, is_above)
STRATA_FUNCTION(>=, is_at_or_above)
#undef STRATA_FUNCTION

Tensor operator-(const Tensor& a) { return a.neg(); }
Tensor operator~(const Tensor& a) { return a.bitwise_not(); }

Tensor Tensor::where(const Operand& a, const Operand& b) const {
  const OriginScope scope("where", a.at());
  const DType dtype = meeting(a, b);
  const Operand self(*this, a.at());
  const Met values = meet("where", {&a, &b, &self}, dtype);
  const LazyOp condition = broadcast(node().cast(dtypes::boolean), values.nodes[0].shape());
  return made(LazyOp::alu(Ops::WHERE, {condition, values.nodes[0], values.nodes[1]}), values);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Operand& value) const {
  const OriginScope scope("masked_fill", value.at());
  STRATA_CHECK(mask.dtype().is_bool(), domain, "[masked_fill] a mask of ", mask.dtype().name(),
               ": of bools is expected, such as mask != 0");
  // NOTE: elements that stay do not go by way of the dtype in which they and the value meet.
  if (value.tensor() != nullptr) return mask.where(value.tensor()->cast(dtype()), *this);
  const LazyOp number = LazyOp::constant(scalar_of(value.number(), dtype()), Ints{});
  return mask.where(TensorAccess::of(number, *this), *this);
}
namespace {
/// f of tensors in the dtype in which they meet, where that is a float: none rounds to a narrower one on the way.
template <class F, class... T>
Tensor met_once(const F& f, const T&... x) {
  const Operand operands[] = {x...};
  std::vector<const Operand*> all;
  for (const Operand& o : operands) all.push_back(&o);
  const DType met = meeting_dtype(all);
  return met.is_float() ? rounded_once_of(f, x.cast(met)...) : f(x...);
}
}  // namespace

/// From the end that is nearer, so that one that is infinite stays.
Tensor Tensor::lerp(const Tensor& end, const Operand& weight) const {
  const OriginScope scope("lerp", weight.at());
  if (weight.tensor() != nullptr)
    return met_once(
        [](const Tensor& a, const Tensor& b, const Tensor& w) {
          return w.abs().lt(0.5).where(a + (b - a) * w, b - (b - a) * (1 - w));
        },
        *this, end, *weight.tensor());
  const Number number = weight.number();
  return met_once(
      [number](const Tensor& a, const Tensor& b) {
        const Scalar& w = number.value();
        const Tensor way = b - a;
        const bool is_exact = !way.dtype().is_float() && !w.dtype().is_float();
        if (is_exact || std::abs(w.as_double()) < 0.5) return a + way * number;
        return b - way * (1 - w.as_double());
      },
      *this, end);
}
Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, const Number& value, At at) const {
  const OriginScope scope("addcmul", at);
  return met_once(
      [value](const Tensor& x, const Tensor& y, const Tensor& z) { return x + y * z * value; },
      *this, a, b);
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, const Number& value, At at) const {
  const OriginScope scope("addcdiv", at);
  STRATA_CHECK(a.dtype().is_float() || b.dtype().is_float(), domain,
               "[addcdiv] of integers: ", a.dtype().name(), " and ", b.dtype().name());
  return met_once(
      [value](const Tensor& x, const Tensor& y, const Tensor& z) { return x + y / z * value; },
      *this, a, b);
}
Tensor Tensor::clip(const std::optional<Operand>& low, const std::optional<Operand>& high, At at) const {
  const OriginScope scope("clip", at);
  STRATA_CHECK(low || high, domain, "[clip] neither the lower end nor the upper one is given");
  Tensor out = *this;
  if (low) out = bounded(out, *low, true);
  return high ? bounded(out, *high, false) : out;
}

}  // namespace strata
