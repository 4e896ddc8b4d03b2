// Models in the ONNX format: onnx::load(), onnx::to_onnx().
#pragma once

#include "strata/base/standard.h"

#include "strata/onnx/capture.h"
#include "strata/onnx/model.h"
#include "strata/onnx/to_onnx.h"
