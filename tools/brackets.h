// Helpers to split texts with nested brackets, for the readers of views, layouts and calls.
//
// `(`, `[` and `{` open a bracket, and any of `)`, `]`, `}` closes it. A text in double quotes is skipped as a whole.
// All results are views into the argument, so that the column of an error in a part is known in the whole text.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace strata::tools {

/// `text` without blanks at both ends.
std::string_view trimmed(std::string_view text);
/// The position of the first character of `separators` outside of brackets; text.size() if there is none.
std::size_t find_outside(std::string_view text, std::string_view separators);
/// The position behind the bracket with which `text` begins; npos if it is not closed. @pre `text` begins with a
/// bracket
std::size_t bracket_end(std::string_view text);
/// Whether `c` is `(`, `[` or `{`.
bool opens(char c);
/// The qualified name with which `text` begins, e.g. `layout.size` or `strata::View`; empty if there is none.
std::string_view leading_name(std::string_view text);
/// `text` without its outer bracket, if one pair encloses the whole text. A name before a brace, as in `Ints{2, 1}`, is
/// removed, too.
std::string_view unbracketed(std::string_view text);
/// The trimmed parts between commas outside of brackets. A comma at the end begins no part.
std::vector<std::string_view> items_of(std::string_view list);

}  // namespace strata::tools
