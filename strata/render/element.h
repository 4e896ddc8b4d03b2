// The value of an ALU, CAST or BITCAST on scalars, as an expression. Internal to render/.
#pragma once

#include <functional>
#include <string>

#include "strata/render/writer.h"

namespace strata::rendering {

/// The text of operand k; `repeated` where it is to be written more than once.
using Operands = std::function<std::string(std::size_t k, bool repeated)>;

/// `u`'s value, or one of its lanes, on these operands. @pre u is ALU, CAST or BITCAST
/// @throws Error (domain) where the language lacks the op or a dtype
std::string element(const Writer& writer, UOp u, const Operands& operands);

/// `condition` ? yes : no
std::string pick(const Language& language, std::string_view condition, std::string_view yes,
                 std::string_view no);
/// Whether the language holds bools as bytes, of which others may have written any.
bool is_byte_for_bool(const Language& language, DType scalar);
/// An element of memory as a value, and a value as memory holds it.
std::string from_memory(const Language& language, DType scalar, const std::string& text);
std::string to_memory(const Language& language, DType scalar, const std::string& text);

/// f16 and bf16: the op is computed in f32, and its result is not one of their values yet.
bool needs_rounding(Ops op);

}  // namespace strata::rendering
