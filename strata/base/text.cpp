#include "strata/base/text.h"

#include <charconv>
#include <cstddef>
#include <locale>
#include <sstream>
#include <string>

namespace strata {
namespace {

// The digit run at `i`, without leading zeros; moves `i` past it.
std::string_view take_number(std::string_view s, std::size_t& i) {
  while (i < s.size() && s[i] == '0') ++i;
  const std::size_t begin = i;
  while (i < s.size() && is_digit(s[i])) ++i;
  return s.substr(begin, i - begin);
}

}  // namespace

int natural_compare(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto x = take_number(a, i), y = take_number(b, j);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
      if (const int c = x.compare(y); c != 0) return c < 0 ? -1 : 1;
    } else {
      const auto x = static_cast<unsigned char>(a[i++]), y = static_cast<unsigned char>(b[j++]);
      if (x != y) return x < y ? -1 : 1;
    }
  }
  if (i < a.size() || j < b.size()) return j < b.size() ? -1 : 1;
  const int c = a.compare(b);
  return c < 0 ? -1 : c > 0 ? 1 : 0;
}

std::uint64_t natural_key(std::string_view name) {
  // A digit run becomes one byte of its length ('0' + length, which sorts among the digits) and its digits.
  std::uint64_t key = 0;
  int room = 7;
  const auto put = [&](unsigned char byte) {
    key = key << 8 | byte;
    --room;
  };
  std::size_t i = 0;
  while (i < name.size() && room > 0) {
    if (!is_digit(name[i])) {
      put(static_cast<unsigned char>(name[i++]));
      continue;
    }
    const auto number = take_number(name, i);
    if (number.size() > 9) {  // ':' follows '9'; what is behind it is left to natural_compare
      put(':');
      break;
    }
    put(static_cast<unsigned char>('0' + number.size()));
    for (std::size_t d = 0; d < number.size() && room > 0; ++d)
      put(static_cast<unsigned char>(number[d]));
  }
  return room > 0 ? key << (8 * room) : key;
}

std::optional<double> read_double(std::string_view text) {
  // NOTE: what reads numbers takes more: blanks in front, "+1", hexadecimal digits, "inf".
  const bool is_number = !text.empty() && text.front() != '+' &&
                         text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  if (!is_number) return std::nullopt;
  double out = 0;
#ifdef __cpp_lib_to_chars
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
#else
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  if (!(stream >> out) || stream.peek() != std::istringstream::traits_type::eof())
    return std::nullopt;
#endif
  return out;
}

}  // namespace strata
