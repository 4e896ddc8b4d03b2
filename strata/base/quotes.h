// Users' texts inside messages: what is at fault, in quotes, short and printable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

/// Length of the valid UTF-8 sequence that starts at `at` (1 to 4), or 0. @pre at < text.size()
constexpr std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what lies above U+10FFFF show in the second byte.
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

/// The character at `at`: a whole UTF-8 sequence, or one byte where none is valid; "" at the end of the text.
constexpr std::string_view character_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  return text.substr(at, std::max<std::size_t>(1, utf8_length(text, at)));
}

/// `text` in single quotes, cut after 40 bytes. Control characters and what is not UTF-8 show as `\x` and their bytes: a
/// NUL would end the message, an escape sequence would be obeyed by a terminal.
std::string in_quotes(std::string_view text);

}  // namespace strata
