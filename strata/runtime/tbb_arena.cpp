#include "strata/runtime/tbb_arena.h"

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace strata {

struct TbbArena::Arena {
  explicit Arena(int threads) : tasks(threads) {}
  tbb::task_arena tasks;
};

TbbArena::TbbArena(int threads) : arena_(std::make_unique<Arena>(threads)) {}
TbbArena::~TbbArena() = default;

int TbbArena::processors() { return std::max(tbb::info::default_concurrency(), 1); }
int TbbArena::concurrency() const { return arena_->tasks.max_concurrency(); }

void TbbArena::initialize() { arena_->tasks.initialize(); }

void TbbArena::run(std::uint64_t count, void (*f)(void*, std::uint64_t, std::uint64_t), void* context) {
  using Range = tbb::blocked_range<std::uint64_t>;
  const auto run_chunk = [&](const Range& r) { f(context, r.begin(), r.end()); };
  arena_->tasks.execute([&] { tbb::this_task_arena::isolate([&] { tbb::parallel_for(Range(0, count), run_chunk); }); });
}

}  // namespace strata
