// oneTBB behind one function without templates, in a source file of its own: a ThreadSanitizer build leaves that file
// uninstrumented, as the library itself is. What is seen by half looks like races.
#pragma once

#include <cstdint>
#include <memory>

namespace strata {

class TbbArena {
 public:
  /// @pre threads > 0
  explicit TbbArena(int threads);
  TbbArena(const TbbArena&) = delete;
  TbbArena& operator=(const TbbArena&) = delete;
  ~TbbArena();

  static int processors();
  int concurrency() const;

  /// Makes what oneTBB makes on first use; nothing from the second call on.
  void initialize();

  /// Calls f(context, begin, end) on chunks that cover [0, count) once, and returns when all calls have. A thread that
  /// waits in a nested call does not begin another chunk of the outer one meanwhile.
  /// @throws what f threw
  void run(std::uint64_t count, void (*f)(void* context, std::uint64_t begin, std::uint64_t end),
           void* context);

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
};

}  // namespace strata
