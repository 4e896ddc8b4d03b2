// Stands in for peer_mlir.cpp where MLIR is not installed.
#include "bench/peers.h"

namespace strata::bench {

std::unique_ptr<Peer> make_mlir_warm(const Program&) { return nullptr; }
std::unique_ptr<Peer> make_mlir_cold(const Program&) { return nullptr; }

}  // namespace strata::bench
