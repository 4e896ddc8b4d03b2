// The floats that are no numbers, by name.
#pragma once

#include <limits>

namespace strata {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace strata
