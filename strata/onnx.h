// Models in the ONNX format: onnx::load().
#pragma once

#include "strata/base/standard.h"

#include "strata/onnx/capture.h"
#include "strata/onnx/model.h"
