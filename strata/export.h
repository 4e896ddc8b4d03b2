// Export: a captured function as one C file with a header.
#pragma once

#include "strata/base/standard.h"

#include "strata/export/export_c.h"
