// The description of a device, as `strata devices` and `strata doctor` print it.
#pragma once

#include <string>

#include "strata/runtime/device.h"

namespace strata::tools {

/// Whether the device is Device::default_device().
bool is_default(const Device& device);
/// The description as a JSON object.
std::string device_json(const Device& device);

}  // namespace strata::tools
