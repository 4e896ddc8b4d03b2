// Texts with brackets: what is inside of them, what is between the commas outside of them.
//
// `(`, `[` and `{` open, whichever closes; a text in double quotes counts as one character. Parts are views of the text they
// come from, so that an error in one has its column in the whole.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace strata::tools {

std::string_view trimmed(std::string_view text);
/// The first of `separators` outside of brackets; the text's size when there is none.
std::size_t find_outside(std::string_view text, std::string_view separators);
/// Behind the bracket that `text` begins with; npos when that is never closed. @pre the text begins with a bracket
std::size_t bracket_end(std::string_view text);
bool opens(char c);
/// The name that `text` begins with, with what leads to it as `layout.` or `strata::`; "" where there is none.
std::string_view leading_name(std::string_view text);
/// `text` without the bracket around all of it, if there is one; a name before a brace, as in `Ints{2, 1}`, goes with it.
std::string_view unbracketed(std::string_view text);
/// The parts between the commas outside of brackets; a comma at the end counts for nothing.
std::vector<std::string_view> items_of(std::string_view list);

}  // namespace strata::tools
