// Splits one compile-time text of index expressions, `_0, _2, _1 / 2 * 2`, and has the compiler check each. Internal to
// loops/.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "strata/affine/affine_static.h"

namespace strata::detail {

/// Calls f(text, position) for each text between commas outside brackets. A blank text has no expressions.
template <class F>
constexpr void for_each_loop_text(std::string_view all, F&& f) {
  if (all.find_first_not_of(" \t\n\r") == std::string_view::npos) return;
  std::size_t begin = 0, depth = 0;
  for (std::size_t i = 0; i <= all.size(); ++i) {
    if (i < all.size() && all[i] == '(') ++depth;
    if (i < all.size() && all[i] == ')' && depth > 0) --depth;
    if (i < all.size() && (all[i] != ',' || depth > 0)) continue;
    f(all.substr(begin, i - begin), begin);
    begin = i + 1;
  }
}

constexpr std::size_t count_loop_texts(std::string_view all) {
  std::size_t count = 0;
  for_each_loop_text(all, [&](std::string_view, std::size_t) { ++count; });
  return count;
}

/// True for the names _0, _1, ... with a number below `count`, without leading zeros.
constexpr bool is_counter(std::string_view name, std::size_t count) {
  if (name.size() < 2 || name[0] != '_' || (name[1] == '0' && name.size() > 2)) return false;
  std::size_t number = 0;
  for (const char c : name.substr(1)) {
    if (!is_digit(c) || number > count) return false;
    number = number * 10 + static_cast<std::size_t>(c - '0');
  }
  return number < count;
}

/// The first mistake in the texts, with its column in the whole text.
constexpr TextFault loop_text_fault(std::string_view all) {
  TextFault out;
  const std::size_t count = count_loop_texts(all);
  for_each_loop_text(all, [&](std::string_view text, std::size_t begin) {
    if (out.column != 0) return;
    const AffineText read = read_affine_text(text);
    out = read.fault;
    out.token = {};
    for (const TextName& name : read.names)
      if (out.column == 0 && !is_counter(name.text, count))
        out = {Fault::syntax, false, "the counters are _0, _1, ..., one for each expression", {}, name.column};
    if (out.column != 0) out.column += begin;
  });
  return out;
}

template <FixedString Text>
consteval auto loop_texts() {
  constexpr TextFault fault = loop_text_fault(Text.view());
  if constexpr (fault.column != 0) {
    using Size = std::integral_constant<std::size_t, fault.what.size() + 1>;
    [[maybe_unused]] affine_error<fault.column, FixedString<Size::value>(fault.what, Size())> error;
  }
  std::array<std::string_view, count_loop_texts(Text.view())> out;
  std::size_t k = 0;
  for_each_loop_text(Text.view(), [&](std::string_view text, std::size_t) { out[k++] = text; });
  return out;
}

}  // namespace strata::detail
