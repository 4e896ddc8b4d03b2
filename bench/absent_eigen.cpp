// The build without Eigen: its column says that it is absent.
#include "bench/kernel_peers.h"

namespace strata::bench {

const KernelPeer eigen_peer{"Eigen",    false,
                            false,      [](Work, const Operands&) { return std::function<void()>(); },
                            [](int) {}, [] { return std::string("Eigen absent"); }};

}  // namespace strata::bench
