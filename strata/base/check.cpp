// The names of error kinds.
#include "strata/base/check.h"

namespace strata {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::parse: return "parse";
    case ErrorKind::domain: return "domain";
    case ErrorKind::shape: return "shape";
    case ErrorKind::undefined: return "undefined";
    case ErrorKind::overflow: return "overflow";
    case ErrorKind::budget: return "budget";
    case ErrorKind::request: return "request";
  }
  throw InternalError("to_string: unknown error kind");
}

}  // namespace strata
