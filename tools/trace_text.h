// Rewrites as they happen, on the program's error stream.
#pragma once

#include <iosfwd>
#include <optional>

#include "strata/expr/rewrite_text.h"

namespace strata::tools {

/// While alive, prints every rewrite of this thread to `out` when STRATA_DEBUG is 5 or more.
class DebugTrace {
 public:
  explicit DebugTrace(std::ostream& out);

 private:
  std::optional<RewriteLog> log_;
};

}  // namespace strata::tools
