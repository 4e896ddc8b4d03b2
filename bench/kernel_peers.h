// Other libraries at the work of bench_kernels. Each has its own file, or absent_*.cpp in its place.
#pragma once

#include <functional>
#include <string>

#include "bench/hand.h"

namespace strata::bench {

struct KernelPeer {
  const char* name;
  bool present;
  bool has_threads;  ///< true iff it can use more than one here
  /// A call that does `work` on the operands as the library's documentation says; empty where it has nothing for it.
  std::function<void()> (*call)(Work work, const Operands& o);
  void (*set_threads)(int count);
  /// "Eigen 3.4.0": with what it says of the machine.
  std::string (*version)();
};

/// Expression templates, compiled with the bench for this machine.
extern const KernelPeer eigen_peer;
/// Matrix products alone, with threads of its own.
extern const KernelPeer openblas_peer;

}  // namespace strata::bench
