// The record of rewrites as text: each rule that fired, with the instance of it.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "strata/base/trace.h"
#include "strata/expr/rules.h"

namespace strata::tools {

/// `side` (a rule's before or after) with each bound letter replaced by its text.
std::string instance(std::string_view side, const RewriteEvent& event);

/// "D8  gcd, small rest:  (4*x+y)//(4*3)  ->  x//3" of an event.
std::string describe(const RewriteEvent& event);

/// While alive, prints every rewrite of this thread to `out` when STRATA_DEBUG is 5 or more.
class DebugTrace {
 public:
  explicit DebugTrace(std::ostream& out);

 private:
  bool printing_ = false;
  std::optional<RewriteTrace> trace_;
};

}  // namespace strata::tools
