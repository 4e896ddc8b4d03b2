// What tests say of errors: the one that was thrown, and what its text has.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "strata/base/check.h"

namespace strata {

/// The Error that `f` throws, if any.
template <class F>
std::optional<Error> thrown_by(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return std::nullopt;
}
/// The text of that Error; "" where there is none.
template <class F>
std::string complaint(F&& f) {
  const std::optional<Error> e = thrown_by(f);
  return e ? e->what() : "";
}

/// The Error that `f` has to throw.
template <class F>
Error error_of(F&& f) {
  const std::optional<Error> e = thrown_by(f);
  EXPECT_TRUE(e) << "no error";
  return e.value_or(Error(ErrorKind::request, "no error"));
}
/// The text of the Error that `f` has to throw, of this kind.
template <class F>
std::string error_of(ErrorKind kind, F&& f) {
  const Error e = error_of(f);
  EXPECT_EQ(to_string(e.kind()), to_string(kind)) << e.what();
  return e.what();
}

/// That `f` throws the Error of this kind and with this text.
template <class F>
void expect_error(ErrorKind kind, std::string_view text, F&& f) {
  EXPECT_EQ(error_of(kind, f), text);
}

/// Whether `text` has `part`; says so where it has not.
inline ::testing::AssertionResult has(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

}  // namespace strata
