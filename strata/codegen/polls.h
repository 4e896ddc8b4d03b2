// Where a kernel for the host asks whether to go on: one whose iterations run long, in a loop around the most of its work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strata/codegen/kernel.h"

namespace strata {

/// A poll is a call of `int poll(void)`, after whose answer 1 the kernel returns, its results not made.
struct Polls {
  /// A loop that polls.
  struct At {
    std::size_t loop;    ///< the LOOP's place in the list
    std::int64_t every;  ///< iterations of it, a power of 2
  };
  std::vector<At> loops;  ///< by place
  int slot = 0;  ///< behind those of the kernel's buffers: where the address of `poll` stands for one

  bool any() const { return !loops.empty(); }
  /// After how many iterations of `loop` it polls; 0: it does not.
  std::int64_t every(std::size_t loop) const;
};
using Looks [[deprecated("renamed to Polls")]] = Polls;

/// Those of a kernel: none where an iteration of its parallel loop, or all of it where it has none, is short by estimate. Else one about
/// every 10 ms by estimate, as far out as that can be.
Polls polls_of(const Kernel& kernel);
[[deprecated("renamed to polls_of")]]
inline Polls looks_of(const Kernel& kernel) {
  return polls_of(kernel);
}

}  // namespace strata
