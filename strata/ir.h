// The kernel's intermediate representation: ops, UOps, their text and their checks.
#pragma once

#include "strata/base/standard.h"

#include "strata/ir/ops.h"
#include "strata/ir/uop.h"
