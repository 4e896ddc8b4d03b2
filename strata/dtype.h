// Element types, their promotion, and typed scalars.
#pragma once

#include "strata/base/standard.h"

#include "strata/dtype/dtype.h"
#include "strata/dtype/scalar.h"
