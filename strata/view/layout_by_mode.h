// Deprecated, for one version: strata/layout/layout_by_mode.h has taken its place.
#pragma once

#pragma message("deprecated: include strata/layout/layout_by_mode.h")

#include "strata/layout/layout_by_mode.h"
