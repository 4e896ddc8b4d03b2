// TbbArena: a oneTBB task arena behind an interface without templates, for tbb_executor.cpp. Only tbb_arena.cpp
// includes oneTBB's headers, and a ThreadSanitizer build compiles that file without instrumentation, as the library
// itself is: with half of oneTBB instrumented (its headers), correct synchronization looks like races.
#pragma once

#include <cstdint>
#include <memory>

namespace strata {

/// A oneTBB arena with a limit on its threads.
class TbbArena {
 public:
  /// An arena of at most `threads` threads, the calling one included. @pre threads > 0
  explicit TbbArena(int threads);
  TbbArena(const TbbArena&) = delete;
  TbbArena& operator=(const TbbArena&) = delete;
  ~TbbArena();

  /// The number of processors that oneTBB may use, at least 1.
  static int processors();
  /// The number of threads of this arena.
  int concurrency() const;

  /// Sets the arena up, which oneTBB otherwise does at the first run(). Later calls do nothing.
  void initialize();

  /// Calls f(context, begin, end) on ranges that cover [0, count) exactly once, on the threads of the arena at the same
  /// time, and returns when all calls have returned. oneTBB chooses the ranges; none is empty. A thread that waits
  /// inside a nested run() does not start another range of the outer one.
  /// @throws what f threw; ranges that had not started are then skipped
  void run(std::uint64_t count, void (*f)(void* context, std::uint64_t begin, std::uint64_t end), void* context);

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
};

}  // namespace strata
