// The variables of a kernel (symbolic sizes, strides and offsets), and names that do not collide with them. Internal to
// codegen/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// The variables of `kernel`, sorted by name. @throws Error (domain) for two variables of one name with different
/// bounds, and for names that the compiler reserves for loops (ridx..., lane_..., _..., begin0, end0)
std::vector<Variable> kernel_variables(const LazyOp& kernel);

/// `wanted`, with as many x appended as make it different from the names of all `variables`: "n" beside n and nx gives
/// "nxx".
std::string name_beside(std::span<const Variable> variables, std::string wanted);

}  // namespace strata
