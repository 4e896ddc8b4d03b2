// What gets a back end that is missing, in Debian's and Ubuntu's words: errors end with it, `strata doctor` collects it.
#pragma once

#include <string>

#include "strata/base/check.h"

namespace strata {

/// What to install.
struct Remedy {
  std::string packages = {};  ///< separated by blanks; empty where no package helps
  bool builds_again = false;  ///< true iff Strata has to be built again with them

  /// "apt-get install libllvm19"; empty where no package helps.
  std::string text() const {
    if (packages.empty()) return {};
    return detail::message("apt-get install ", packages,
                           builds_again ? ", then build Strata again" : "");
  }
};

}  // namespace strata
