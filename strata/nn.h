// Files of arrays.
#pragma once

#include "strata/nn/npy.h"
#include "strata/nn/npz.h"
#include "strata/nn/safetensors.h"
