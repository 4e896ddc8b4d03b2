// What this processor can do, as a text to tell processors apart: for the keys of caches of machine code.
#pragma once

#include <string>

namespace strata {

/// The same in every process on this machine. Code that was compiled for a processor with the same text runs here.
const std::string& cpu_features();

}  // namespace strata
