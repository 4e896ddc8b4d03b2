// The line of long work.

#include "strata/runtime/progress.h"

#include <gtest/gtest.h>

namespace strata::test {
namespace {

TEST(Progress, SaysHowFarAndHowLong) {
  Progress p("training", 20, stderr);
  EXPECT_EQ(p.line(0), "training  [........................]  0 % 0/20");
  p.advance(10, "loss 0.12");
  EXPECT_EQ(p.line(2), "training  [############............]  50 % 10/20  5.0/s  2.0 s left  loss 0.12");
  p.advance(100);
  EXPECT_EQ(p.line(4), "training  [########################]  100 % 20/20  5.0/s  0.0 s left");
}

TEST(Progress, IsQuietWhereThereIsNoTerminal) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    Progress p("work", 2, file);
    p.advance();
    p.advance();
  }
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

}  // namespace
}  // namespace strata::test
