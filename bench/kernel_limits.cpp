// What the machine can do, by kernels written by hand.
#include <algorithm>
#include <vector>

#include "bench/kernels.h"
#include "strata/runtime/buffer.h"

namespace strata::bench {

namespace {

/// The kernel again and again on every thread, on arrays of its own: what caches can do, the hand-over left out.
struct Repeated {
  HandKernel hand;
  std::vector<Operands> operands;  // of each thread
  std::int64_t times;

  void operator()(Executor& executor) const {
    const auto threads = static_cast<std::int64_t>(operands.size());
    executor.parallel_for(0, threads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t)
        for (std::int64_t i = 0; i < times; ++i) {
          hand.run(operands[static_cast<std::size_t>(t)], 0, hand.iterations);
          keep(i);
        }
    });
  }
};

/// Amount a nanosecond of `call`, which has `amount` of it: the best of a few medians is what the machine can do.
double rate_of(const Row& row, double amount, bool quick) {
  const Timing t = measure({row}, quick ? Budget{0.05, 5, 50} : Budget{0.5, 15, 500})[0];
  return amount / t.median_ns;
}

double memory_rate(Work work, double arrays, Executor& executor, bool quick) {
  const std::int64_t n = std::int64_t{1} << (quick ? 24 : 26);
  const Buffer in = Buffer::allocate(n, dtypes::float32), out = Buffer::allocate(n, dtypes::float32);
  std::ranges::fill(in.as<float>(), 1.0F);
  std::ranges::fill(out.as<float>(), 1.0F);
  std::vector<float> scratch(static_cast<std::size_t>(n / 4096));
  Operands o;
  o.in = {in.as<float>().data(), in.as<float>().data()};
  o.out = out.as<float>().data();
  o.scratch = scratch.data();
  o.m = n;
  const HandKernel hand = hand_kernel(work, o);
  return rate_of(row("", hand_call(hand, o, executor)), 4.0 * arrays * static_cast<double>(n), quick);
}

double cache_rate(std::int64_t n, Executor& executor, bool quick) {
  const int threads = executor.concurrency();
  // A line between the arrays: they are not to meet in the same places of the cache.
  const std::int64_t stride = n + 80;
  const Buffer memory = Buffer::allocate(3 * stride * threads, dtypes::float32);
  std::ranges::fill(memory.as<float>(), 1.0F);
  Repeated run{{}, {}, (1 << 22) / n};
  for (int t = 0; t < threads; ++t) {
    float* const at = memory.as<float>().data() + 3 * stride * t;
    Operands o;
    o.out = at;
    o.in = {at + stride, at + 2 * stride};
    o.m = n;
    run.operands.push_back(o);
  }
  run.hand = hand_kernel(Work::triad, run.operands[0]);
  const double bytes = 12.0 * static_cast<double>(n * run.times * threads);
  return rate_of(row("", [&] { run(executor); }), bytes, quick);
}

double peak_rate(Executor& executor, bool quick) {
  const int threads = executor.concurrency();
  Repeated run{{}, {}, 8};
  run.operands.resize(static_cast<std::size_t>(threads));
  run.hand = hand_kernel(Work::peak, run.operands[0]);
  return rate_of(row("", [&] { run(executor); }), 8 * kPeakOperations * threads, quick);
}

}  // namespace

Limits measure_limits(Executor& executor, bool quick) {
  Limits out;
  const auto at = [&out](Limit limit) -> double& { return out.rate[static_cast<std::size_t>(limit)]; };
  at(Limit::l1) = cache_rate(3072, executor, quick);
  at(Limit::l2) = cache_rate(48 << 10, executor, quick);
  at(Limit::copy) = memory_rate(Work::copy, 2, executor, quick);
  at(Limit::read) = memory_rate(Work::sum, 1, executor, quick);
  at(Limit::fill) = memory_rate(Work::fill, 1, executor, quick);
  at(Limit::peak) = peak_rate(executor, quick);
  return out;
}

std::function<void()> hand_call(const HandKernel& hand, const Operands& o, Executor& executor) {
  const std::int64_t chunks = hand.chunks_per_thread * executor.concurrency();
  const bool alone = executor.concurrency() == 1 || hand.iterations == 1;
  const std::int64_t grain = alone ? hand.iterations : (hand.iterations + chunks - 1) / chunks;
  return [hand, o, grain, &executor] {
    if (hand.start != nullptr) hand.start(o);
    if (grain == hand.iterations)
      hand.run(o, 0, hand.iterations);
    else
      executor.parallel_for(0, hand.iterations, grain, [&](std::int64_t b, std::int64_t e) { hand.run(o, b, e); });
    if (hand.finish != nullptr) hand.finish(o);
  };
}

}  // namespace strata::bench
