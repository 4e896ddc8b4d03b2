// Affine functions as C++ expressions over named axes, known completely to the compiler.
//
//   const auto [i, j] = axes<"i", "j">;
//   constexpr auto g = i * 128 + j % 16 * 8 + j / 16;
//   g(i = 3, j = 20) == 417
//   g(i = Variable("i", 0, 127), j = 5)         // an Expr
//   g.text() == "(((i * 128) + ((j % 16) * 8)) + (j / 16))"
//
// Operators: + - * / % < <= > >= == != && || ! and unary -; functions: min max ceildiv select. Their meaning is that of
// affine_static.h. A call names each axis of the expression exactly once, in any order; any other call does not
// compile.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "strata/affine/affine_value.h"
#include "strata/base/fixed_string.h"

namespace strata {

/// The compiler shows one of these types when the axes of a call are not those of the expression.
template <FixedString Name>
struct axis_without_value {
  static_assert(Name.view().empty(), "an axis of the expression is given no value: see axis_without_value<name>");
};
template <FixedString Name>
struct axis_given_twice {
  static_assert(Name.view().empty(), "an axis is given two values: see axis_given_twice<name>");
};
template <FixedString Name>
struct axis_not_in_expression {
  static_assert(Name.view().empty(),
                "a value is given to an axis that is not in the expression: see "
                "axis_not_in_expression<name>");
};

/// The assignment `i = 3` in a call.
template <FixedString Name, class A>
struct AxisValue {
  A value;
};

namespace detail {

template <class T>
inline constexpr bool is_axis_value = false;
template <FixedString Name, class A>
inline constexpr bool is_axis_value<AxisValue<Name, A>> = true;

template <class T>
struct AxisValueOf;  // the name and type of an AxisValue
template <FixedString Name, class A>
struct AxisValueOf<AxisValue<Name, A>> {
  static constexpr auto name = Name;
  using Type = A;
};

/// The operations that a user calls on an expression of type E.
template <class E>
struct AxisFunction {
  template <class... B>
  [[gnu::always_inline]] constexpr auto operator()(const B&... values) const {
    static_assert((is_axis_value<B> && ...),
                  "the arguments of an expression over axes are assignments to its axes, as in g(i "
                  "= 3, j = 20)");
    if constexpr ((is_axis_value<B> && ...)) {
      (check_argument<AxisValueOf<B>::name, B...>(), ...);
      return with_values<any_expr<typename AxisValueOf<B>::Type...>, E::kMayDivideByZero>(
          [&]<class V>()
              __attribute__((always_inline)) { return static_cast<const E&>(*this).template value<V>(values...); });
    }
  }
  /// The expression in the grammar of affine.h, fully bracketed.
  std::string text() const {
    std::string out;
    static_cast<const E&>(*this).write(out);
    return out;
  }

 private:
  template <FixedString Name, class... B>
  static constexpr void check_argument() {
    if constexpr ((std::size_t{Name.view() == AxisValueOf<B>::name.view()} + ...) > 1) [[maybe_unused]]
      axis_given_twice<Name> error;
    else if constexpr (!E::uses(Name.view())) [[maybe_unused]]
      axis_not_in_expression<Name> error;
  }
};

}  // namespace detail

/// A named axis; each call gives it a value.
template <FixedString Name>
struct Axis : detail::AxisFunction<Axis<Name>> {
  static_assert(!Name.view().empty() && is_name_start(Name.view()[0]) && !is_reserved_word(Name.view()) &&
                    std::all_of(Name.view().begin(), Name.view().end(),
                                [](char c) { return is_name_start(c) || is_digit(c); }),
                "the name of an axis is an identifier");

  template <detail::AffineArgument A>
  constexpr AxisValue<Name, A> operator=(const A& value) const {
    return {value};
  }

  static constexpr bool kMayDivideByZero = false;
  static constexpr bool uses(std::string_view name) { return name == Name.view(); }
  template <class V, class... B>
  [[gnu::always_inline]] constexpr V value(const B&... values) const {
    if constexpr (((Name.view() == detail::AxisValueOf<B>::name.view()) || ...)) {
      V out{};
      ((Name.view() == detail::AxisValueOf<B>::name.view() ? void(out = detail::to_static<V>(values.value)) : void()),
       ...);
      return out;
    } else {
      [[maybe_unused]] axis_without_value<Name> error;
      return V{};
    }
  }
  void write(std::string& out) const { out += Name.view(); }
};

namespace detail {

/// A number inside an expression.
struct AxisNumber {
  std::int64_t number;

  static constexpr bool kMayDivideByZero = false;
  static constexpr bool uses(std::string_view) { return false; }
  template <class V, class... B>
  [[gnu::always_inline]] constexpr V value(const B&...) const {
    return to_static<V>(number);
  }
  void write(std::string& out) const { out += std::to_string(number); }
};

constexpr std::string_view axis_symbol(Action action) {
  for (const BinaryRow& row : kBinary)
    if (row.action == action && row.text != "or" && row.text != "and") return row.text;
  for (const FunctionRow& row : kFunctions)
    if (row.action == action) return row.name;
  return action == Action::neg ? "-" : "!";
}

/// The action A applied to expressions X.
template <Action A, class... X>
struct AxisTerm : AxisFunction<AxisTerm<A, X...>> {
  static constexpr std::size_t kCount = sizeof...(X);
  using Second = std::tuple_element_t<kCount == 1 ? 0 : 1, std::tuple<X...>>;
  static constexpr bool kNumberSecond = std::is_same_v<Second, AxisNumber>;
  static constexpr bool kMayDivideByZero = (divides(A) && !kNumberSecond) || (X::kMayDivideByZero || ...);
  std::tuple<X...> operands;

  explicit constexpr AxisTerm(const X&... x) : operands(x...) {}

  static constexpr bool uses(std::string_view name) { return (X::uses(name) || ...); }
  template <class V, class... B>
  [[gnu::always_inline]] constexpr V value(const B&... values) const {
    return apply<V>(std::make_index_sequence<kCount>(), values...);
  }
  template <class V, std::size_t... I, class... B>
  [[gnu::always_inline]] constexpr V apply(std::index_sequence<I...>, const B&... values) const {
    const V in[] = {std::get<I>(operands).template value<V>(values...)...};
    return apply_static<A, kNumberSecond>(in, kCount);
  }
  void write(std::string& out) const {
    constexpr bool infix = kCount == 2 && A != Action::min && A != Action::max && A != Action::ceil_div;
    constexpr bool call = !infix && kCount > 1;
    if constexpr (call) out += axis_symbol(A);
    out += '(';
    if constexpr (kCount == 1) out += axis_symbol(A);
    const std::string between = infix ? message(" ", axis_symbol(A), " ") : ", ";
    std::size_t k = 0;
    std::apply([&](const X&... x) { ((out += k++ == 0 ? "" : between, x.write(out)), ...); }, operands);
    out += ')';
  }
};

template <class T>
inline constexpr bool is_axis_expression = false;
template <FixedString Name>
inline constexpr bool is_axis_expression<Axis<Name>> = true;
template <Action A, class... X>
inline constexpr bool is_axis_expression<AxisTerm<A, X...>> = true;

template <class T>
concept AxisOperand = is_axis_expression<T> || (std::integral<T> && !std::same_as<T, bool>);
/// Operands of which at least one is an expression over axes.
template <class... T>
concept AxisOperands = (AxisOperand<T> && ...) && (is_axis_expression<T> || ...);

template <AxisOperand T>
constexpr auto axis_operand(const T& x) {
  if constexpr (std::integral<T>)
    return AxisNumber{static_cast<std::int64_t>(x)};
  else
    return x;
}
template <Action A, class... T>
constexpr auto axis_term(const T&... x) {
  return AxisTerm<A, decltype(axis_operand(x))...>(axis_operand(x)...);
}
template <Action A, class L, class R>
constexpr auto axis_quotient(const L& a, const R& b) {
  if constexpr (std::integral<R>)
    if (b == 0) throw_zero_divisor();
  return axis_term<A>(a, b);
}

}  // namespace detail

#define STRATA_AXIS_BINARY(symbol, make, action)           \
  template <class L, class R>                              \
    requires detail::AxisOperands<L, R>                    \
  constexpr auto operator symbol(const L& a, const R& b) { \
    return detail::make<Action::action>(a, b);             \
  }
STRATA_AXIS_BINARY(+, axis_term, add)
STRATA_AXIS_BINARY(-, axis_term, sub)
STRATA_AXIS_BINARY(*, axis_term, mul)
STRATA_AXIS_BINARY(/, axis_quotient, div)
STRATA_AXIS_BINARY(%, axis_quotient, mod)
STRATA_AXIS_BINARY(<, axis_term, lt)
STRATA_AXIS_BINARY(<=, axis_term, le)
STRATA_AXIS_BINARY(>, axis_term, gt)
STRATA_AXIS_BINARY(>=, axis_term, ge)
STRATA_AXIS_BINARY(==, axis_term, eq)
STRATA_AXIS_BINARY(!=, axis_term, ne)
STRATA_AXIS_BINARY(&&, axis_term, logical_and)
STRATA_AXIS_BINARY(||, axis_term, logical_or)
#undef STRATA_AXIS_BINARY

template <class T>
  requires detail::AxisOperands<T>
constexpr auto operator-(const T& x) {
  return detail::axis_term<Action::neg>(x);
}
template <class T>
  requires detail::AxisOperands<T>
constexpr auto operator!(const T& x) {
  return detail::axis_term<Action::logical_not>(x);
}
template <class L, class... R>
  requires(sizeof...(R) > 0 && detail::AxisOperands<L, R...>)
constexpr auto min(const L& a, const R&... rest) {
  return detail::axis_term<Action::min>(a, rest...);
}
template <class L, class... R>
  requires(sizeof...(R) > 0 && detail::AxisOperands<L, R...>)
constexpr auto max(const L& a, const R&... rest) {
  return detail::axis_term<Action::max>(a, rest...);
}
template <class L, class R>
  requires detail::AxisOperands<L, R>
constexpr auto ceildiv(const L& a, const R& b) {
  return detail::axis_quotient<Action::ceil_div>(a, b);
}
/// condition != 0 ? a : b
template <class C, class L, class R>
  requires detail::AxisOperands<C, L, R>
constexpr auto select(const C& condition, const L& a, const R& b) {
  return detail::axis_term<Action::select>(condition, a, b);
}

/// The type of `axes`; a structured binding takes it apart.
template <FixedString... Names>
struct AxisTuple {
  static constexpr std::tuple<Axis<Names>...> all{};
  template <std::size_t I>
  friend constexpr const auto& get(const AxisTuple&) noexcept {
    return std::get<I>(all);
  }
};
/// Named axes: const auto [i, j] = axes<"i", "j">; (C++20 has no constexpr structured binding; these work in
/// constants.)
template <FixedString... Names>
inline constexpr AxisTuple<Names...> axes{};

}  // namespace strata

template <strata::FixedString... Names>
struct std::tuple_size<strata::AxisTuple<Names...>> : std::integral_constant<std::size_t, sizeof...(Names)> {};
template <std::size_t I, strata::FixedString... Names>
struct std::tuple_element<I, strata::AxisTuple<Names...>> {
  using type = const std::tuple_element_t<I, std::tuple<strata::Axis<Names>...>>;
};
