// LocationScope: notes the line of Python code that called an operation, for errors that occur later, when the
// operation runs (graph/origin.h).
#pragma once

#include <optional>

#include "python/src/bind.h"
#include "strata/graph/origin.h"

namespace strata::python {

/// The file and line of the innermost Python frame outside of the package strata. @pre the GIL is held; `operation`
/// lives as long as the program
Origin calling_location(const char* operation);

/// Opens an OriginScope at calling_location(), unless this thread has one: an operation inside another one keeps the
/// outer place.
class LocationScope {
 public:
  explicit LocationScope(const char* operation) {
    if (!Origin::current().is_known()) scope_.emplace(calling_location(operation));
  }

 private:
  std::optional<OriginScope> scope_;
};

}  // namespace strata::python
