// Texts of C: names, expressions of sizes, types and constant arrays. Internal to export/.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "strata/dtype/dtype.h"
#include "strata/view/int.h"

namespace strata::exporting {

/// A name with another one where C or C++ reserves it: "int" is "int_".
std::string c_name(std::string_view name);
/// The name of a size inside of a routine, where the routine's own variables are reserved, too: "k" is "k_".
std::string variable_name(std::string_view name);
/// Whether the text is an identifier without two underscores in a row, and begins with a letter.
bool is_model_name(std::string_view name);
/// The letters in upper case.
std::string upper(std::string_view name);

/// The text of a variable of sizes.
using VariableText = std::function<std::string(const Variable&)>;
/// The expression as an int64_t. @throws Error (domain) for a division of or by what may be negative
std::string c_size(const Int& size, const VariableText& text);

/// The expression as JSON: a number, what `text` gives for a variable, or an array of an operator and its operands.
std::string json_size(const Int& size, const VariableText& text);

/// The type of an element in memory: "float", "uint16_t" of f16.
std::string_view c_type(DType dtype);
/// The lines of a constant array, `static const TYPE NAME[] = {...};`, bit by bit the elements.
/// @param alignment a prefix of the declaration
std::string c_array(std::string_view alignment, std::string_view name, DType dtype, const void* elements,
                    std::int64_t count);
/// `text` as a comment of one line.
std::string c_comment(std::string_view text);

}  // namespace strata::exporting
