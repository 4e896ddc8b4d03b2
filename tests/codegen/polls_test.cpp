// Where long kernels poll: not in short ones, once around a poll, as far out as that is often enough.
#include "strata/codegen/polls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "strata/codegen/estimate.h"
#include "strata/ops/kernel_text.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

Kernel compiled(std::string_view text, std::string_view opts) {
  return compile_kernel(parse_kernel(text).kernel, Target(), parse_opts(opts));
}

/// How deep the loops that poll are, the outermost 0.
std::vector<int> depths(const Kernel& kernel, const Polls& polls) {
  std::vector<int> out;
  int depth = 0;
  for (const UOp u : kernel.uops) {
    if (u.op() == UOps::LOOP && polls.every(u.num()) != 0) out.push_back(depth);
    if (u.op() == UOps::LOOP) ++depth;
    if (u.op() == UOps::ENDLOOP) --depth;
  }
  return out;
}

TEST(Polls, ShortKernelsHaveNone) {
  for (const char* text :
       {"a: f32[64]; b = a + 1", "a: f32[1000000]; b = a.sum()", "a: f32[128,128]; b: f32[128,128]; c = a @ b"})
    EXPECT_FALSE(polls_of(compiled(text, "")).any()) << text;
}

TEST(Polls, IterationsOfTheParallelLoopCountAlone) {
  const char* text = "a: f32[1000000,1000]; b = a.sum(1)";
  EXPECT_FALSE(polls_of(compiled(text, "PARALLEL 0")).any());  // each is short
  EXPECT_TRUE(polls_of(compiled(text, "")).any());
}

TEST(Polls, AreOutsideOfTheMostOfTheWork) {
  const Kernel one = compiled("a: f32[2000000000]; b = a.max()", "");
  const Polls in_one = polls_of(one);
  ASSERT_EQ(in_one.loops.size(), 1U);
  EXPECT_GE(in_one.loops[0].every, 1024);  // elements
  EXPECT_EQ(in_one.slot, 2);

  const Kernel rows = compiled("a: f32[100000,10000]; b = a.max(1)", "");
  EXPECT_EQ(depths(rows, polls_of(rows)), (std::vector<int>{0}));
  EXPECT_GE(polls_of(rows).loops[0].every, 16);  // rows

  const Kernel long_rows = compiled("a: f32[2,1000000000]; b = a.max(1)", "");
  EXPECT_EQ(depths(long_rows, polls_of(long_rows)), (std::vector<int>{1}));
}

/// About one in 10 ms by estimate, wherever that is.
TEST(Polls, AreOftenEnough) {
  for (const char* text :
       {"a: f32[2000000000]; b = a.sum()", "a: f32[100000,10000]; b = a.sum(1)", "a: f32[3,7,100000000]; b = a.max(2)",
        "a: f32[4000,4000]; b: f32[4000,4000]; c = a @ b", "n: 1..1000000; a: f32[n,1000]; b = a.softmax(1)"}) {
    const Kernel kernel = compiled(text, "");
    const Polls polls = polls_of(kernel);
    ASSERT_TRUE(polls.any()) << text;
    for (const Polls::At& at : polls.loops) {
      EXPECT_EQ(at.every & (at.every - 1), 0) << text;
      EXPECT_EQ(polls.every(at.loop), at.every);
      EXPECT_EQ(kernel.uops[at.loop].op(), UOps::LOOP);
    }
  }
}

}  // namespace
}  // namespace strata
