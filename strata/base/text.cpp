// The natural order of names, and numbers that are read alike in every locale.
#include "strata/base/text.h"

#include <cerrno>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <system_error>

namespace strata {
namespace {

// The run of digits at `i` without leading zeros. Moves `i` past it.
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
  // A run of digits is encoded as one byte for its length ('0' + length, which sorts among the digits), then its
  // digits.
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
    if (number.size() > 9) {  // ':' follows '9'; natural_compare compares the rest
      put(':');
      break;
    }
    put(static_cast<unsigned char>('0' + number.size()));
    for (std::size_t d = 0; d < number.size() && room > 0; ++d) put(static_cast<unsigned char>(number[d]));
  }
  return room > 0 ? key << (8 * room) : key;
}

namespace {

#ifdef __cpp_lib_to_chars
template <class Float>
bool convert_all(std::string_view text, Float& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}
#else
double convert_in(locale_t locale, const char* text, char** end, double) { return strtod_l(text, end, locale); }
float convert_in(locale_t locale, const char* text, char** end, float) { return strtof_l(text, end, locale); }

template <class Float>
bool convert_all(std::string_view text, Float& out) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string whole(text);
  char* end = nullptr;
  errno = 0;
  out = convert_in(plain, whole.c_str(), &end, Float{});
  // NOTE: a subnormal result sets ERANGE, too.
  const bool fits = errno != ERANGE || (out != 0 && std::isfinite(out));
  return fits && end == whole.c_str() + whole.size();
}
#endif

template <class Float>
std::optional<Float> read_floating(std::string_view text) {
  // NOTE: the library functions accept more than numbers: leading blanks, "+1", hexadecimal digits, "inf".
  const bool is_number =
      !text.empty() && text.front() != '+' && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  Float out = 0;
  if (!is_number || !convert_all(text, out)) return std::nullopt;
  return out;
}

}  // namespace

std::optional<double> read_double(std::string_view text) { return read_floating<double>(text); }
std::optional<float> read_float(std::string_view text) { return read_floating<float>(text); }

}  // namespace strata
