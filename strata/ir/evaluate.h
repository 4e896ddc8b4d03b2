// The reference meaning of each elementwise op as a function on scalars: one function for each op and class of values
// (signed, unsigned, bool, f32, f64). Internal to ir/ and the interpreters.
#pragma once

#include <span>

#include "strata/dtype/scalar.h"
#include "strata/ir/ops.h"

namespace strata {

/// An op on scalars. `result` is the dtype of the result where the operands do not determine it (CAST, BITCAST).
/// @pre the operands have dtypes on which the op is defined
using ScalarFunction = Scalar (*)(std::span<const Scalar> operands, DType result);

/// The function of `op` for a last operand of dtype `operand`, lane by lane; null where `op` is not defined on that
/// dtype.
ScalarFunction scalar_function(Ops op, DType operand);

}  // namespace strata
