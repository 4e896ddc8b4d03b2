// Errors. `Error` reports wrong input, a used-up limit or a missing part of the system; `InternalError` reports a
// mistake in Strata. Catching Error does not catch InternalError (a runtime_error and a logic_error). No function
// aborts the process.
//
//   STRATA_CHECK(n >= 0, domain, "[diff] ", n, " times");   // throws Error (domain), e.g. `[diff] -1 times`
//   STRATA_ASSERT(n >= 0, "n is ", n);                      // throws InternalError, `internal error: n is -1`
//
// The message is the parts, one after another: one or more strings and numbers (a bool prints as 1 or 0, a char as its
// code). The parts are evaluated only on failure.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace strata {

/// The kind of an Error; `strata batch` reports it by these names.
enum class ErrorKind : std::uint8_t {
  parse,      ///< bad text or file, unknown name
  domain,     ///< a value or dtype that is not taken: zero divisor, negative count
  shape,      ///< ranks, sizes, masks, permutations
  undefined,  ///< no result for these operands, or a missing part: no compiler
  overflow,   ///< a value does not fit in 64 bits, or in its type
  budget,     ///< a limit was reached: work, time, memory, disk
  request,    ///< a malformed request: bad JSON, unknown key
};

/// The name of `kind` in messages and in JSON: "parse", "domain", ...
std::string_view to_string(ErrorKind kind);

/// A failure that a caller can cause or meet. `what()` names the operation and the values; `column()` is the 1-based
/// byte position of the mistake in a text, 0 when there is no text.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::size_t column = 0)
      : std::runtime_error(message), kind_(kind), column_(column) {}
  ErrorKind kind() const { return kind_; }
  std::size_t column() const { return column_; }

 private:
  ErrorKind kind_;
  std::size_t column_;
};

/// A mistake in Strata: a state that should be impossible.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {

inline void append_part(std::string& out, std::string_view part) { out += part; }
template <class T>
  requires std::is_arithmetic_v<T>
void append_part(std::string& out, T part) {
  out += std::to_string(part);
}

template <class... Parts>
std::string message(const Parts&... parts) {
  std::string out;
  (append_part(out, parts), ...);
  return out;
}

}  // namespace detail

}  // namespace strata

#define STRATA_CHECK(condition, kind, ...)                                                                      \
  do {                                                                                                          \
    if (!(condition)) throw ::strata::Error(::strata::ErrorKind::kind, ::strata::detail::message(__VA_ARGS__)); \
  } while (false)

#define STRATA_ASSERT(condition, ...)                                                                            \
  do {                                                                                                           \
    if (!(condition)) throw ::strata::InternalError(::strata::detail::message("internal error: ", __VA_ARGS__)); \
  } while (false)
