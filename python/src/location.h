// Where Python code called: what errors say that come up later, when the operation runs.
#pragma once

#include <optional>

#include "python/src/bind.h"
#include "strata/graph/origin.h"

namespace strata::python {

/// The location of the innermost Python code that is not Strata's own. `operation` lives as long as the program. @pre the GIL is held
Origin calling_location(const char* operation);

/// Opens an OriginScope at the calling location, unless one is open on this thread.
class LocationScope {
 public:
  explicit LocationScope(const char* operation) {
    if (!Origin::current().is_known()) scope_.emplace(calling_location(operation));
  }

 private:
  std::optional<OriginScope> scope_;
};

}  // namespace strata::python
