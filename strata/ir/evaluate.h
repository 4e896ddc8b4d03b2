// The meaning of each op as functions on scalars, one for each class of values. Internal to ir/ and the interpreters.
#pragma once

#include <span>

#include "strata/dtype/scalar.h"
#include "strata/ir/ops.h"

namespace strata {

/// A function on operands of fitting dtypes. `result` is the dtype of what it gives, where the operands do not say it.
using ScalarFunction = Scalar (*)(std::span<const Scalar> operands, DType result);

/// The function of `op` on lanes, where its last operand is of the dtype `operand`; null where there is none.
ScalarFunction scalar_function(Ops op, DType operand);

}  // namespace strata
