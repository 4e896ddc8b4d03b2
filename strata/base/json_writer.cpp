// The JSON writer.
#include "strata/base/json.h"
#include "strata/base/quotes.h"

namespace strata {

void JsonWriter::separate() {
  if (comma_) out_ += ',';
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  out_ += ':';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) { return raw(std::to_string(number)); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  static constexpr std::string_view special = "\"\\\b\f\n\r\t";
  static constexpr std::string_view letters = "\"\\bfnrt";
  static constexpr std::string_view hex = "0123456789abcdef";
  separate();
  out_ += '"';
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_plain(text[end])) ++end;
    out_.append(text, i, end - i);
    i = end;
    if (i == text.size()) break;
    const std::size_t length = utf8_length(text, i);
    const auto c = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      out_ += "\xEF\xBF\xBD";
    } else if (const std::size_t s = special.find(text[i]); s != std::string_view::npos) {
      out_ += '\\';
      out_ += letters[s];
    } else if (c < 0x20 || c == 0x7F) {
      out_ += "\\u00";
      out_ += hex[c >> 4];
      out_ += hex[c & 15];
    } else {
      out_.append(text, i, length);
    }
    i += length == 0 ? 1 : length;
  }
  out_ += '"';
  comma_ = true;
  return *this;
}

}  // namespace strata
