// Interruption points ("polls") of long kernels on the host: the loops in which the generated code calls a function
// that tells whether to go on. polls_of() chooses the loops; the renderers of host code insert the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strata/codegen/kernel.h"

namespace strata {

/// The polls of a kernel. A poll calls `int poll(void)`; if that returns 1, the kernel returns at once, with its
/// results unfinished.
struct Polls {
  /// A loop with a poll.
  struct At {
    std::size_t loop;    ///< the LOOP's position in the list
    std::int64_t every;  ///< the number of its iterations between polls, a power of 2
  };
  std::vector<At> loops;  ///< in list order
  int slot = 0;           ///< the buffer argument, behind those of the kernel, that holds the address of `poll`

  bool any() const { return !loops.empty(); }
  /// The number of iterations between polls of `loop`; 0: the loop has no poll.
  std::int64_t every(std::size_t loop) const;
};
using Looks [[deprecated("renamed to Polls")]] = Polls;

/// The polls of `kernel`. None if an iteration of its parallel loop (without one, the whole kernel) is estimated to
/// take at most kLongIteration; else a poll about every 10 ms, by estimate, in the outermost loops that iterate often
/// enough.
Polls polls_of(const Kernel& kernel);
[[deprecated("renamed to polls_of")]]
inline Polls looks_of(const Kernel& kernel) {
  return polls_of(kernel);
}

}  // namespace strata
