// Stands in for peer_isl.cpp where isl is not installed.
#include "bench/peers.h"

namespace strata::bench {

std::unique_ptr<Peer> make_isl(const Program&) { return nullptr; }

}  // namespace strata::bench
