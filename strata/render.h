// Kernels, as lists of UOps, to source code in languages of C's family and to LLVM IR.
#pragma once

#include "strata/base/standard.h"

#include "strata/render/cstyle.h"
#include "strata/render/llvm.h"
