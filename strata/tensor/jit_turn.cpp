#include "strata/tensor/jit_turn.h"

#include <chrono>
#include <thread>

#include "strata/base/check.h"
#include "strata/base/fork.h"
#include "strata/base/interrupt.h"

namespace strata {

namespace {

constexpr int kThreadBits =
    40;  // the lock word: the thread number in the low bits, the process (fork generation) above
constexpr std::uint64_t kThread = (std::uint64_t{1} << kThreadBits) - 1;
constexpr std::chrono::microseconds kBetweenLooks{200};

/// A number that identifies this thread for its lifetime, unique also across fork().
std::uint64_t thread_number() {
  static constinit std::atomic<std::uint64_t> last{0};
  thread_local constinit std::uint64_t mine = 0;
  if (mine == 0) mine = ++last;
  return mine;
}

}  // namespace

JitTurn::JitTurn(std::atomic<std::uint64_t>& owner, const std::string& name) : owner_(owner) {
  const std::uint64_t me = thread_number() | fork_generation() << kThreadBits;
  for (std::uint64_t now = 0; !owner_.compare_exchange_strong(now, me); now = 0) {
    STRATA_CHECK((now & kThread) != (me & kThread), domain, "[jit] ", name,
                 " calls itself, and would wait for its own capture or replay to end: call the "
                 "function without jit inside of itself");
    if (now >> kThreadBits != me >> kThreadBits && owner_.compare_exchange_strong(now, me)) {
      was_parents_ = true;
      return;
    }
    check_interrupt();
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace strata
