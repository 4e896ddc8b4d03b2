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
#include "strata/runtime/thread_executor.h"

namespace strata {
namespace {

// Synchronization that ThreadSanitizer sees. oneTBB orders the code before a loop, in its chunks and after it, but
// ThreadSanitizer does not see that, because oneTBB is not instrumented. The value has no meaning.
std::atomic<std::uint64_t> synchronized{0};

/// Code before the constructor or destructor of one object happens before code after those of a later one.
class InOrder {
 public:
  InOrder() { synchronize(); }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  ~InOrder() { synchronize(); }

 private:
  static void synchronize() { synchronized.fetch_add(1, std::memory_order_acq_rel); }
};

// A thread passes this gate when it begins to use oneTBB. The gate is shut while the process forks, and forever when
// the process ends, because oneTBB's static objects are destroyed then, after the exit handlers of this library, which
// were registered later. A loop that is already running goes on.
constinit Gate tbb_gate;
constexpr std::chrono::seconds kTbbPatience{10};  // at the end; threads inside need milliseconds
std::atomic<bool> ends_process{false};
std::thread::id thread_of_end;

/// The gate that a thread passes; null for the thread that ends the process, which is alone then.
Gate* gate_of_tbb() { return ends_process && std::this_thread::get_id() == thread_of_end ? nullptr : &tbb_gate; }
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

/// One call of parallel_for(). Chunks are numbered from 0; the numbers are unsigned, because end - begin may exceed a
/// signed 64-bit integer.
struct Loop {
  const Executor::Body& body;
  std::uint64_t first, size, grain;

  static void run_chunks(void* context, std::uint64_t begin, std::uint64_t end) {
    const InOrder worker;
    const Loop& loop = *static_cast<const Loop*>(context);
    for (std::uint64_t k = begin; k < end; ++k) {
      const std::uint64_t from = k * loop.grain, count = std::min(loop.grain, loop.size - from);
      loop.body(static_cast<std::int64_t>(loop.first + from), static_cast<std::int64_t>(loop.first + from + count));
    }
  }
};

/// The fork generation (base/fork.h) at the first call, which may have been in an ancestor of this process. oneTBB's
/// threads exist only in the process of that generation.
std::uint64_t generation_of_tbb() {
  constexpr std::uint64_t none = ~std::uint64_t{0};
  static constinit std::atomic<std::uint64_t> first{none};
  std::uint64_t known = none;
  return first.compare_exchange_strong(known, fork_generation()) ? fork_generation() : known;
}

/// An arena for as long as the process lives. Without any, oneTBB ends its threads when the process ends, also in a
/// child of fork(), where they are not: it aborts ("pure virtual method called").
void keep_tbb() {
  [[maybe_unused]] static const TbbArena& kept = *[] {
    auto* const arena = new TbbArena(2);
    arena->initialize();
    return arena;
  }();
}

class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int count) : count_(count), in_children_(make_thread_executor(count)) {
    if (generation_ != fork_generation()) return;
    const Gate::Visit visit(gate_of_tbb());
    arena_ = std::make_unique<TbbArena>(count);
    count_ = arena_->concurrency();
  }
  // The arena of a process that this one was forked from is leaked: its threads are not in this process and cannot be
  // joined.
  ~TbbExecutor() override {
    if (generation_ != fork_generation()) {
      [[maybe_unused]] const TbbArena* const left = arena_.release();
    }
  }
  int concurrency() const override { return count_; }

 private:
  void run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) override {
    if (generation_ != fork_generation()) return in_children_->parallel_for(begin, end, grain, body);
    const auto first = static_cast<std::uint64_t>(begin), step = static_cast<std::uint64_t>(grain);
    const std::uint64_t size = static_cast<std::uint64_t>(end) - first;
    Loop loop{body, first, size, step};
    const InOrder caller;
    {
      const Gate::Visit visit(gate_of_tbb());
      keep_tbb();
      arena_->initialize();
    }
    arena_->run(size / step + (size % step != 0 ? 1 : 0), Loop::run_chunks, &loop);
  }

  const std::uint64_t generation_ = generation_of_tbb();
  std::unique_ptr<TbbArena> arena_;  // null if the executor was made in a child of fork()
  int count_;
  std::unique_ptr<Executor> in_children_;  // oneTBB would wait there for threads that exist only in the parent
};

/// How many threads the system grants, the calling one included. Determined once, because oneTBB keeps its threads for
/// all executors. NOTE: oneTBB aborts the process if the system refuses it a thread.
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

}  // namespace strata
