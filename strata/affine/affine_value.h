// The value types that compile-time affine functions compute with: wrapped integers, checked integers, or Exprs, and
// the grammar's actions on each. Internal to affine_static.h and affine_axes.h.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "strata/affine/affine_text.h"
#include "strata/base/check.h"
#include "strata/expr/expr.h"

namespace strata {

namespace detail {

/// An integer, or the reason why there is none. Used in constant expressions and where a divisor can be 0.
struct StaticValue {
  std::int64_t value = 0;
  Outcome outcome = Outcome::ok;
};
/// An integer at run time, where no divisor can be 0; arithmetic wraps.
struct WrappedValue {
  std::int64_t value = 0;
};

[[noreturn]] inline void throw_zero_divisor() { throw Error(ErrorKind::domain, "[affine] the divisor is 0"); }
[[noreturn]] inline void throw_overflow() {
  throw Error(ErrorKind::overflow, "[affine] the value does not fit in 64 bits");
}

constexpr bool divides(Action action) {
  return action == Action::div || action == Action::mod || action == Action::ceil_div;
}

/// a // b, a % b or ceildiv(a, b), with overflow wrapped. The compiler folds a constant `b`. @pre b != 0
template <Action A>
constexpr std::int64_t divided(std::int64_t a, std::int64_t b) {
  if (b == -1) return A == Action::mod ? 0 : static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));
  if constexpr (A == Action::mod) return floor_mod(a, b);
  return floor_div(a, b) + (A == Action::ceil_div && a % b != 0 ? 1 : 0);
}

/// The same for a constant power of two `b`: a shift or a mask, without floor_div's correction of the sign.
template <Action A>
constexpr std::int64_t shifted(std::int64_t a, std::int64_t b) {
  if constexpr (A == Action::mod) return a & (b - 1);
  const std::int64_t q = a >> std::countr_zero(static_cast<std::uint64_t>(b));
  return q + (A == Action::ceil_div && (a & (b - 1)) != 0 ? 1 : 0);
}

/// The action A on two numbers at run time, wrapped at 64 bits. @pre a divisor is not 0
template <Action A, bool NumberSecond>
[[gnu::always_inline]] constexpr std::int64_t wrapped(std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  if constexpr (A == Action::add) return static_cast<std::int64_t>(x + y);
  if constexpr (A == Action::sub) return static_cast<std::int64_t>(x - y);
  if constexpr (A == Action::mul) return static_cast<std::int64_t>(x * y);
  if constexpr (divides(A))
    return NumberSecond && b > 0 && std::has_single_bit(y) ? shifted<A>(a, b) : divided<A>(a, b);
  if constexpr (A == Action::min) return a < b ? a : b;
  if constexpr (A == Action::max) return a > b ? a : b;
  if constexpr (A == Action::lt) return a < b;
  if constexpr (A == Action::le) return a <= b;
  if constexpr (A == Action::gt) return a > b;
  if constexpr (A == Action::ge) return a >= b;
  if constexpr (A == Action::eq) return a == b;
  if constexpr (A == Action::ne) return a != b;
  if constexpr (A == Action::logical_and) return (a != 0) && (b != 0);
  if constexpr (A == Action::logical_or) return (a != 0) || (b != 0);
}

/// The action A on values. `NumberSecond`: the second operand is a number in the text.
template <Action A, bool NumberSecond>
[[gnu::always_inline]] constexpr WrappedValue apply_static(const WrappedValue* x, std::size_t arity) {
  if constexpr (A == Action::select) {
    return {x[0].value != 0 ? x[1].value : x[2].value};
  } else if constexpr (A == Action::if_else) {
    return {x[1].value != 0 ? x[0].value : x[2].value};
  } else if constexpr (A == Action::neg) {
    return {wrapped<Action::sub, false>(0, x[0].value)};
  } else if constexpr (A == Action::logical_not) {
    return {x[0].value == 0};
  } else {
    std::int64_t out = x[0].value;
    for (std::size_t i = 1; i < arity; ++i) out = wrapped<A, NumberSecond>(out, x[i].value);
    return {out};
  }
}

/// The action A on two numbers: fully checked in constant expressions; at run time only zero divisors are detected.
template <Action A, bool NumberSecond>
constexpr StaticValue checked(std::int64_t a, std::int64_t b) {
  StaticValue out;
  if (std::is_constant_evaluated())
    out.outcome = apply_binary(A, a, b, out.value);
  else if (divides(A) && b == 0)
    out.outcome = Outcome::zero_divisor;
  else
    out.value = wrapped<A, NumberSecond>(a, b);
  return out;
}

template <Action A, bool NumberSecond>
constexpr StaticValue apply_static(const StaticValue* x, std::size_t arity) {
  if constexpr (A == Action::select || A == Action::if_else) {
    constexpr bool python = A == Action::if_else;
    const StaticValue& c = x[python ? 1 : 0];
    if (c.outcome != Outcome::ok) return c;
    return c.value != 0 ? x[python ? 0 : 1] : x[2];
  } else {
    StaticValue out = x[0];
    if (out.outcome != Outcome::ok) return out;
    if constexpr (A == Action::neg) return checked<Action::sub, false>(0, out.value);
    if constexpr (A == Action::logical_not) return {out.value == 0, Outcome::ok};
    for (std::size_t i = 1; i < arity; ++i) {
      if (A == Action::logical_and && out.value == 0) return {0, Outcome::ok};
      if (A == Action::logical_or && out.value != 0) return {1, Outcome::ok};
      if (x[i].outcome != Outcome::ok) return x[i];
      if constexpr (A != Action::neg && A != Action::logical_not) out = checked<A, NumberSecond>(out.value, x[i].value);
      if (out.outcome != Outcome::ok) return out;
    }
    return out;
  }
}

inline Expr apply_to_exprs(Action action, const Expr* x, std::size_t arity) {
  switch (action) {
    case Action::neg: return -x[0];
    case Action::logical_not: return !x[0];
    case Action::select: return select(x[0], x[1], x[2]);
    case Action::if_else: return select(x[1], x[0], x[2]);
    case Action::add: return x[0] + x[1];
    case Action::sub: return x[0] - x[1];
    case Action::mul: return x[0] * x[1];
    case Action::div: return x[0] / x[1];
    case Action::mod: return x[0] % x[1];
    case Action::ceil_div: return ceildiv(x[0], x[1]);
    case Action::lt: return x[0] < x[1];
    case Action::le: return x[0] <= x[1];
    case Action::gt: return x[0] > x[1];
    case Action::ge: return x[0] >= x[1];
    case Action::eq: return x[0] == x[1];
    case Action::ne: return x[0] != x[1];
    case Action::logical_and: return x[0] && x[1];
    case Action::logical_or: return x[0] || x[1];
    case Action::min:
    case Action::max: break;
  }
  Expr out = x[0];
  for (std::size_t i = 1; i < arity; ++i) out = action == Action::min ? min(out, x[i]) : max(out, x[i]);
  return out;
}

template <Action A, bool NumberSecond>
Expr apply_static(const Expr* x, std::size_t arity) {
  return apply_to_exprs(A, x, arity);
}

constexpr std::int64_t result_of(const StaticValue& v) {
  if (v.outcome == Outcome::zero_divisor) throw_zero_divisor();
  if (v.outcome == Outcome::overflow) throw_overflow();
  return v.value;
}
constexpr std::int64_t result_of(const WrappedValue& v) { return v.value; }
inline Expr result_of(const Expr& e) { return e; }

template <class A>
concept AffineArgument = (std::integral<A> && !std::same_as<A, bool>) || std::derived_from<A, Expr>;

template <class... A>
inline constexpr bool any_expr = (std::derived_from<A, Expr> || ...);

template <class V, class A>
constexpr V to_static(const A& a) {
  if constexpr (std::same_as<V, Expr>)
    return a;
  else
    return {static_cast<std::int64_t>(a)};
}

/// The result of run.template operator()<V>() with the cheapest V that is right: Expr when an argument is one;
/// StaticValue in constant expressions and when a divisor may be 0; otherwise WrappedValue.
template <bool AnyExpr, bool MayDivideByZero, class F>
[[gnu::always_inline]] constexpr auto with_values(const F& run) {
  if constexpr (AnyExpr) {
    return result_of(run.template operator()<Expr>());
  } else if constexpr (MayDivideByZero) {
    return result_of(run.template operator()<StaticValue>());
  } else {
    if (std::is_constant_evaluated()) return result_of(run.template operator()<StaticValue>());
    return result_of(run.template operator()<WrappedValue>());
  }
}

}  // namespace detail

}  // namespace strata
