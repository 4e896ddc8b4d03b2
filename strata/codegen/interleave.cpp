#include "strata/codegen/interleave.h"

#include <algorithm>
#include <bit>

namespace strata {

namespace {

constexpr std::int64_t kFewest = 4;  // elements of a place that are worth a vector

/// True iff the access moves by 0 or 1 along the elements of each place of the axis that `v` counts.
bool is_contiguous_by_place(const Access& access, const Variable& v, std::int64_t places) {
  for (std::int64_t place = 0; place < places; ++place) {
    const auto at = [&](const Expr& element) { return substitute(access.index, {{v, element * places + place}}); };
    const Expr moved = at(v + 1) - at(v);
    if (!moved.is_constant() || moved.value() < 0 || moved.value() > 1) return false;
  }
  return true;
}

}  // namespace

std::optional<InterleavedAxis> interleaved_axis(const KernelAxes& axes, std::span<const Access> accesses,
                                                std::span<const std::vector<AxisStride>> strides,
                                                std::span<const std::pair<Variable, std::size_t>> counters,
                                                std::int64_t most_lanes) {
  const auto fits = [&](std::size_t axis, std::int64_t places) {
    for (std::size_t k = 0; k < accesses.size(); ++k) {
      const AxisStride& s = strides[k][axis];
      if (s.guarded || (accesses[k].is_store && (!s.is_linear || s.by != 1))) return false;
      if (accesses[k].is_store || (s.is_linear && s.by == 0)) continue;
      for (const auto& [v, of] : counters)
        if (of == axis && !is_contiguous_by_place(accesses[k], v, places)) return false;
    }
    return true;
  };
  for (std::size_t a = axes.outputs(); a-- > 0;) {
    const LoopAxis& axis = axes.axes()[a];
    if (!axis.size.is_number() || axis.segments.size() != 1 || axis.segments[0].parts.size() != 1) continue;
    const std::int64_t size = axis.size.value();
    for (const std::int64_t places : {2, 4}) {
      if (size % places != 0 || size / places < kFewest || !fits(a, places)) continue;
      const auto most = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size / places)));
      return InterleavedAxis{a, places, std::min(most_lanes, most)};
    }
  }
  return std::nullopt;
}

}  // namespace strata
