// Deprecated: the former path of strata/ops/kernel_text.h. This header forwards to that header, and warns at compile
// time. It stays for one version (CONTRIBUTING.md).
#pragma once

#pragma message("deprecated: include strata/ops/kernel_text.h")

#include "strata/ops/kernel_text.h"
