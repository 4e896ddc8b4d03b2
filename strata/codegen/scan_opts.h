// scan_opts(): the default Opts of a kernel with an ASSOCIATIVE_SCAN or SCATTER. Internal to codegen/.
#pragma once

#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// Lanes along the axis in which the stores are contiguous (along the axis of a scan: a group), and threads along
/// another axis where there is enough work. Few rows of a SCATTER are unrolled: sums in one table wait for each other
/// where indices repeat, those in several do not.
/// @pre the kernel has a scan or SCATTER @post as of heuristic_opts()
std::vector<Opt> scan_opts(const LazyOp& kernel, const Target& target);

}  // namespace strata
