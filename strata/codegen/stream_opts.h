// stream_opts(): which buffers a kernel stores past the caches. Internal to codegen/.
#pragma once

#include <span>
#include <vector>

#include "strata/codegen/axes.h"

namespace strata {

/// A STREAM for each large buffer that a kernel of much memory writes and does not read.
std::vector<Opt> stream_opts(const LazyOp& kernel, std::span<const BufferUse> buffers);

}  // namespace strata
