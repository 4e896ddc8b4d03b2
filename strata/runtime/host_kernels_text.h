// The texts of host_kernels, for exports. The build makes the source of these constants of the files there.
#pragma once

#include <string_view>

namespace strata::host_kernels {

extern const std::string_view rows, limits, keys, tile, network, digits, buckets, values, places;

}  // namespace strata::host_kernels
