// The graph of ops on whole tensors (LazyOp), its reference interpreter, and the text form of kernels.
#pragma once

#include "strata/base/standard.h"

#include "strata/graph/interpret.h"
#include "strata/graph/lazy_op.h"
#include "strata/ops/kernel_text.h"
