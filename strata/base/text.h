// Text helpers: digits, numbers independent of the locale, and the natural order of names ("idx2" before "idx10").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace strata {

/// True for '0' to '9', in every locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Three-way natural comparison: runs of digits compare as numbers, all other characters by byte. Names that differ
/// only in leading zeros then compare by byte, so the result 0 means that the names are equal.
int natural_compare(std::string_view a, std::string_view b);

/// A 56-bit prefix of the natural order: natural_key(a) < natural_key(b) implies natural_compare(a, b) < 0. It makes
/// most comparisons of names one comparison of integers.
std::uint64_t natural_key(std::string_view name);

/// The double nearest to the decimal number in `text` ('.', 'e', '-' as in C), in every locale. Nothing when part of
/// the text is not the number, or the value is beyond the doubles. (libc++ has no std::from_chars for doubles before
/// version 20.)
std::optional<double> read_double(std::string_view text);
/// The same for float, rounded once.
std::optional<float> read_float(std::string_view text);

}  // namespace strata
