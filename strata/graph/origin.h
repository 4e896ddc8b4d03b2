// Origin: the operation and source line that made a node, so that an error that occurs when the node runs can name the
// user's code.
//
//   Tensor y = x.log();              // main.cpp:12
//   y.realize();                     // "... (log, written at main.cpp:12)"
//
// Each tensor operation opens an OriginScope. Nodes made while scopes are open record the outermost one, which is the
// operation that the user called.
#pragma once

#include <source_location>
#include <string>

namespace strata {

/// An operation and its source line. The strings live as long as the program.
struct Origin {
  const char* operation = nullptr;  ///< null: unknown
  const char* file = nullptr;
  unsigned line = 0;

  bool is_known() const { return operation != nullptr; }
  /// "softmax, written at main.cpp:12"; empty where the origin is unknown.
  std::string text() const;

  /// The origin of this thread's outermost OriginScope; unknown without a scope.
  static const Origin& current();
};

/// While an object lives, the nodes that this thread makes have the given origin. Inside of another scope it has no
/// effect.
class OriginScope {
 public:
  OriginScope(const char* operation, const std::source_location& where);
  /// For a source line of another language. @pre the strings of `origin` live as long as the program
  explicit OriginScope(const Origin& origin);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  bool is_outermost_;
};

/// While an object lives, this thread runs code of the user's that an operation calls, e.g. the step of a loop: the
/// scopes that this code opens are outermost ones.
class UserCodeScope {
 public:
  UserCodeScope();
  ~UserCodeScope();
  UserCodeScope(const UserCodeScope&) = delete;
  UserCodeScope& operator=(const UserCodeScope&) = delete;

 private:
  const Origin outer_;
};

}  // namespace strata
