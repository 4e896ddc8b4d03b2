// Hooks of fork(): their order, and that both processes go on.
#include "strata/base/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace strata {
namespace {

std::string& story() {
  static std::string& told = *new std::string;
  return told;
}

const ForkHook hook_c(ForkOrder::expressions, [] { story() += 'c'; }, [] { story() += 'C'; });
const ForkHook hook_a(ForkOrder::tables, [] { story() += 'a'; }, [] { story() += 'A'; });
const ForkHook hook_b(ForkOrder::memory, [] { story() += 'b'; }, [] { story() += 'B'; });

TEST(ForkHook, RunsInOrderAndBack) {
  const std::uint64_t generation = fork_generation();
  story().clear();
  const pid_t pid = fork();
  if (pid == 0) _exit(story() == "abcCBA" && fork_generation() == generation + 1 ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(story(), "abcCBA");
  EXPECT_EQ(fork_generation(), generation);
}

}  // namespace
}  // namespace strata
