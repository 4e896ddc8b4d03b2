// Quoting of users' texts in messages: `in_quotes` makes them short and printable. Also UTF-8 lengths.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

/// The length (1 to 4) of the valid UTF-8 sequence that starts at byte `at`, or 0. @pre at < text.size()
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
  // The second byte shows overlong forms, surrogates and code points above U+10FFFF.
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

/// The character at byte `at`: a UTF-8 sequence, or one byte where no valid sequence starts; "" at the end of the text.
constexpr std::string_view character_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  return text.substr(at, std::max<std::size_t>(1, utf8_length(text, at)));
}

/// `text` in single quotes, cut after 40 bytes. Control characters and invalid UTF-8 are written as `\x` and hex
/// digits, because a NUL would end the message and a terminal would obey an escape sequence.
std::string in_quotes(std::string_view text);

}  // namespace strata
