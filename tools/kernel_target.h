// What `strata kernel` makes a kernel for: --device, --target, --vector-bytes.
#pragma once

#include <optional>
#include <vector>

#include "strata/render/kernel_source.h"
#include "strata/runtime/device.h"
#include "tools/cli.h"

namespace strata::tools {

struct KernelTarget {
  const Device* device;  ///< of CUDA, Metal and WGSL one that shows texts and runs nothing
  Target target;
  bool is_changed = false;  ///< it is not the device's own
};

/// @throws UsageError for words that are none, and for --device beside --target; Error (domain) for a device that there is not
KernelTarget read_kernel_target(const Invocation& invocation);

/// The language of a device's source; null where it has none.
const KernelLanguage* language_of(const Device& device);

/// `kernel` for the device, made of `target`. @throws as compile()
CompiledKernel compiled_for(const LazyOp& kernel, const KernelTarget& target,
                            std::optional<std::vector<Opt>> opts);

}  // namespace strata::tools
