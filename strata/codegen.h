// The kernel compiler: compile_kernel() lowers a kernel of LazyOps to a list of UOps whose memory accesses are proven
// in bounds.
#pragma once

#include "strata/base/standard.h"

#include "strata/codegen/axes.h"
#include "strata/codegen/bounds.h"
#include "strata/codegen/decompose.h"
#include "strata/codegen/heuristic.h"
#include "strata/codegen/kernel.h"
#include "strata/codegen/linearize.h"
#include "strata/codegen/lower.h"
#include "strata/codegen/spec_linearizer.h"
