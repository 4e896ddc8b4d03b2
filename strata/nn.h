// Modules and layers, optimisers, and the array files npy, npz and safetensors.
#pragma once

#include "strata/base/standard.h"

#include "strata/nn/layers.h"
#include "strata/nn/module.h"
#include "strata/nn/npy.h"
#include "strata/nn/npz.h"
#include "strata/nn/optim.h"
#include "strata/nn/quantize.h"
#include "strata/nn/recurrent.h"
#include "strata/nn/safetensors.h"
