// Remedy: the Debian or Ubuntu packages to install when a backend is missing. Errors end with its text, and `strata
// doctor` lists all.
#pragma once

#include <string>

#include "strata/base/check.h"

namespace strata {

/// The packages to install.
struct Remedy {
  std::string packages = {};  ///< names, separated by blanks; empty if no package helps
  bool builds_again = false;  ///< true iff Strata must be rebuilt after installing them

  /// E.g. "apt-get install libllvm19"; empty if no package helps.
  std::string text() const {
    if (packages.empty()) return {};
    return detail::message("apt-get install ", packages, builds_again ? ", then build Strata again" : "");
  }
};

}  // namespace strata
