// Checks of long work: when they are asked, by which thread, and that nobody is asked while somebody is.
#include "strata/base/interrupt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace strata {
namespace {

using std::chrono::milliseconds;

struct Ended : std::runtime_error {
  Ended() : std::runtime_error("ended") {}
};

TEST(Interrupt, WithoutChecksNothingHappens) {
  EXPECT_FALSE(InterruptCheck::is_active());
  check_interrupt();
  check_interrupt_often();
}

TEST(Interrupt, IsAskedAfterAWhileAndNotMoreOften) {
  int asked = 0;
  const InterruptCheck check([&] { ++asked; }, milliseconds(5));
  EXPECT_TRUE(InterruptCheck::is_active());
  check_interrupt();
  EXPECT_EQ(asked, 0);  // it has only begun
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < milliseconds(52)) check_interrupt();
  EXPECT_GE(asked, 1);
  EXPECT_LE(asked, 11);
}

TEST(Interrupt, IsDueWhenATimeHasCome) {
  EXPECT_FALSE(InterruptCheck::is_due());
  const InterruptCheck rare([] {}, std::chrono::hours(1));
  EXPECT_TRUE(InterruptCheck::is_due());  // its time has to begin
  check_interrupt();
  EXPECT_FALSE(InterruptCheck::is_due());
  int asked = 0;
  const InterruptCheck often([&] { ++asked; }, milliseconds(0));
  for (int k = 1; k <= 3; ++k) {
    EXPECT_TRUE(InterruptCheck::is_due());
    check_interrupt();
    EXPECT_EQ(asked, k);
  }
}

TEST(Interrupt, EndsWorkByWhatItThrows) {
  const InterruptCheck check([] { throw Ended(); }, milliseconds(1));
  EXPECT_THROW(for (;;) check_interrupt_often(), Ended);
}

TEST(Interrupt, ThoseAroundAreAskedToo) {
  int outer = 0, inner = 0;
  const InterruptCheck first([&] { ++outer; }, milliseconds(0));
  {
    const InterruptCheck second([&] { ++inner; }, milliseconds(0));
    check_interrupt();
  }
  check_interrupt();
  EXPECT_EQ(inner, 1);
  EXPECT_EQ(outer, 2);
}

TEST(Interrupt, NobodyIsAskedWhileSomebodyIs) {
  int asked = 0;
  const InterruptCheck check(
      [&] {
        ++asked;
        check_interrupt();
        EXPECT_FALSE(InterruptCheck::is_active());
      },
      milliseconds(0));
  check_interrupt();
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(InterruptCheck::is_active());
}

TEST(InterruptThread, OtherThreadsAreNotAsked) {
  const InterruptCheck check([] { throw Ended(); }, milliseconds(0));
  std::thread([] {
    EXPECT_FALSE(InterruptCheck::is_active());
    check_interrupt();
  }).join();
  EXPECT_THROW(check_interrupt(), Ended);
}

}  // namespace
}  // namespace strata
