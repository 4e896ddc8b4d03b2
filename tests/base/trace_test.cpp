// Recorders nest and belong to their thread.
#include "strata/base/trace.h"

#include <gtest/gtest.h>

#include <thread>

namespace strata {
namespace {

TEST(RewriteTrace, TheInnermostIsCurrentUntilItEnds) {
  EXPECT_EQ(RewriteTrace::current(), nullptr);
  {
    RewriteTrace outer([](const RewriteEvent&) {});
    EXPECT_EQ(RewriteTrace::current(), &outer);
    {
      RewriteTrace inner([](const RewriteEvent&) {});
      EXPECT_EQ(RewriteTrace::current(), &inner);
    }
    EXPECT_EQ(RewriteTrace::current(), &outer);
  }
  EXPECT_EQ(RewriteTrace::current(), nullptr);
}

TEST(RewriteTrace, AnotherThreadHasItsOwn) {
  RewriteTrace trace([](const RewriteEvent&) {});
  RewriteTrace* seen = &trace;
  std::thread([&] { seen = RewriteTrace::current(); }).join();
  EXPECT_EQ(seen, nullptr);
}

}  // namespace
}  // namespace strata
