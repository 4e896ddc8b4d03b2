// What the bindings of programs share.
#pragma once

#include <memory>

#include "python/src/uop_casters.h"
#include "strata/runtime/device.h"

namespace strata::python {

/// A kernel compiled for a device.
struct ProgramObject {
  std::shared_ptr<const CompiledKernel> compiled;
  const Device* device;
};

/// The kernel, which keeps its program. Python sees no way to change it.
inline std::shared_ptr<Kernel> kernel_in(const std::shared_ptr<const CompiledKernel>& compiled) {
  return {compiled, const_cast<Kernel*>(&compiled->kernel())};
}

void bind_kernel_log(py::module_& m);  // kernel_log.cpp

}  // namespace strata::python
