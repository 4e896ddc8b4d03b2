// What a stack of Views does to memory: ranges of addresses, strides, masked axes. Internal to view/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "strata/view/shape_tracker.h"

namespace strata {

/// The least and the largest address of valid indices, if there are any.
struct AddressRange {
  bool nowhere = false;
  Int lo, hi;
};
/// @throws Error in the name of `operation`: (undefined) where symbolic sizes leave it open, (budget)
AddressRange address_range(const ShapeTracker& st, std::string_view operation);
/// What memory needs for such addresses. @throws Error (overflow)
Int real_size_of(const AddressRange& range);

/// Steps to the pieces of a stack, where nobody says another number.
inline constexpr std::uint64_t kPieceBudget = std::uint64_t{1} << 20;

/// What the pieces of a stack of numbers say, found in one walk over them.
struct PieceFacts {
  std::vector<std::optional<Int>> real_strides;  ///< as ShapeTracker::real_strides
  AddressRange range;
  bool complete = false;   ///< else nothing of the above is known
  std::uint64_t work = 0;  ///< of the budget
};
/// @pre st.is_concrete()  @throws Error (overflow)
PieceFacts piece_facts(const ShapeTracker& st, bool ignore_valid, std::uint64_t budget = kPieceBudget);

}  // namespace strata
