// Element types, their promotion, and typed scalars.
#pragma once

#include "strata/dtype/dtype.h"
#include "strata/dtype/scalar.h"
