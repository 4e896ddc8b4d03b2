// Where the user wrote an operation: what errors say that come up later, when it runs.
//
//   Tensor y = x.log();              // main.cpp:12
//   y.realize();                     // "... (log, written at main.cpp:12)"
//
// Operations of tensors open an OriginScope; nodes that are made meanwhile remember the outermost one.
#pragma once

#include <source_location>
#include <string>

namespace strata {

/// An operation, and where it is written.
struct Origin {
  const char* operation = nullptr;  ///< null where nobody said; these live as long as the program
  const char* file = nullptr;
  unsigned line = 0;

  bool is_known() const { return operation != nullptr; }
  /// "softmax, written at main.cpp:12"; empty where nobody said.
  std::string text() const;

  /// That of this thread's outermost scope.
  static const Origin& current();
};

/// While it lives, nodes that this thread makes come from `operation` at `where`, unless a scope around it says otherwise.
class OriginScope {
 public:
  OriginScope(const char* operation, const std::source_location& where);
  /// The same for a location in a program of another language. @pre what `origin` points to lives as long as the program
  explicit OriginScope(const Origin& origin);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  bool is_outermost_;
};

}  // namespace strata
