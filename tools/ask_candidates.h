// Which Opts a kernel could get besides those that it has.
#pragma once

#include <string>
#include <vector>

#include "tools/ask_kernel.h"

namespace strata::tools {

struct OptCandidate {
  Opt opt;
  std::string refusal;  ///< the compiler's words; empty where the Opt is legal
};

/// A menu for each axis and buffer: the Opt behind those of the kernel (SPLITREDUCE in front of them), compiled.
/// @throws Error (budget)
std::vector<OptCandidate> ask_candidates(const KernelQuestion& question, const KernelAnswer& answer);

}  // namespace strata::tools
