// In the place of contractions_onednn.cpp where oneDNN is not there.
#include "bench/contraction_peers.h"

namespace strata::bench {

const ContractionPeer onednn_contractions{false, nullptr, [] { return std::string("oneDNN absent"); }, nullptr,
                                          nullptr};

}  // namespace strata::bench
