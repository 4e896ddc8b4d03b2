// Errors: kinds, messages, columns; the message is built on failure only.
#include "strata/base/check.h"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

TEST(Check, ThrowsTheKindAndTheJoinedMessage) {
  try {
    STRATA_CHECK(1 > 2, domain, "[variable] min ", 5, " is above max ", -3, std::string("!"));
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::domain);
    EXPECT_STREQ(error.what(), "[variable] min 5 is above max -3!");
    EXPECT_EQ(error.column(), 0u);
  }
}

TEST(Check, BuildsNoMessageWhenTheConditionHolds) {
  int built = 0;
  const auto part = [&] { return ++built; };
  STRATA_CHECK(true, parse, "never ", part());
  STRATA_ASSERT(true, "never ", part());
  EXPECT_EQ(built, 0);
}

TEST(Check, EvaluatesTheConditionOnce) {
  int evaluated = 0;
  STRATA_CHECK(++evaluated == 1, parse, "twice");
  EXPECT_EQ(evaluated, 1);
}

TEST(Check, IsOneStatement) {
  bool otherwise = false;
  if (false)
    STRATA_CHECK(false, parse, "not reached");
  else
    otherwise = true;
  EXPECT_TRUE(otherwise);
}

TEST(Check, AssertIsOurMistakeNotTheUsers) {
  EXPECT_THROW(STRATA_ASSERT(false, "node ", 7, " has no source"), InternalError);
  try {
    STRATA_ASSERT(false, "node ", 7, " has no source");
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "internal error: node 7 has no source");
  }
}

TEST(Check, ColumnTravelsWithTheError) {
  const Error error(ErrorKind::parse, "[parse] unknown name 'foo'", 12);
  EXPECT_EQ(error.column(), 12u);
  const std::runtime_error& base = error;
  EXPECT_STREQ(base.what(), "[parse] unknown name 'foo'");
}

TEST(Check, EveryKindHasItsWord) {
  EXPECT_EQ(to_string(ErrorKind::parse), "parse");
  EXPECT_EQ(to_string(ErrorKind::domain), "domain");
  EXPECT_EQ(to_string(ErrorKind::shape), "shape");
  EXPECT_EQ(to_string(ErrorKind::undefined), "undefined");
  EXPECT_EQ(to_string(ErrorKind::overflow), "overflow");
  EXPECT_EQ(to_string(ErrorKind::budget), "budget");
  EXPECT_EQ(to_string(ErrorKind::request), "request");
  EXPECT_THROW(static_cast<void>(to_string(static_cast<ErrorKind>(200))), InternalError);
}

}  // namespace
}  // namespace strata
