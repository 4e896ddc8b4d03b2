#include "strata/runtime/tbb_executor.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "strata/runtime/scarcity.h"
#include "strata/runtime/tbb_arena.h"

namespace strata {
namespace {

// oneTBB orders what happens before a loop, in its parts and after it; this says it again where ThreadSanitizer sees it.
// It is never anything but a place to meet, and initialised before anything runs.
std::atomic<std::uint64_t> meeting{0};

/// What happens before the beginning or the end of one of these is seen after those of later ones.
class InOrder {
 public:
  InOrder() { meet(); }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  ~InOrder() { meet(); }

 private:
  static void meet() { meeting.fetch_add(1, std::memory_order_acq_rel); }
};

/// One call of parallel_for: its chunks by number, unsigned, as `end - begin` may not fit in 64 bits with a sign.
struct Loop {
  const Executor::Body& body;
  std::uint64_t first, size, grain;

  static void run_part(void* context, std::uint64_t begin, std::uint64_t end) {
    const InOrder part;
    const Loop& loop = *static_cast<const Loop*>(context);
    for (std::uint64_t k = begin; k < end; ++k) {
      const std::uint64_t from = k * loop.grain, count = std::min(loop.grain, loop.size - from);
      loop.body(static_cast<std::int64_t>(loop.first + from),
                static_cast<std::int64_t>(loop.first + from + count));
    }
  }
};

class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int count) : arena_(count) {}
  int concurrency() const override { return arena_.concurrency(); }

 private:
  void run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) override {
    const auto first = static_cast<std::uint64_t>(begin), step = static_cast<std::uint64_t>(grain);
    const std::uint64_t size = static_cast<std::uint64_t>(end) - first;
    Loop loop{body, first, size, step};
    const InOrder caller;
    arena_.run(size / step + (size % step != 0 ? 1 : 0), Loop::run_part, &loop);
  }

  TbbArena arena_;
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
  const int processors = TbbArena::processors();
  const int wanted = count == 0 ? processors : std::min(count, processors);
  const int granted = wanted == 1 ? 1 : std::min(granted_threads(processors), wanted);
  if (granted < wanted) warn_of_few_threads(wanted, granted);
  if (granted == 1) return std::make_unique<SerialExecutor>();
  return std::make_unique<TbbExecutor>(granted);
}

Remedy thread_remedy() { return {}; }

}  // namespace strata
