// The devices themselves, one a file. Users ask Device::get.
#pragma once

#include "strata/runtime/device.h"

namespace strata {

const Device& llvm_device();    // llvm_device.cpp
const Device& clang_device();   // clang_device.cpp
const Device& opencl_device();  // opencl_device.cpp
const Device& interp_device();  // interp_device.cpp
const Device& null_device();    // interp_device.cpp

/// What kernels are called in code that is cached: names are in no key.
inline constexpr const char* kContentName = "k";

/// What vectors are on this processor: their bytes, and how many registers hold them.
Target host_target();

}  // namespace strata
