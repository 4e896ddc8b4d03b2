// Texts of quantities for people: three digits and a unit, for the output of commands.
#pragma once

#include <cstdint>
#include <string>

namespace strata::tools {

std::string seconds_text(double seconds);       ///< "12.3 us"
std::string bandwidth_text(double per_second);  ///< "9.87 GB/s"
/// "12.3 GFLOP/s"; without `floats` "12.3 Gop/s".
std::string speed_text(double per_second, bool floats);
std::string bytes_text(std::uint64_t bytes);  ///< "12.3 MiB"

}  // namespace strata::tools
