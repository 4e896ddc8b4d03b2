// Digits, and names in their natural order ("idx2" before "idx10").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace strata {

/// The same in every locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Three-way natural comparison: digit runs compare as numbers, everything else by byte. Names that differ in
/// leading zeros only compare by byte at the end, so 0 means equal.
int natural_compare(std::string_view a, std::string_view b);

/// A prefix of the natural order in 56 bits: natural_key(a) < natural_key(b) implies natural_compare(a, b) < 0.
std::uint64_t natural_key(std::string_view name);

/// The double nearest to what `text` says in digits, with '.', 'e' and '-' where they belong, in every locale. Nothing where that
/// is not all of the text, or beyond the doubles. (libc++ has no std::from_chars of doubles before its version 20.)
std::optional<double> read_double(std::string_view text);
/// The same of floats, rounded once.
std::optional<float> read_float(std::string_view text);

}  // namespace strata
