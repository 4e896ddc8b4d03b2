#include "strata/runtime/tbb_executor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>

#include "strata/base/fork.h"
#include "strata/base/gate.h"
#include "strata/runtime/scarcity.h"
#include "strata/runtime/tbb_arena.h"
#include "strata/runtime/thread_pool.h"

namespace strata {
namespace {

// oneTBB orders what happens before a loop, in its chunks and after it; this says it again where ThreadSanitizer sees it.
// It is never anything but a variable to synchronize by, and initialised before anything runs.
std::atomic<std::uint64_t> synchronized{0};

/// What happens before the beginning or the end of one of these is seen after those of later ones.
class InOrder {
 public:
  InOrder() { synchronize(); }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  ~InOrder() { synchronize(); }

 private:
  static void synchronize() { synchronized.fetch_add(1, std::memory_order_acq_rel); }
};

// Threads that begin to use oneTBB are inside. The gate is shut while the process forks, and for good when it ends: oneTBB's
// own objects are destroyed then, after this library's handlers, which are younger. A loop that runs already goes on.
constinit Gate tbb_gate;
constexpr std::chrono::seconds kTbbPatience{10};  // to begin takes milliseconds
std::atomic<bool> ends_process{false};
std::thread::id thread_of_end;

/// What a thread has to pass to begin. The one that ends the process need not: nobody else is inside.
Gate* gate_of_tbb() {
  return ends_process && std::this_thread::get_id() == thread_of_end ? nullptr : &tbb_gate;
}
const bool is_shut_at_the_end = std::atexit([] {
                                  thread_of_end = std::this_thread::get_id();
                                  ends_process = true;
                                  tbb_gate.shut(kTbbPatience);
                                }) == 0;
const ForkHook tbb_hook(
    ForkOrder::threads, [] { tbb_gate.shut(); },
    [] {
      if (!ends_process) tbb_gate.open();
    });

/// One call of parallel_for: its chunks by number, unsigned, as `end - begin` may not fit in 64 bits with a sign.
struct Loop {
  const Executor::Body& body;
  std::uint64_t first, size, grain;

  static void run_chunks(void* context, std::uint64_t begin, std::uint64_t end) {
    const InOrder worker;
    const Loop& loop = *static_cast<const Loop*>(context);
    for (std::uint64_t k = begin; k < end; ++k) {
      const std::uint64_t from = k * loop.grain, count = std::min(loop.grain, loop.size - from);
      loop.body(static_cast<std::int64_t>(loop.first + from),
                static_cast<std::int64_t>(loop.first + from + count));
    }
  }
};

/// The threads of an executor in a child of fork().
struct ForkedPool {
  explicit ForkedPool(int count) : threads(count) {}
  const std::uint64_t generation = fork_generation();
  ThreadPool threads;
};

/// The process, of a line of forks, that used oneTBB first: its threads are in no other.
std::uint64_t generation_of_tbb() {
  constexpr std::uint64_t none = ~std::uint64_t{0};
  static constinit std::atomic<std::uint64_t> first{none};
  std::uint64_t known = none;
  return first.compare_exchange_strong(known, fork_generation()) ? fork_generation() : known;
}

class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int count) : count_(count) {
    if (generation_ != fork_generation()) return;
    const Gate::Visit visit(gate_of_tbb());
    arena_ = std::make_unique<TbbArena>(count);
    count_ = arena_->concurrency();
  }
  // What a process before this one made has threads that are not here, and cannot be ended.
  ~TbbExecutor() override {
    if (generation_ != fork_generation()) {
      [[maybe_unused]] const TbbArena* const left = arena_.release();
    }
    if (ForkedPool* const pool = pool_; pool != nullptr && pool->generation == fork_generation())
      delete pool;
  }
  int concurrency() const override { return count_; }

 private:
  /// Made on first use in each process: oneTBB would wait for its threads, which are in the first one.
  ThreadPool& forked_pool() {
    ForkedPool* known = pool_.load(std::memory_order_acquire);
    while (known == nullptr || known->generation != fork_generation()) {
      auto made = std::make_unique<ForkedPool>(count_);
      if (pool_.compare_exchange_strong(known, made.get())) known = made.release();
    }
    return known->threads;
  }

  void run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) override {
    if (generation_ != fork_generation())
      return forked_pool().parallel_for(begin, end, grain, body);
    const auto first = static_cast<std::uint64_t>(begin), step = static_cast<std::uint64_t>(grain);
    const std::uint64_t size = static_cast<std::uint64_t>(end) - first;
    Loop loop{body, first, size, step};
    const InOrder caller;
    {
      const Gate::Visit visit(gate_of_tbb());
      arena_->initialize();
    }
    arena_->run(size / step + (size % step != 0 ? 1 : 0), Loop::run_chunks, &loop);
  }

  const std::uint64_t generation_ = generation_of_tbb();
  std::unique_ptr<TbbArena> arena_;  // where it was made in that process
  int count_;
  std::atomic<ForkedPool*> pool_{nullptr};
};

/// How many threads the system lets oneTBB have, which keeps them for all executors: asked once. NOTE: where it is refused one that it
/// takes for granted, it ends the process.
int granted_threads(int processors) {
  static std::atomic<int> known{0};
  if (known == 0) known = startable_threads(processors - 1) + 1;
  return known;
}

}  // namespace

std::unique_ptr<Executor> make_executor(int count) {
  STRATA_CHECK(count >= 0, domain, "[make_executor] ", count, " threads");
  const int processors = [] {
    const Gate::Visit visit(gate_of_tbb());
    return TbbArena::processors();
  }();
  const int wanted = count == 0 ? processors : std::min(count, processors);
  const int granted = wanted == 1 ? 1 : std::min(granted_threads(processors), wanted);
  if (granted < wanted) warn_of_few_threads(wanted, granted);
  if (granted == 1) return std::make_unique<SerialExecutor>();
  return std::make_unique<TbbExecutor>(granted);
}

Remedy thread_remedy() { return {}; }

}  // namespace strata
