// Facts about the addresses of a stack of Views: their range, and the step along each dimension. Behind
// ShapeTracker::real_size and real_strides. Internal to view/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "strata/view/shape_tracker.h"

namespace strata {

/// The least and the largest address of valid indices; `nowhere` when no index is valid.
struct AddressRange {
  bool nowhere = false;
  Int lo, hi;
};
/// The range of `st`.
/// @throws Error, named after `operation`: (undefined) when symbolic sizes leave the range open; (budget).
AddressRange address_range(const ShapeTracker& st, std::string_view operation);
/// The number of elements that memory must have for these addresses. @throws Error (overflow)
Int real_size_of(const AddressRange& range);

/// The default work limit for finding the pieces of a stack.
inline constexpr std::uint64_t kPieceBudget = std::uint64_t{1} << 20;

/// The facts that one walk over the pieces of a stack of numbers gives.
struct PieceFacts {
  std::vector<std::optional<Int>> real_strides;  ///< as ShapeTracker::real_strides
  AddressRange range;
  bool complete = false;   ///< false: the work limit was reached, and the fields above are unknown
  std::uint64_t work = 0;  ///< how much of the budget was used
};
/// @pre st.is_concrete()  @throws Error (overflow)
PieceFacts piece_facts(const ShapeTracker& st, bool ignore_valid, std::uint64_t budget = kPieceBudget);

}  // namespace strata
