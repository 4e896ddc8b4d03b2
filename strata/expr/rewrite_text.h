// Fired rewrite rules as text: `describe` writes one firing as a line, `RewriteLog` prints every firing of a thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "strata/base/trace.h"
#include "strata/expr/rules.h"

namespace strata {

/// `side` (a rule's `before` or `after`) with each bound letter replaced by the text of its binding.
std::string instance(std::string_view side, const RewriteEvent& event);

/// One firing as text, e.g. "D8  gcd, small rest:  (4*x+y)//(4*3)  ->  x//3".
std::string describe(const RewriteEvent& event);

/// While a RewriteLog is alive, every rewrite on its thread is passed to `print` as one line.
class RewriteLog {
 public:
  explicit RewriteLog(std::function<void(const std::string&)> print);

 private:
  bool printing_ = false;
  RewriteTrace trace_;
};

}  // namespace strata
