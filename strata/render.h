// UOps as source code.
#pragma once

#include "strata/base/standard.h"

#include "strata/render/cstyle.h"
#include "strata/render/llvm.h"
