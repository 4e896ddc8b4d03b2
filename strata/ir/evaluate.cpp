// The table from op to function: one row per op, each function written once for all classes of values. Integers are
// computed in 64 bits and wrapped; f16 and bf16 in f32 and rounded. Functions of libm are called in the next wider
// precision and rounded, so that they are within 0.501 ulp.
#include "strata/ir/evaluate.h"

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/base/small_vec.h"
#include "strata/ir/uop.h"

namespace strata {
namespace {

// Classes of values: the C++ types in which Scalars are computed.
template <class T>
concept Sint = std::same_as<T, std::int64_t>;
template <class T>
concept Uint = std::same_as<T, std::uint64_t>;
template <class T>
concept Integer = Sint<T> || Uint<T>;
template <class T>
concept Bool = std::same_as<T, bool>;
template <class T>
concept Float = std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept Number = Integer<T> || Float<T>;
template <class T>
concept Bits = Integer<T> || Bool<T>;
template <class T>
concept Any = Number<T> || Bool<T>;

constexpr std::size_t kClasses = 5;

std::size_t class_of(DType dtype) {
  switch (dtype.kind()) {
    case DTypeKind::sint: return 0;
    case DTypeKind::uint: return 1;
    case DTypeKind::boolean: return 2;
    case DTypeKind::floating: return dtype.scalar() == dtypes::float64 ? 4 : 3;
  }
  return kClasses;
}

template <Any T>
T unpack(const Scalar& v) {
  if constexpr (Sint<T>) {
    return v.as_int();
  } else if constexpr (Uint<T>) {
    return v.as_uint();
  } else if constexpr (Bool<T>) {
    return v.as_bool();
  } else {
    return static_cast<T>(v.as_double());
  }
}

template <Any T>
Scalar pack(DType dtype, T v) {
  if constexpr (Bool<T>) {
    return Scalar(v);
  } else if constexpr (Float<T>) {
    return Scalar::of(dtype, static_cast<double>(v));
  } else {
    return Scalar::of(dtype, v);
  }
}

// Integer arithmetic modulo 2^64, for signed types, too.
template <Integer T, class F>
T wrapping(F f, T a, T b) {
  return static_cast<T>(f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

template <Any T>
T add(T a, T b) {
  if constexpr (Integer<T>)
    return wrapping([](auto x, auto y) { return x + y; }, a, b);
  else if constexpr (Bool<T>)
    return a || b;
  else
    return a + b;
}
template <Number T>
T sub(T a, T b) {
  if constexpr (Integer<T>)
    return wrapping([](auto x, auto y) { return x - y; }, a, b);
  else
    return a - b;
}
template <Any T>
T mul(T a, T b) {
  if constexpr (Integer<T>)
    return wrapping([](auto x, auto y) { return x * y; }, a, b);
  else if constexpr (Bool<T>)
    return a && b;
  else
    return a * b;
}

template <Number T>
T negative(T a) {
  if constexpr (Integer<T>)
    return sub(T{0}, a);
  else
    return -a;
}
/// |a|; of -0: 0.
template <Number T>
T size(T a) {
  if constexpr (Float<T>)
    return std::fabs(a);
  else
    return a < 0 ? negative(a) : a;
}

template <Bits T>
T complement(T a) {
  if constexpr (Bool<T>)
    return !a;
  else
    return static_cast<T>(~a);
}
/// a*b + c; of floats rounded once (a device may also round the product).
template <Number T>
T multiply_add(T a, T b, T c) {
  if constexpr (Float<T>)
    return std::fma(a, b, c);
  else
    return add(mul(a, b), c);
}

// Truncated division; 0 by a divisor of 0, and the least number divided by -1 is itself.
template <Integer T>
T quotient(T a, T b) {
  if (b == 0) return 0;
  if constexpr (Sint<T>) {
    if (b == -1) return sub(T{0}, a);
  }
  return a / b;
}
template <Integer T>
T remainder(T a, T b) {
  return b == 0 ? 0 : sub(a, mul(b, quotient(a, b)));
}
/// The truncated remainder. Of floats it is exact; undefined cases give the default NaN.
template <Number T>
T modulus(T a, T b) {
  if constexpr (Float<T>) {
    const T r = std::fmod(a, b);
    return std::isnan(r) ? std::numeric_limits<T>::quiet_NaN() : r;
  } else {
    return remainder(a, b);
  }
}
template <Integer T>
T floor_quotient(T a, T b) {
  const T r = remainder(a, b);
  return quotient(a, b) - static_cast<T>(r != 0 && (r < 0) != (b < 0));
}
template <Integer T>
T floor_remainder(T a, T b) {
  const T r = remainder(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

template <Any T>
T maximum(T a, T b) {
  if (a != a) return a;  // NaN
  return b < a ? a : b;
}
template <Any T>
T minimum(T a, T b) {
  if (a != a) return a;
  return a < b ? a : b;
}

// Shifts work on Scalars, because the result depends on the width of the operands' dtype.
Scalar shift_left(std::span<const Scalar> v, DType) {
  const DType dtype = v[0].dtype();
  const std::uint64_t count = v[1].bits();
  if (count >= static_cast<std::uint64_t>(dtype.bits())) return Scalar::of(dtype, std::int64_t{0});
  return Scalar::from_bits(dtype, v[0].bits() << count);
}
Scalar shift_right(std::span<const Scalar> v, DType) {
  const DType dtype = v[0].dtype();
  const std::uint64_t count = std::min<std::uint64_t>(v[1].bits(), 63);
  if (dtype.is_signed_int()) return Scalar::of(dtype, v[0].as_int() >> count);
  if (v[1].bits() > 63) return Scalar::of(dtype, std::uint64_t{0});
  return Scalar::of(dtype, v[0].as_uint() >> count);
}

template <class T>
using Wider = std::conditional_t<std::same_as<T, float>, double, long double>;

// f computed in the wider type, and rounded.
template <Float T, class F, class... Args>
T rounded(F f, Args... args) {
  return static_cast<T>(f(static_cast<Wider<T>>(args)...));
}

template <class F, class T>
concept Unary = std::invocable<F, T>;
template <class F, class T>
concept Binary = std::invocable<F, T, T>;
template <class F, class T>
concept Ternary = std::invocable<F, T, T, T>;

template <auto F, class T>
Scalar apply(std::span<const Scalar> v, DType result) {
  if constexpr (Unary<decltype(F), T>)
    return pack(result, F(unpack<T>(v[0])));
  else if constexpr (Binary<decltype(F), T>)
    return pack(result, F(unpack<T>(v[0]), unpack<T>(v[1])));
  else
    return pack(result, F(unpack<T>(v[0]), unpack<T>(v[1]), unpack<T>(v[2])));
}

struct FunctionRow {
  Ops op;
  std::array<ScalarFunction, kClasses> by_class;  ///< null where the op is not defined
};

template <auto F, class T>
constexpr ScalarFunction cell() {
  if constexpr (Unary<decltype(F), T> || Binary<decltype(F), T> || Ternary<decltype(F), T>)
    return apply<F, T>;
  else
    return nullptr;
}

/// A row for a lambda on values: null for the classes on which it is not invocable.
template <auto F>
constexpr FunctionRow on_values(Ops op) {
  return {op,
          {cell<F, std::int64_t>(), cell<F, std::uint64_t>(), cell<F, bool>(), cell<F, float>(), cell<F, double>()}};
}
/// A row for a function of libm, computed one precision wider.
template <auto F>
constexpr FunctionRow on_wider(Ops op) {
  return on_values<[]<Float T, std::same_as<T>... More>(T a, More... more)
                     requires std::invocable<decltype(F), Wider<T>, Wider<More>...>
                   { return rounded<T>(F, a, more...); }>(op);
}
/// A row for a function on Scalars of every class.
constexpr FunctionRow on_scalars(Ops op, ScalarFunction f) { return {op, {f, f, f, f, f}}; }
constexpr FunctionRow on_integers(Ops op, ScalarFunction f) { return {op, {f, f, nullptr, nullptr, nullptr}}; }

Scalar first(std::span<const Scalar> v, DType) { return v[0]; }
Scalar choose(std::span<const Scalar> v, DType) { return v[0].as_bool() ? v[1] : v[2]; }
Scalar convert(std::span<const Scalar> v, DType to) { return v[0].cast(to); }
Scalar reinterpret(std::span<const Scalar> v, DType to) { return v[0].bitcast(to); }
Scalar dot_of_bytes(std::span<const Scalar> v, DType to) {
  std::int64_t out = v[2].as_int();
  for (int shift = 0; shift < 32; shift += 8)
    out += std::int64_t{static_cast<std::uint8_t>(v[0].bits() >> shift)} *
           static_cast<std::int8_t>(static_cast<std::uint8_t>(v[1].bits() >> shift));
  return Scalar::of(to, out);
}
Scalar dot_of_pairs(std::span<const Scalar> v, DType to) {
  auto out = static_cast<float>(v[2].as_double());
  const auto half = [&](std::size_t k, int shift) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(v[k].bits() >> shift) << 16);
  };
  for (const int shift : {16, 0}) out = std::fma(half(0, shift), half(1, shift), out);
  return Scalar::of(to, out);
}

// clang-format off
constexpr std::array kFunctionRows = {
  on_scalars(Ops::NOOP, first),
  on_scalars(Ops::REQUIRES_GRAD, first),
  on_scalars(Ops::DETACH, first),
  on_scalars(Ops::CUSTOM_GRAD, first),
  on_scalars(Ops::IN_RANGE, first),
  on_values<[]<Number T>(T a) { return negative(a); }>(Ops::NEG),
  on_values<[]<Number T>(T a) { return size(a); }>(Ops::ABS),
  on_values<[]<Bits T>(T a) { return complement(a); }>(Ops::NOT),
  on_values<[]<Float T>(T a) { return T{1} / a; }>(Ops::RECIP),
  on_values<[]<Float T>(T a) { return std::sqrt(a); }>(Ops::SQRT),
  on_values<[]<Float T>(T a) { return std::trunc(a); }>(Ops::TRUNC),
  on_values<[]<Float T>(T a) { return std::floor(a); }>(Ops::FLOOR),
  on_values<[]<Float T>(T a) { return std::ceil(a); }>(Ops::CEIL),
  on_values<[]<Float T>(T a) { return std::nearbyint(a); }>(Ops::ROUND),
  on_wider<[](auto x) { return std::exp2(x); }>(Ops::EXP2),
  on_wider<[](auto x) { return std::log2(x); }>(Ops::LOG2),
  on_wider<[](auto x) { return std::exp(x); }>(Ops::EXP),
  on_wider<[](auto x) { return std::log(x); }>(Ops::LOG),
  on_wider<[](auto x) { return std::expm1(x); }>(Ops::EXPM1),
  on_wider<[](auto x) { return std::log1p(x); }>(Ops::LOG1P),
  on_wider<[](auto x) { return std::sin(x); }>(Ops::SIN),
  on_wider<[](auto x) { return std::cos(x); }>(Ops::COS),
  on_wider<[](auto x) { return std::tan(x); }>(Ops::TAN),
  on_wider<[](auto x) { return std::atan(x); }>(Ops::ATAN),
  on_wider<[](auto x) { return std::tanh(x); }>(Ops::TANH),
  on_wider<[](auto x) { return std::erf(x); }>(Ops::ERF),
  on_scalars(Ops::CAST, convert),
  on_scalars(Ops::BITCAST, reinterpret),
  on_values<[]<Any T>(T a, T b) { return add(a, b); }>(Ops::ADD),
  on_values<[]<Number T>(T a, T b) { return sub(a, b); }>(Ops::SUB),
  on_values<[]<Any T>(T a, T b) { return mul(a, b); }>(Ops::MUL),
  on_values<[]<Float T>(T a, T b) { return a / b; }>(Ops::DIV),
  on_values<[]<Integer T>(T a, T b) { return quotient(a, b); }>(Ops::IDIV),
  on_values<[]<Number T>(T a, T b) { return modulus(a, b); }>(Ops::MOD),
  on_values<[]<Integer T>(T a, T b) { return floor_quotient(a, b); }>(Ops::FLOORDIV),
  on_values<[]<Integer T>(T a, T b) { return floor_remainder(a, b); }>(Ops::FLOORMOD),
  on_values<[]<Any T>(T a, T b) { return maximum(a, b); }>(Ops::MAX),
  on_values<[]<Any T>(T a, T b) { return minimum(a, b); }>(Ops::MIN),
  on_wider<[](auto x, auto y) { return std::pow(x, y); }>(Ops::POW),
  on_wider<[](auto x, auto y) { return std::atan2(x, y); }>(Ops::ATAN2),
  on_values<[]<Bits T>(T a, T b) { return static_cast<T>(a & b); }>(Ops::AND),
  on_values<[]<Bits T>(T a, T b) { return static_cast<T>(a | b); }>(Ops::OR),
  on_values<[]<Bits T>(T a, T b) { return static_cast<T>(a ^ b); }>(Ops::XOR),
  on_integers(Ops::SHL, shift_left),
  on_integers(Ops::SHR, shift_right),
  on_values<[]<Any T>(T a, T b) { return a < b; }>(Ops::CMPLT),
  on_values<[]<Any T>(T a, T b) { return a == b; }>(Ops::CMPEQ),
  on_values<[]<Any T>(T a, T b) { return a != b; }>(Ops::CMPNE),
  on_scalars(Ops::WHERE, choose),
  on_values<[]<Number T>(T a, T b, T c) { return multiply_add(a, b, c); }>(Ops::MULACC),
  FunctionRow{Ops::DOT4, {dot_of_bytes}},
  FunctionRow{Ops::DOT2, {nullptr, nullptr, nullptr, dot_of_pairs}},
};
// clang-format on

}  // namespace

ScalarFunction scalar_function(Ops op, DType operand) {
  const auto at = static_cast<std::size_t>(op);
  if (at >= kFunctionRows.size() || operand.is_none() || operand.is_pointer()) return nullptr;
  STRATA_ASSERT(kFunctionRows[at].op == op, "the table of functions is not in the order of ops.def");
  return kFunctionRows[at].by_class[class_of(operand)];
}

Scalar evaluate(Ops op, std::span<const Scalar> operands, DType to) {
  SmallVec<DType, 4> types;
  for (const Scalar& v : operands) types.push_back(v.dtype());
  const DType result = result_dtype(op, {types.data(), types.size()}, to);
  const ScalarFunction f = scalar_function(op, types.back());
  STRATA_CHECK(f != nullptr, domain, "[evaluate] ", spec_name(op), " is not an op on scalars");
  return f(operands, result);
}

}  // namespace strata
