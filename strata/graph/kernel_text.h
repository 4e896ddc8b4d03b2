// Deprecated, for one version: include strata/ops/kernel_text.h.
#pragma once

#pragma message("deprecated: include strata/ops/kernel_text.h")

#include "strata/ops/kernel_text.h"
