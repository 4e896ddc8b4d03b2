// Deprecated, for one version: include strata/layout/layout_by_mode.h instead.
#pragma once

#pragma message("deprecated: include strata/layout/layout_by_mode.h")

#include "strata/layout/layout_by_mode.h"
