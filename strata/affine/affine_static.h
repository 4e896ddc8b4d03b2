// Affine functions at compile time, from a text of the grammar of affine.h.
//
//   affine<"i * 128 + 64">(3) == 448       // arguments in order of the names' first appearance
//
// A call compiles to the arithmetic that one would write by hand; `/` and `%` floor. A wrong text does not compile, and
// the compiler shows the column and the reason. Arguments are integers other than bool, which are converted to
// std::int64_t, or Exprs; one Expr makes the result an Expr. affine_axes.h has the same functions over named axes,
// without a text.
//
// At run time integers wrap at 64 bits, unchecked (AffinePrimitives checks). In a constant expression an overflow does
// not compile. A divisor whose value is 0 throws Error (domain), except in a branch that is not taken; a divisor that
// is the number 0 in the text does not compile in any branch. Exprs throw as Expr's operators do, in every branch:
// (domain) for a divisor that can be 0.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "strata/affine/affine_text.h"
#include "strata/affine/affine_value.h"
#include "strata/base/fixed_string.h"

namespace strata {

namespace detail {

/// An AffineText for constants. The arrays have fixed sizes: a text has no more nodes or children than bytes allow.
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

/// The compiler shows this type for a wrong text: the 1-based column, and the reason.
template <std::size_t Column, FixedString Reason>
struct affine_error {
  static_assert(Column == 0, "the affine text is wrong: see the column and the reason in affine_error<column, reason>");
};

/// The compiler shows this type for a call with a wrong number of arguments.
template <std::size_t Names, std::size_t Arguments>
struct affine_argument_count {
  static_assert(Names == Arguments,
                "an affine function takes one argument for each name of its text, in order of "
                "first appearance: see affine_argument_count<names, arguments>");
};

/// The function of the text `Text`, which is part of the type. The text's names are its parameters, in order of their
/// first appearance: affine<"j + 2 * i">(1, 10) == 21.
template <FixedString Text>
class AffineFunction {
 public:
  static constexpr std::string_view text() { return Text.view(); }
  /// The number of names.
  static constexpr std::size_t arity() { return kText.name_count; }

  template <detail::AffineArgument... A>
  [[gnu::always_inline]] constexpr auto operator()(const A&... arguments) const {
    [[maybe_unused]] constexpr affine_argument_count<arity(), sizeof...(A)> checked;
    if constexpr (arity() == sizeof...(A)) {
      return detail::with_values<detail::any_expr<A...>, kMayDivideByZero>(
          [&]<class V>() __attribute__((always_inline)) {
            const std::array<V, sizeof...(A) + 1> x{detail::to_static<V>(arguments)...};
            return run<V>(x.data(), std::make_index_sequence<kText.node_count>());
          });
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

  /// True iff the second of two operands is a number.
  static constexpr bool has_number_second(const TextNode& node) {
    return node.count == 2 && kText.nodes[kText.children[node.first + 1]].kind == TextKind::number;
  }
  static consteval bool may_divide_by_zero() {
    for (std::size_t i = 0; i < kText.node_count; ++i) {
      const TextNode& node = kText.nodes[i];
      if (node.kind == TextKind::action && detail::divides(node.action) && !has_number_second(node)) return true;
    }
    return false;
  }
  static constexpr bool kMayDivideByZero = may_divide_by_zero();

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
      values[I] = detail::apply_static<node.action, has_number_second(node)>(operands, node.count);
    }
  }
  template <class V, std::size_t... I>
  [[gnu::always_inline]] static constexpr V run(const V* x, std::index_sequence<I...>) {
    std::array<V, sizeof...(I) + 1> values{};
    using Each = int[];
    (void)Each{0, (step<I>(values.data(), x), 0)...};
    return values[sizeof...(I) - 1];
  }
};

template <FixedString Text>
inline constexpr AffineFunction<Text> affine{};

}  // namespace strata
