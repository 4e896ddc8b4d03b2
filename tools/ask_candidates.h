// ask_candidates(): the Opts that could be added to a kernel, for the page's menu of optimizations (the request
// `kernel`).
#pragma once

#include <string>
#include <vector>

#include "tools/ask_kernel.h"

namespace strata::tools {

/// An Opt that could be added.
struct OptCandidate {
  Opt opt;
  std::string refusal;  ///< the compiler's message; empty if the Opt is legal
};

/// Candidates for each axis and each buffer of the kernel. Each is tried by compiling the kernel with the candidate
/// appended to its Opts, or prepended if it makes kernels that run first.
/// @throws Error (budget) if the compilations exceed the request's budget
std::vector<OptCandidate> ask_candidates(const KernelQuestion& question, const KernelAnswer& answer);

}  // namespace strata::tools
