// MemoryRef: checks of shapes and addresses.
#include "strata/view/memory_ref.h"

#include <algorithm>
#include <string>
#include <utility>

#include "strata/view/merge.h"
#include "strata/view/piece_range.h"

namespace strata::detail {
namespace {

/// The lowest and the highest address of a single view. @pre some index is valid
std::pair<Int128, Int128> lone_address_range(const Strided& v) {
  Int128 lo = v.offset, hi = v.offset;
  for (std::size_t t = 0; t < v.shape.size(); ++t) {
    const Int128 first = static_cast<Int128>(v.stride[t]) * v.begin[t];
    const Int128 last = static_cast<Int128>(v.stride[t]) * (v.end[t] - 1);
    lo += std::min(first, last);
    hi += std::max(first, last);
  }
  return {lo, hi};
}

/// A 128-bit address as text; beyond 64 bits the exact number does not matter.
std::string address_text(Int128 address) {
  if (address > kPosInf) return "2^63 or more";
  if (address < kNegInf) return "below -2^63";
  return std::to_string(static_cast<std::int64_t>(address));
}

void check_address(Int128 address, std::size_t elements, const Index& at) {
  STRATA_CHECK(address >= 0, shape, "[tiled] the index ", render(at), " has address ", address_text(address),
               ", before the storage");
  STRATA_CHECK(address < static_cast<Int128>(elements), shape, "[tiled] the index ", render(at), " has address ",
               address_text(address), ", behind the storage's ", elements, " elements");
}

/// The valid index with the lowest or the highest address: a corner of the valid box.
Index corner(const Strided& v, bool highest) {
  Index at = v.begin;
  for (std::size_t t = 0; t < at.size(); ++t)
    if (v.stride[t] != 0 && (v.stride[t] > 0) == highest) at[t] = v.end[t] - 1;
  return at;
}

}  // namespace

std::vector<Strided> strided_stack(std::span<const View> views) {
  STRATA_CHECK(!views.empty(), shape, "[tiled] there is no view");
  return to_strided(views);
}

// A single view is decided at two corners. For a stack the address range of the lowest view is mostly enough; otherwise
// the pieces decide.
void check_addresses(std::span<const Strided> views, std::size_t elements) {
  for (const Strided& v : views)
    for (std::size_t t = 0; t < v.shape.size(); ++t)
      if (v.begin[t] >= v.end[t]) return;
  const auto [lo, hi] = lone_address_range(views[0]);
  if (lo >= 0 && hi < static_cast<Int128>(elements)) return;
  if (views.size() == 1) {
    check_address(lo, elements, corner(views[0], false));
    check_address(hi, elements, corner(views[0], true));
  }
  const RangeResult addresses = range(piecewise(views), kMostWork);
  STRATA_CHECK(addresses.complete, budget, "[tiled] the check that all addresses are below ", elements,
               " takes too long");
  if (!addresses.range) return;
  check_address(addresses.range->min, elements, addresses.range->at_min);
  check_address(addresses.range->max, elements, addresses.range->at_max);
}

Strided memory_layout(const Index& shape, const Index& strides, std::int64_t offset, std::size_t elements) {
  STRATA_CHECK(strides.size() == shape.size(), shape, "[tiled] ", strides.size(), " strides for shape ", render(shape));
  for (std::size_t t = 0; t < shape.size(); ++t)
    STRATA_CHECK(shape[t] >= 0, shape, "[tiled] dimension ", t, " has size ", shape[t]);
  product(shape);  // throws when the product does not fit in 64 bits
  Strided out{shape, strides, offset, Index(shape.size(), 0), shape};
  check_addresses({&out, 1}, elements);
  return out;
}

Index contiguous_strides(const Index& shape) {
  product(shape);
  Index out(shape.size(), 1);
  for (std::size_t t = shape.size(); t-- > 1;)  // a size beside a 0 may be too large; no stride matters then
    if (!try_mul(out[t], std::max<std::int64_t>(shape[t], 1), out[t - 1])) out[t - 1] = out[t];
  return out;
}

std::int64_t element_address(const Strided& layout, const Index& at) {
  STRATA_CHECK(at.size() == layout.shape.size(), shape, "[ptr] ", at.size(), " indices for shape ",
               render(layout.shape));
  std::int64_t address = layout.offset;
  for (std::size_t t = 0; t < at.size(); ++t) {
    STRATA_CHECK(at[t] >= 0 && at[t] < layout.shape[t], shape, "[ptr] index ", at[t], " is outside of dimension ", t,
                 ", of size ", layout.shape[t]);
    address += at[t] * layout.stride[t];
  }
  return address;
}

}  // namespace strata::detail
