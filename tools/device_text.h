// What is told of a device, by `strata devices` and `strata doctor`.
#pragma once

#include <string>

#include "strata/runtime/device.h"

namespace strata::tools {

/// Whether kernels run on it where nothing else is said.
bool is_default(const Device& device);
/// One object.
std::string device_json(const Device& device);

}  // namespace strata::tools
