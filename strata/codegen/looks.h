// Interruption points ("looks") of long kernels on the host: the loops in which the generated code calls a function that tells whether
// to go on. looks_of() chooses the loops; the renderers of host code insert the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strata/codegen/kernel.h"

namespace strata {

/// The looks of a kernel. A look calls `int look(void)`; if that returns 1, the kernel returns at once, with its results unfinished.
struct Looks {
  /// A loop with a look.
  struct At {
    std::size_t loop;    ///< the LOOP's position in the list
    std::int64_t every;  ///< the number of its iterations between looks, a power of 2
  };
  std::vector<At> loops;  ///< in list order
  int slot = 0;  ///< the buffer argument, behind those of the kernel, that holds the address of `look`

  bool any() const { return !loops.empty(); }
  /// The number of iterations between looks of `loop`; 0: the loop has no look.
  std::int64_t every(std::size_t loop) const;
};

/// The looks of `kernel`. None if an iteration of its parallel loop (without one, the whole kernel) is estimated to take at most
/// kLongIteration; else a look about every 10 ms, by estimate, in the outermost loops that iterate often enough.
Looks looks_of(const Kernel& kernel);

}  // namespace strata
