// What calls a function in LLVM IR from outside. Internal to render/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "strata/render/llvm_names.h"

namespace strata::rendering {

/// `void NAME_entry(void* const* buffers, const long long* values)`, which calls NAME.
std::string llvm_entry(std::string_view name, std::span<const LlvmArgument> buffers,
                       std::span<const LlvmArgument> values);

}  // namespace strata::rendering
