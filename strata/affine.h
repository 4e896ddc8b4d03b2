// Affine functions of names: from a text at run time and at compile time, and from named axes.
#pragma once

#include "strata/base/standard.h"

#include "strata/affine/affine.h"
#include "strata/affine/affine_axes.h"
#include "strata/affine/affine_static.h"
