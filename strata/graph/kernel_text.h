// Deprecated, for one version: strata/ops/kernel_text.h has taken its place.
#pragma once

#pragma message("deprecated: include strata/ops/kernel_text.h")

#include "strata/ops/kernel_text.h"
