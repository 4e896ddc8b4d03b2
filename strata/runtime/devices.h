// The accessors of the five devices, for Device::all() in device.cpp and for the devices' own files. Users call
// Device::get().
#pragma once

#include "strata/runtime/device.h"

namespace strata {

const Device& llvm_device();    // llvm_device.cpp
const Device& clang_device();   // clang_device.cpp
const Device& opencl_device();  // opencl_device.cpp
const Device& interp_device();  // interp_device.cpp
const Device& null_device();    // interp_device.cpp

/// The name of every kernel's function in compiled code. Kernels that differ in their name alone so share one entry of
/// the disk cache.
inline constexpr const char* kContentName = "k";

/// The target of devices that run on this processor: the bytes of a vector register, the number of registers, and the
/// numbers of this machine where they were measured.
Target host_target();

}  // namespace strata
