// The operations: the table, the formulas on Values, gradient rules, and the text form of kernels.
#pragma once

#include "strata/base/standard.h"

#include "strata/ops/fourier.h"
#include "strata/ops/functional.h"
#include "strata/ops/gradient.h"
#include "strata/ops/kernel_text.h"
#include "strata/ops/linear_algebra.h"
#include "strata/ops/table.h"
#include "strata/ops/value.h"
