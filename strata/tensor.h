// Tensors for users: operations, gradients, random numbers, captured functions (jit), memory shared with other
// libraries.
#pragma once

#include "strata/base/standard.h"

#include "strata/tensor/autograd.h"
#include "strata/tensor/boxes.h"
#include "strata/tensor/custom_gradient.h"
#include "strata/tensor/dlpack.h"
#include "strata/tensor/fourier.h"
#include "strata/tensor/functional.h"
#include "strata/tensor/interop.h"
#include "strata/tensor/jit.h"
#include "strata/tensor/linear_algebra.h"
#include "strata/tensor/random.h"
#include "strata/tensor/scan.h"
#include "strata/tensor/sharded.h"
#include "strata/tensor/streaming.h"
#include "strata/tensor/tensor.h"
#include "strata/tensor/transforms.h"
#include "strata/tensor/writes.h"
