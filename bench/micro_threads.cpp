// How the intern tables scale: the same work on one thread and on two.
#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>

#include "bench/micro.h"
#include "strata/expr/expr.h"

namespace strata::bench {

namespace {

constexpr int kTurns = 9;
constexpr int kCalls = 200'000;

/// Millions of calls of `work(thread, call)` a second, by `threads` threads that start together.
double throughput(unsigned threads, const std::function<void(unsigned)>& work) {
  std::atomic<unsigned> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      ready.fetch_add(1);
      while (!go.load()) std::this_thread::yield();
      work(t);
    });
  while (ready.load() != threads) std::this_thread::yield();
  const double start = now();
  go.store(true);
  for (std::thread& t : pool) t.join();
  return 1e-6 * kCalls * threads / (now() - start);
}

double best(unsigned threads, const std::function<void(unsigned)>& work) {
  double most = 0;
  for (int i = 0; i < kTurns; ++i) most = std::max(most, throughput(threads, work));
  return most;
}

void compare(const char* what, const std::function<void(unsigned)>& work) {
  const double one = best(1, work), two = best(2, work);
  std::printf("| %s | %.2f | %.2f | %.2f |\n", what, one, two, two / one);
}

}  // namespace

void bench_threads() {
  const Variable x("x", 0, 4095), y("y", 0, 4095);
  const Variable own[2] = {Variable("p", 0, 4095), Variable("q", 0, 4095)};
  const Expr alive[] = {x + y, own[0] + 1, own[1] + 1};
  std::printf("\n| million constructors a second | 1 thread | 2 threads | scaling |\n|---|---|---|---|\n");
  compare("the same existing node, x + y", [&](unsigned) {
    for (int i = 0; i < kCalls; ++i) keep((x + y).node());
  });
  compare("an existing node of one's own, p + 1", [&](unsigned t) {
    for (int i = 0; i < kCalls; ++i) keep((own[t] + 1).node());
  });
  compare("the same nodes made and dropped, x // k", [&](unsigned) {
    for (int i = 0; i < kCalls; ++i) keep((x / (i % 1000 + 2)).node());
  });
  compare("nodes of one's own made and dropped, p // k", [&](unsigned t) {
    for (int i = 0; i < kCalls; ++i) keep((own[t] / (i % 1000 + 2)).node());
  });
  keep(alive[0].node());
  std::fflush(stdout);
}

}  // namespace strata::bench
