// The intermediate representation of kernels: the table of ops, and lists of UOps with their text form, checks and
// interpreter.
#pragma once

#include "strata/base/standard.h"

#include "strata/ir/ops.h"
#include "strata/ir/uop.h"
