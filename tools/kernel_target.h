// KernelTarget: the device and the target for which `strata kernel` compiles, from the options --device, --target and
// --vector-bytes.
#pragma once

#include <optional>
#include <vector>

#include "strata/render/kernel_source.h"
#include "strata/runtime/device.h"
#include "tools/cli.h"

namespace strata::tools {

struct KernelTarget {
  const Device* device;  ///< for CUDA, Metal and WGSL a device that only shows source text
  Target target;
  bool is_changed = false;  ///< whether `target` differs from the device's own, by --vector-bytes
};

/// @throws UsageError for an invalid value, and if both --device and --target are given; Error (domain) for an unknown
/// device
KernelTarget read_kernel_target(const Invocation& invocation);

/// The language of a device's source; null if it has none (INTERP, NULL).
const KernelLanguage* language_of(const Device& device);

/// Compiles `kernel` for target.device with target.target. @throws as compile()
CompiledKernel compiled_for(const LazyOp& kernel, const KernelTarget& target, std::optional<std::vector<Opt>> opts);

}  // namespace strata::tools
