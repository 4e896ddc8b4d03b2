// llvm_entry(): the entry function of a kernel in LLVM IR, through which programs (runtime/llvm_device.cpp) call it.
// Internal to render/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "strata/render/llvm_names.h"

namespace strata::rendering {

/// The text of `void NAME_entry(void* const* buffers, const long long* values)`, which loads the arguments and calls
/// NAME.
std::string llvm_entry(std::string_view name, std::span<const LlvmArgument> buffers,
                       std::span<const LlvmArgument> values);

}  // namespace strata::rendering
