// Texts in quotes.
#include "strata/base/quotes.h"

namespace strata {

namespace {

/// True for valid UTF-8 that is not a control character (U+0000 to U+001F, U+007F to U+009F).
bool is_shown(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (utf8_length(text, at) == 2 && lead == 0xC2) return static_cast<unsigned char>(text[at + 1]) >= 0xA0;
  return utf8_length(text, at) != 0 && lead >= 0x20 && lead != 0x7F;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  static constexpr std::size_t limit = 40;
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out = "'";
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view character = character_at(text, at);
    if (at + character.size() > limit) break;
    if (is_shown(text, at)) {
      out += character;
    } else {
      for (const char c : character) {
        const auto byte = static_cast<unsigned char>(c);
        out += "\\x";
        out += digits[byte >> 4];
        out += digits[byte & 15];
      }
    }
    at += character.size();
  }
  return out + (at < text.size() ? "...'" : "'");
}

}  // namespace strata
