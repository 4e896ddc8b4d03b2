// In the place of contractions_openblas.cpp where OpenBLAS is not there.
#include "bench/contraction_peers.h"

namespace strata::bench {

const ContractionPeer openblas_contractions{false, nullptr, [] { return std::string("OpenBLAS absent"); }, nullptr,
                                            nullptr};

}  // namespace strata::bench
