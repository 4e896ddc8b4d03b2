// cpu_features(): a text that tells processors with different instruction sets apart. It is a part of the disk cache's
// keys, so that a folder shared by machines (a network home) never serves code that traps.
#pragma once

#include <string>

namespace strata {

/// The instruction-set features of this processor: CPUID leaves on x86-64, else the machine's name and HWCAP. The same
/// in every process on this machine. Code that was compiled for a processor with the same text runs on this one.
const std::string& cpu_features();

}  // namespace strata
