// The integer operations that the layout algebra uses, with the same names for std::int64_t (usable
// in constant expressions) and for Int. Internal to layout/. A value that does not fit in 64 bits
// throws Error (overflow). A question about expressions answers true when the answer is shown for
// every value of their variables, and false otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/view/int.h"

namespace strata::detail {

constexpr std::int64_t int_plus(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  STRATA_CHECK(try_add(a, b, out), overflow, "[layout] ", a, " + ", b, " leaves 64 bits");
  return out;
}
inline Int int_plus(const Int& a, const Int& b) { return a + b; }

constexpr std::int64_t int_times(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  STRATA_CHECK(try_mul(a, b, out), overflow, "[layout] ", a, " * ", b, " leaves 64 bits");
  return out;
}
inline Int int_times(const Int& a, const Int& b) { return a * b; }

/// a * b; nothing when two numbers have a product that does not fit in 64 bits.
constexpr std::optional<std::int64_t> int_try_times(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return try_mul(a, b, out) ? std::optional<std::int64_t>(out) : std::nullopt;
}
inline std::optional<Int> int_try_times(const Int& a, const Int& b) {
  if (!a.is_number() || !b.is_number()) return a * b;
  const std::optional<std::int64_t> out = int_try_times(a.value(), b.value());
  return out ? std::optional<Int>(*out) : std::nullopt;
}

constexpr bool int_equal(std::int64_t a, std::int64_t b) { return a == b; }
inline bool int_equal(const Int& a, const Int& b) { return a == b || known(is_equal(a, b)); }
constexpr bool int_at_most(std::int64_t a, std::int64_t b) { return a <= b; }
inline bool int_at_most(const Int& a, const Int& b) { return known(is_at_most(a, b)); }

/// a / b when the quotient is an integer, else nothing. @pre b != 0
constexpr std::optional<std::int64_t> int_quotient(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (!try_floor_div(a, b, out) || floor_mod(a, b) != 0) return std::nullopt;
  return out;
}
inline std::optional<Int> int_quotient(const Int& a, const Int& b) { return exact_quotient(a, b); }

/// Floor quotient and remainder. @pre b > 0
constexpr std::pair<std::int64_t, std::int64_t> int_divide(std::int64_t a, std::int64_t b) {
  return {floor_div(a, b), floor_mod(a, b)};
}
inline std::pair<Int, Int> int_divide(const Int& a, const Int& b) {
  if (a.is_number() && b.is_number()) return {floor_div(a.value(), b.value()), floor_mod(a.value(), b.value())};
  return {a.expr() / b.expr(), a.expr() % b.expr()};
}

/// ceil(a / b). @pre b > 0
constexpr std::int64_t int_ceil_quotient(std::int64_t a, std::int64_t b) {
  return floor_div(a, b) + (floor_mod(a, b) != 0 ? 1 : 0);
}
inline Int int_ceil_quotient(const Int& a, const Int& b) {
  if (a.is_number() && b.is_number()) return int_ceil_quotient(a.value(), b.value());
  return ceildiv(a.expr(), b.expr());
}

constexpr std::optional<std::int64_t> int_number(std::int64_t a) { return a; }
inline std::optional<std::int64_t> int_number(const Int& a) {
  return a.is_number() ? std::optional<std::int64_t>(a.value()) : std::nullopt;
}

inline std::string int_text(std::int64_t a) { return std::to_string(a); }
inline std::string int_text(const Int& a) { return a.render(); }

}  // namespace strata::detail
