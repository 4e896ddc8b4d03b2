// Conversions between MemoryRef or View and std::mdspan, where the standard library has std::mdspan (C++23). Elsewhere
// this header is empty.
//
//   auto m = to_mdspan<2>(std::span(storage), view);
//   // a std::mdspan<float, std::dextents<std::int64_t, 2>, std::layout_stride>
//   MemoryRef<float> r = from_mdspan(m);
#pragma once

#include <version>

#if defined(__cpp_lib_mdspan)

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mdspan>
#include <span>
#include <type_traits>
#include <utility>

#include "strata/base/check.h"
#include "strata/view/memory_ref.h"

namespace strata {

template <class T, std::size_t Rank>
using StridedMdspan = std::mdspan<T, std::dextents<std::int64_t, Rank>, std::layout_stride>;

namespace detail {

/// The strides of `v` as std::layout_stride requires them: positive, and no two indices share an address. A dimension
/// of size 1 gets stride 1; a shape without indices gets row-major strides.
/// @throws Error (undefined) for a mask, a stride that is not positive, or strides that overlap.
inline Index mdspan_strides(const Strided& v) {
  if (product(v.shape) == 0) return contiguous_strides(v.shape);
  Index strides;
  SmallVec<std::size_t, 6> order;
  for (std::size_t t = 0; t < v.shape.size(); ++t) {
    STRATA_CHECK(v.begin[t] == 0 && v.end[t] == v.shape[t], undefined, "[mdspan] dimension ", t,
                 " is masked, which std::mdspan cannot say");
    const bool alone = v.shape[t] <= 1;
    STRATA_CHECK(alone || v.stride[t] > 0, undefined, "[mdspan] dimension ", t, " has stride ", v.stride[t],
                 "; std::layout_stride has positive strides");
    strides.push_back(alone ? 1 : v.stride[t]);
    if (!alone) order.push_back(t);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  std::int64_t room = 1;  // the least stride that keeps the next dimension apart from the smaller ones
  for (const std::size_t t : order) {
    STRATA_CHECK(strides[t] >= room, undefined, "[mdspan] dimension ", t, " has stride ", strides[t],
                 ", inside of the span of smaller strides; std::layout_stride keeps indices apart");
    room = strides[t] * v.shape[t];
  }
  return strides;
}

}  // namespace detail

/// `memory` as an mdspan of the same elements.
/// @throws Error (shape) for another rank; (undefined) for strides that are not positive, or that let indices overlap.
template <std::size_t Rank, class T>
StridedMdspan<T, Rank> to_mdspan(const MemoryRef<T>& memory) {
  const Strided& v = memory.layout();
  STRATA_CHECK(v.shape.size() == Rank, shape, "[mdspan] rank ", Rank, " for shape ", render(v.shape));
  const Index strides = detail::mdspan_strides(v);
  std::array<std::int64_t, Rank> sizes, steps;
  std::copy_n(v.shape.begin(), Rank, sizes.begin());
  std::copy_n(strides.begin(), Rank, steps.begin());
  const bool empty = product(v.shape) == 0;
  T* const first = memory.storage().data() + (empty ? 0 : v.offset);
  using Extents = std::dextents<std::int64_t, Rank>;
  return {first, std::layout_stride::mapping<Extents>(Extents(sizes), steps)};
}
/// The elements of `storage` that `view` addresses, as an mdspan.
/// @throws also Error (undefined) for a mask or symbolic sizes, and as MemoryRef.
template <std::size_t Rank, class T>
StridedMdspan<T, Rank> to_mdspan(std::span<T> storage, const View& view) {
  const Strided v = detail::strided_stack({&view, 1})[0];
  detail::mdspan_strides(v);
  return to_mdspan<Rank>(MemoryRef<T>(storage, v.shape, v.stride, v.offset));
}

/// The memory of a strided mdspan. @throws Error (overflow) when a size or stride does not fit in 64 bits.
template <class T, class Extents, class Layout>
MemoryRef<T> from_mdspan(const std::mdspan<T, Extents, Layout>& m) {
  static_assert(std::mdspan<T, Extents, Layout>::mapping_type::is_always_strided(), "the layout has no strides");
  const auto fits = [](auto n) {
    STRATA_CHECK(std::in_range<std::int64_t>(n), overflow, "[mdspan] ", n, " does not fit in 64 bits");
    return static_cast<std::int64_t>(n);
  };
  Index sizes, strides;
  for (std::size_t t = 0; t < Extents::rank(); ++t) {
    sizes.push_back(fits(m.extent(t)));
    strides.push_back(fits(m.stride(t)));
  }
  const auto span = static_cast<std::size_t>(fits(m.mapping().required_span_size()));
  return {std::span<T>(m.data_handle(), span), sizes, strides};
}

/// The View with the shape and strides of `m`, relative to m's own memory.
template <class T, class Extents, class Layout>
View view_of(const std::mdspan<T, Extents, Layout>& m) {
  const MemoryRef<T> memory = from_mdspan(m);
  return View::create(to_ints(memory.shape()), to_ints(memory.strides()));
}

}  // namespace strata

#endif
