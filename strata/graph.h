// Kernels as graphs of ops on whole tensors, and what they mean.
#pragma once

#include "strata/base/standard.h"

#include "strata/graph/interpret.h"
#include "strata/graph/lazy_op.h"
#include "strata/ops/kernel_text.h"
