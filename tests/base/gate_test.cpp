// The gate: shutting it waits for those inside, and those outside wait.
#include "strata/base/gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace strata {
namespace {

using std::chrono::milliseconds;

TEST(GateThread, ShutNobodyIsInside) {
  Gate gate;
  std::atomic<bool> is_shut{false}, ends{false};
  std::atomic<int> wrong{0}, visits{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      while (!ends) {
        const Gate::Visit visit(&gate);
        if (is_shut) ++wrong;
        ++visits;
      }
    });
  for (int turn = 0; turn < 50; ++turn) {
    EXPECT_TRUE(gate.shut());
    is_shut = true;
    std::this_thread::sleep_for(milliseconds(1));
    is_shut = false;
    gate.open();
    std::this_thread::sleep_for(milliseconds(1));
  }
  ends = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(visits, 0);
}

TEST(GateThread, PatienceEnds) {
  Gate gate;
  {
    const Gate::Visit visit(&gate);
    EXPECT_FALSE(gate.shut(milliseconds(5)));
    gate.open();
  }
  EXPECT_TRUE(gate.shut(milliseconds(5)));
}

TEST(Gate, NoneIsPassed) { const Gate::Visit visit(nullptr); }

}  // namespace
}  // namespace strata
