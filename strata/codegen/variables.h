// The variables of a kernel: symbolic sizes, strides and offsets.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// By name. @throws Error (domain) for two of one name with other bounds, and for names that loops of kernels have
std::vector<Variable> kernel_variables(const LazyOp& kernel);

/// `wanted`, with an x for each of `variables` that is called so.
std::string name_beside(std::span<const Variable> variables, std::string wanted);

}  // namespace strata
