// Affine functions at compile time, by the same grammar as affine.h.
//
//   affine<"i * 128 + 64">(3) == 448                  // arguments in order of the names' first appearance
//
//   const auto [i, j] = axes<"i", "j">;
//   constexpr auto g = i * 128 + j % 16 * 8 + j / 16;
//   g(i = 3, j = 20) == 417
//
// Both compile to what one would write by hand; `/` and `%` floor. A text that is wrong does not compile, and the
// compiler names the column and the reason. Arguments are integers, or Exprs: then the result is an Expr.
//
// At run time integers wrap at 64 bits, unchecked (AffinePrimitives checks); in a constant expression overflow does
// not compile. A zero divisor throws Error (domain); it does not count in a branch that is not taken.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "strata/base/check.h"
#include "strata/expr/affine_text.h"
#include "strata/expr/expr.h"

namespace strata {

/// A text as a template argument.
template <std::size_t N>
struct FixedString {
  char characters[N] = {};
  consteval FixedString(const char (&text)[N]) {
    for (std::size_t i = 0; i < N; ++i) characters[i] = text[i];
  }
  constexpr FixedString(std::string_view text, std::integral_constant<std::size_t, N>) {
    for (std::size_t i = 0; i + 1 < N; ++i) characters[i] = text[i];
  }
  constexpr std::string_view view() const { return {characters, N - 1}; }
  constexpr bool operator==(const FixedString&) const = default;
};

namespace detail {

// --- values: what the steps of both forms compute on ---

/// An integer, or why there is none.
struct StaticValue {
  std::int64_t value = 0;
  Outcome outcome = Outcome::ok;
};

[[noreturn]] inline void throw_zero_divisor() { throw Error(ErrorKind::domain, "[affine] the divisor is 0"); }
[[noreturn]] inline void throw_overflow() {
  throw Error(ErrorKind::overflow, "[affine] the value does not fit in 64 bits");
}

/// a `action` b for + - *, wrapped at 64 bits.
constexpr std::int64_t wrapped(Action action, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  return static_cast<std::int64_t>(action == Action::add ? x + y : action == Action::sub ? x - y : x * y);
}

/// a `action` b for the divisions; `b` is folded by the compiler where it is a constant.
constexpr StaticValue divided(Action action, std::int64_t a, std::int64_t b) {
  if (b == 0) return {0, Outcome::zero_divisor};
  if (b == -1) return {action == Action::mod ? 0 : wrapped(Action::sub, 0, a), Outcome::ok};
  if (action == Action::mod) return {floor_mod(a, b), Outcome::ok};
  return {floor_div(a, b) + (action == Action::ceil_div && a % b != 0 ? 1 : 0), Outcome::ok};
}

/// The divisions by a power of two that the compiler knows: a shift or a mask, not floor_div's fix for the sign.
constexpr StaticValue shifted(Action action, std::int64_t a, std::int64_t b) {
  if (action == Action::mod) return {a & (b - 1), Outcome::ok};
  const std::int64_t q = a >> std::countr_zero(static_cast<std::uint64_t>(b));
  return {q + (action == Action::ceil_div && (a & (b - 1)) != 0 ? 1 : 0), Outcome::ok};
}

constexpr StaticValue static_binary(Action action, std::int64_t a, std::int64_t b, bool known_divisor) {
  StaticValue out;
  if (std::is_constant_evaluated()) {
    out.outcome = apply_binary(action, a, b, out.value);
    return out;
  }
  if (action == Action::add || action == Action::sub || action == Action::mul) return {wrapped(action, a, b), Outcome::ok};
  if (action == Action::div || action == Action::mod || action == Action::ceil_div) {
    const bool power = known_divisor && b > 0 && std::has_single_bit(static_cast<std::uint64_t>(b));
    return power ? shifted(action, a, b) : divided(action, a, b);
  }
  out.outcome = apply_binary(action, a, b, out.value);
  return out;
}

/// One action on values. `known_divisor`: the second operand is written as a number.
constexpr StaticValue apply_static(Action action, const StaticValue* x, std::size_t arity, bool known_divisor) {
  if (action == Action::select || action == Action::if_else) {
    const bool python = action == Action::if_else;
    const StaticValue& c = x[python ? 1 : 0];
    if (c.outcome != Outcome::ok) return c;
    return c.value != 0 ? x[python ? 0 : 1] : x[2];
  }
  StaticValue out = x[0];
  if (out.outcome != Outcome::ok) return out;
  if (action == Action::neg) return static_binary(Action::sub, 0, out.value, false);
  if (action == Action::logical_not) return {out.value == 0, Outcome::ok};
  for (std::size_t i = 1; i < arity; ++i) {
    if (action == Action::logical_and && out.value == 0) return {0, Outcome::ok};
    if (action == Action::logical_or && out.value != 0) return {1, Outcome::ok};
    if (x[i].outcome != Outcome::ok) return x[i];
    out = static_binary(action, out.value, x[i].value, known_divisor);
    if (out.outcome != Outcome::ok) return out;
  }
  return out;
}

inline Expr apply_static(Action action, const Expr* x, std::size_t arity, bool) {
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

constexpr std::int64_t result_of(const StaticValue& v) {
  if (v.outcome == Outcome::zero_divisor) throw_zero_divisor();
  if (v.outcome == Outcome::overflow) throw_overflow();
  return v.value;
}
inline Expr result_of(const Expr& e) { return e; }

/// What an argument becomes: StaticValue, or Expr when some argument is one.
template <class... A>
using StaticOf = std::conditional_t<(std::convertible_to<A, const Expr&> || ...) && !(std::integral<A> && ...), Expr,
                                    StaticValue>;
template <class V, class A>
constexpr V to_static(const A& a) {
  if constexpr (std::same_as<V, StaticValue>)
    return {static_cast<std::int64_t>(a), Outcome::ok};
  else
    return a;
}
template <class A>
concept AffineArgument = (std::integral<A> && !std::same_as<A, bool>) || std::derived_from<A, Expr>;

// --- texts ---

/// An AffineText that can live in a constant: no more of anything than the text has bytes.
template <std::size_t N>
struct StaticText {
  std::array<TextNode, N> nodes;
  std::array<std::uint32_t, N> children;
  std::size_t node_count = 0;
  std::size_t name_count = 0;
};

template <FixedString Text>
consteval auto static_text() {
  constexpr std::size_t most = Text.view().size() + 1;
  const AffineText text = read_affine_text(Text.view());
  StaticText<2 * most> out{};
  std::copy(text.nodes.begin(), text.nodes.end(), out.nodes.begin());
  std::copy(text.children.begin(), text.children.end(), out.children.begin());
  out.node_count = text.nodes.size();
  out.name_count = text.names.size();
  return out;
}

}  // namespace detail

/// What the compiler shows for a text that is wrong: the 1-based column, and why.
template <std::size_t Column, FixedString Reason>
struct affine_error {
  static_assert(Column == 0, "the affine text is wrong: see the column and the reason in affine_error<column, reason>");
};

/// What the compiler shows for a call with a wrong number of arguments.
template <std::size_t Names, std::size_t Arguments>
struct affine_argument_count {
  static_assert(Names == Arguments, "an affine function takes one argument for each name of its text, in order of "
                                    "first appearance: see affine_argument_count<names, arguments>");
};

/// The function of the grammar's text `Text`.
template <FixedString Text>
class AffineFunction {
 public:
  static constexpr std::string_view text() { return Text.view(); }
  /// The number of names.
  static constexpr std::size_t arity() { return kText.name_count; }

  template <detail::AffineArgument... A>
  constexpr auto operator()(const A&... arguments) const {
    [[maybe_unused]] constexpr affine_argument_count<arity(), sizeof...(A)> checked;
    if constexpr (arity() == sizeof...(A)) {
      using V = detail::StaticOf<A...>;
      const std::array<V, sizeof...(A) + 1> x{detail::to_static<V>(arguments)...};
      return run<V>(x.data(), std::make_index_sequence<kText.node_count>());
    }
  }

 private:
  static consteval TextFault fault() {
    TextFault out = read_affine_text(Text.view()).fault;
    out.token = {};
    return out;
  }
  static consteval auto compile() {
    constexpr TextFault f = fault();
    if constexpr (f.column != 0) {
      using Size = std::integral_constant<std::size_t, f.what.size() + 1>;
      [[maybe_unused]] affine_error<f.column, FixedString<Size::value>(f.what, Size())> error;
      return detail::StaticText<1>{};
    } else {
      return detail::static_text<Text>();
    }
  }
  static constexpr auto kText = compile();

  template <std::size_t I, class V>
  [[gnu::always_inline]] static constexpr void step(V* values, const V* x) {
    constexpr TextNode node = kText.nodes[I];
    if constexpr (node.kind == TextKind::number) {
      values[I] = detail::to_static<V>(node.value);
    } else if constexpr (node.kind == TextKind::name) {
      values[I] = x[node.value];
    } else if constexpr (node.kind == TextKind::action) {
      V operands[node.count];
      for (std::size_t i = 0; i < node.count; ++i) operands[i] = values[kText.children[node.first + i]];
      constexpr bool known = node.count == 2 && kText.nodes[kText.children[node.first + 1]].kind == TextKind::number;
      values[I] = detail::apply_static(node.action, operands, node.count, known);
    }
  }
  template <class V, std::size_t... I>
  [[gnu::always_inline]] static constexpr auto run(const V* x, std::index_sequence<I...>) {
    std::array<V, sizeof...(I) + 1> values{};
    using Each = int[];
    (void)Each{0, (step<I>(values.data(), x), 0)...};
    return detail::result_of(values[sizeof...(I) - 1]);
  }
};

template <FixedString Text>
inline constexpr AffineFunction<Text> affine{};

}  // namespace strata
