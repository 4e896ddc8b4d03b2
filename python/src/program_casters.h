// The object of the Python class Program, which the bindings of programs share (device_program.cpp, kernel_log.cpp).
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

/// The Kernel in a CompiledKernel, as the holder that pybind11 needs. The holder keeps the CompiledKernel alive. The
/// const_cast is safe, because the class has no binding that changes a kernel.
inline std::shared_ptr<Kernel> kernel_in(const std::shared_ptr<const CompiledKernel>& compiled) {
  return {compiled, const_cast<Kernel*>(&compiled->kernel())};
}

void bind_kernel_log(py::module_& m);  // kernel_log.cpp

}  // namespace strata::python
