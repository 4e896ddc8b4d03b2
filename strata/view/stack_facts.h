// What a stack of Views does to memory: ranges of addresses, strides, masked axes. Internal to view/.
#pragma once

#include <string_view>

#include "strata/view/shape_tracker.h"

namespace strata {

/// The least and the largest address of valid indices, if there are any.
struct AddressRange {
  bool nowhere = false;
  Int lo, hi;
};
/// @throws Error in the name of `operation`: (undefined) where symbolic sizes leave it open, (budget)
AddressRange address_range(const ShapeTracker& st, std::string_view operation);

}  // namespace strata
