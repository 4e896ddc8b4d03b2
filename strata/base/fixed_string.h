// FixedString: a text as a template argument, as in `layout<"(4,8):(8,1)">`.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace strata {

/// A text that can be a template argument. @post view() is the text without the NUL at its end
template <std::size_t N>
struct FixedString {
  char characters[N] = {};
  consteval FixedString(const char (&text)[N]) {
    for (std::size_t i = 0; i < N; ++i) characters[i] = text[i];
  }
  constexpr FixedString(std::string_view text, std::integral_constant<std::size_t, N>) {
    for (std::size_t i = 0; i < N; ++i) characters[i] = i + 1 < N ? text[i] : '\0';
  }
  constexpr std::string_view view() const { return {characters, N - 1}; }
  constexpr bool operator==(const FixedString&) const = default;
};

}  // namespace strata
