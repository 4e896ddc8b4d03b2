// The build without OpenBLAS: its column says that it is absent.
#include "bench/kernel_peers.h"

namespace strata::bench {

const KernelPeer openblas_peer{"OpenBLAS", false,
                               false,      [](Work, const Operands&) { return std::function<void()>(); },
                               [](int) {}, [] { return std::string("OpenBLAS absent"); }};

}  // namespace strata::bench
