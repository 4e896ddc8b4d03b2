// element(): the value of an ALU, CAST or BITCAST on scalars as an expression of a C-like language. cstyle.cpp uses it
// for scalars, and for vectors lane by lane. Internal to render/.
#pragma once

#include <functional>
#include <string>

#include "strata/render/writer.h"

namespace strata::rendering {

/// Gives the text of operand k. `repeated`: the expression writes the operand more than once, so it must be a name or a
/// constant.
using Operands = std::function<std::string(std::size_t k, bool repeated)>;

/// The expression for the value of `u`, or for one of its lanes, on these operands. @pre u is an ALU, CAST or BITCAST
/// @throws Error (domain) if the language lacks the op or a dtype
std::string element(const Writer& writer, UOp u, const Operands& operands);

/// The expression `condition ? yes : no`, or `select(no, yes, condition)` in a language without `?:`.
std::string pick(const Language& language, std::string_view condition, std::string_view yes, std::string_view no);
/// Whether the language has bools as bytes (C). Code outside of Strata may have written any byte, so a load compares
/// with 0.
bool is_byte_for_bool(const Language& language, DType scalar);
/// The value of an element of memory, e.g. the f32 of a stored bf16.
std::string from_memory(const Language& language, DType scalar, const std::string& text);
/// The element that memory holds for a value: the inverse of from_memory().
std::string to_memory(const Language& language, DType scalar, const std::string& text);

/// Whether an op on f16 or bf16, which is computed in f32, can have a result that the dtype does not hold. ADD can,
/// FLOOR cannot.
bool needs_rounding(Ops op);

}  // namespace strata::rendering
