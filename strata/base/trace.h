// The record of rewrites: which rule fired, on what, with which bindings.
//
// A `RewriteTrace` installs itself for the current thread; while one is alive, every rule that fires appends an event.
// With none installed the cost of a rule is one thread-local load. The recorder is a plain callback, so that this floor
// knows nothing of expressions: `expr/` gives the event its meaning.
#pragma once

#include <functional>

namespace strata {

struct RewriteEvent;  // defined by the floor that rewrites (expr/rules.h)

/// While it lives, each rule that fires on this thread is told to its sink, or to that of one made later.
class RewriteTrace {
 public:
  using Sink = std::function<void(const RewriteEvent&)>;

  explicit RewriteTrace(Sink sink);
  ~RewriteTrace();
  RewriteTrace(const RewriteTrace&) = delete;
  RewriteTrace& operator=(const RewriteTrace&) = delete;

  /// The innermost recorder of this thread, or null.
  static RewriteTrace* current() { return current_; }
  void record(const RewriteEvent& event) { sink_(event); }

 private:
  Sink sink_;
  RewriteTrace* outer_;
  static thread_local RewriteTrace* current_;
};

}  // namespace strata
