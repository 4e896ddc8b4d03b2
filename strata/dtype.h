// Element types (DType), the promotion of two of them to a common one, and typed scalar values (Scalar).
#pragma once

#include "strata/base/standard.h"

#include "strata/dtype/dtype.h"
#include "strata/dtype/scalar.h"
