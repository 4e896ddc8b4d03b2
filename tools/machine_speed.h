// measured_speed(): measures the numbers of this machine that predicted times depend on (codegen/machine.h), for
// `strata bench --machine`.
#pragma once

#include "strata/runtime/device.h"

namespace strata::tools {

/// The numbers of one core, measured in some seconds by kernels on `device`, which runs on this machine's processor:
/// the clock, multiply-adds, latency, division, and the bytes in a cycle from each cache and from memory; the sizes of
/// the caches are the system's. Numbers that no kernel here shows alone (simple, issued, window, ...) are those of the
/// table.
Machine measured_speed(const Device& device);

}  // namespace strata::tools
