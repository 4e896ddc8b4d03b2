// The record of rewrites as text: each rule that fired, with the instance of it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "strata/base/trace.h"
#include "strata/expr/rules.h"

namespace strata {

/// `side` (a rule's before or after) with each bound letter replaced by its text.
std::string instance(std::string_view side, const RewriteEvent& event);

/// "D8  gcd, small rest:  (4*x+y)//(4*3)  ->  x//3" of an event.
std::string describe(const RewriteEvent& event);

/// While alive, every rewrite of this thread is given to `print` as a line.
class RewriteLog {
 public:
  explicit RewriteLog(std::function<void(const std::string&)> print);

 private:
  bool printing_ = false;
  RewriteTrace trace_;
};

}  // namespace strata
