// Limits on the work of a thread: units, a clock, scopes.
#include "strata/base/meter.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "strata/base/check.h"

namespace strata {
namespace {

std::string refusal(std::uint64_t units) {
  try {
    Meter::charge(units);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::budget);
    return error.what();
  }
  return {};
}

TEST(Meter, CountsNothingWithoutOne) { EXPECT_EQ(refusal(UINT64_MAX), ""); }

TEST(Meter, EndsWithItsUnitsAndNotBefore) {
  for (const std::uint64_t units : {0U, 1U, 10U, 16384U, 100'000U}) {
    Meter meter(units);
    for (std::uint64_t k = 0; k < units; ++k) ASSERT_EQ(refusal(1), "");
    EXPECT_NO_THROW(meter.check());
    EXPECT_EQ(refusal(1), "[budget] the request needs more than " + std::to_string(units) + " units of work");
  }
}

TEST(Meter, ManyUnitsAtOnce) {
  Meter meter(1'000'000);
  EXPECT_EQ(refusal(999'999), "");
  EXPECT_EQ(refusal(1), "");
  EXPECT_NE(refusal(1), "");
  Meter other(1'000'000);
  EXPECT_NE(refusal(UINT64_MAX), "");
}

TEST(Meter, OnceSpentItStaysSpent) {
  Meter meter(100);
  EXPECT_NE(refusal(101), "");
  EXPECT_NE(refusal(0), "");
  EXPECT_NE(refusal(1), "");
  EXPECT_THROW(meter.check(), Error);
}

TEST(Meter, TheInnermostCounts) {
  Meter outer(10);
  {
    Meter inner(1000);
    EXPECT_EQ(refusal(500), "");
  }
  EXPECT_EQ(refusal(10), "");
  EXPECT_NE(refusal(1), "");
}

TEST(Meter, IsOfItsThread) {
  Meter meter(0);
  std::string other = "not asked";
  std::thread([&] { other = refusal(1000); }).join();
  EXPECT_EQ(other, "");
  EXPECT_NE(refusal(1), "");
}

TEST(Meter, LooksAtTheClock) {
  Meter meter(UINT64_MAX, 0.01);
  std::string why;
  const auto begin = Meter::Clock::now();
  while (why.empty() && Meter::Clock::now() < begin + std::chrono::seconds(60)) why = refusal(1000);
  EXPECT_EQ(why, "[budget] the request takes longer than 0.01 seconds");
  EXPECT_THROW(meter.check(), Error);
  EXPECT_NE(refusal(0), "");
}

TEST(Meter, LongDeadlinesAreNone) {
  Meter meter(UINT64_MAX, 1e300);
  EXPECT_EQ(refusal(1'000'000), "");
  EXPECT_NO_THROW(meter.check());
}

}  // namespace
}  // namespace strata
