// The index algebra: exact integer expressions over bounded variables, with text in and out. Includes affine functions.
#pragma once

#include "strata/base/standard.h"

#include "strata/affine.h"
#include "strata/expr/expr.h"
#include "strata/expr/parse.h"
#include "strata/expr/render.h"
#include "strata/expr/rewrite_text.h"
#include "strata/expr/rules.h"
