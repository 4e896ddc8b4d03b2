// RewriteTrace: a recorder of rewrites, with the rule, the expression and the bindings of each.
//
// A RewriteTrace installs itself for the current thread. While it lives, every rule that fires passes an event to it.
// Without one, a rule costs one thread-local load. The recorder is a plain callback, so this floor does not depend on
// expressions; `expr/` defines the event.
#pragma once

#include <functional>

namespace strata {

struct RewriteEvent;  // defined by the floor that rewrites (expr/rules.h)

/// While it lives, every rule that fires on this thread is passed to `sink`; a RewriteTrace made later takes over until
/// it is gone.
class RewriteTrace {
 public:
  using Sink = std::function<void(const RewriteEvent&)>;

  explicit RewriteTrace(Sink sink);
  ~RewriteTrace();
  RewriteTrace(const RewriteTrace&) = delete;
  RewriteTrace& operator=(const RewriteTrace&) = delete;

  /// The innermost RewriteTrace of this thread, or null.
  static RewriteTrace* current() { return current_; }
  void record(const RewriteEvent& event) { sink_(event); }

 private:
  Sink sink_;
  RewriteTrace* outer_;
  static thread_local RewriteTrace* current_;
};

}  // namespace strata
