// DebugTrace: prints the rewrites of expressions while a command runs, for STRATA_DEBUG=5.
#pragma once

#include <iosfwd>
#include <optional>

#include "strata/expr/rewrite_text.h"

namespace strata::tools {

/// While an object lives, prints every rewrite of this thread to `out`, if STRATA_DEBUG is 5 or more.
class DebugTrace {
 public:
  explicit DebugTrace(std::ostream& out);

 private:
  std::optional<RewriteLog> log_;
};

}  // namespace strata::tools
