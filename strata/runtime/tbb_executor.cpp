#include "strata/runtime/tbb_executor.h"

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdint>

namespace strata {
namespace {

class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int count) : arena_(count) {}
  int concurrency() const override { return arena_.max_concurrency(); }

 private:
  // Chunks by number, unsigned: `end - begin` may not fit in 64 bits with a sign.
  void run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) override {
    using Range = tbb::blocked_range<std::uint64_t>;
    const auto first = static_cast<std::uint64_t>(begin), step = static_cast<std::uint64_t>(grain);
    const std::uint64_t size = static_cast<std::uint64_t>(end) - first;
    const auto run_chunks = [&](const Range& chunks) {
      for (std::uint64_t k = chunks.begin(); k < chunks.end(); ++k) {
        const std::uint64_t from = first + k * step, count = std::min(step, size - k * step);
        body(static_cast<std::int64_t>(from), static_cast<std::int64_t>(from + count));
      }
    };
    const Range all(0, size / step + (size % step != 0 ? 1 : 0));
    // Isolated: a thread that waits for a nested loop must not begin another body of the outer one meanwhile.
    arena_.execute(
        [&] { tbb::this_task_arena::isolate([&] { tbb::parallel_for(all, run_chunks); }); });
  }

  tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<Executor> make_executor(int count) {
  STRATA_CHECK(count >= 0, domain, "[make_executor] ", count, " threads");
  const int processors = std::max(tbb::info::default_concurrency(), 1);
  return std::make_unique<TbbExecutor>(count == 0 ? processors : std::min(count, processors));
}

}  // namespace strata
