// All of Strata.
#pragma once

#include "strata/base/standard.h"

#include "strata/affine.h"
#include "strata/base/check.h"
#include "strata/base/executor.h"
#include "strata/base/flags.h"
#include "strata/base/version.h"
#include "strata/codegen.h"
#include "strata/dtype.h"
#include "strata/engine.h"
#include "strata/expr.h"
#include "strata/graph.h"
#include "strata/ir.h"
#include "strata/layout.h"
#include "strata/loops.h"
#include "strata/nn.h"
#include "strata/render.h"
#include "strata/runtime.h"
#include "strata/schedule.h"
#include "strata/tensor.h"
#include "strata/view.h"
