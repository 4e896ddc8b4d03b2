// Tensors: operations, gradients.
#pragma once

#include "strata/tensor/autograd.h"
#include "strata/tensor/tensor.h"
