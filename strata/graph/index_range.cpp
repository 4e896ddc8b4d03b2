#include "strata/graph/index_range.h"

#include "strata/base/check.h"

namespace strata {

namespace {

/// Checks all integers in row-major order; the last dimension has a loop of its own.
template <class T>
std::optional<std::string> words_on_first_outside(const IndexRange& range, const IntegersInMemory& m) {
  const T* const first = static_cast<const T*>(m.first);
  const std::size_t ndim = m.shape.size();
  const std::int64_t count = ndim == 0 ? 1 : m.shape[ndim - 1], step = ndim == 0 ? 0 : m.strides[ndim - 1];
  Index place(ndim, 0);
  std::int64_t row = 0;  // offset of the current row
  for (;;) {
    for (std::int64_t k = 0; k < count; ++k) {
      const T v = first[row + k * step];
      if (range.has(v)) continue;
      if (ndim > 0) place[ndim - 1] = k;
      return words_on_outside(range, std::to_string(v), place);
    }
    std::size_t d = ndim == 0 ? 0 : ndim - 1;  // advance dimension d - 1, or carry further
    for (; d > 0; --d) {
      row += m.strides[d - 1];
      if (++place[d - 1] < m.shape[d - 1]) break;
      row -= m.strides[d - 1] * m.shape[d - 1];
      place[d - 1] = 0;
    }
    if (d == 0) return std::nullopt;
  }
}

}  // namespace

namespace {
std::string bounds_of(const IndexRange& range) {
  const std::string also = range.also ? detail::message(", and ", *range.also) : std::string();
  return detail::message(range.from_end ? -range.size : 0, " to ", range.size - 1, also);
}
}  // namespace

std::string IndexRange::text() const { return detail::message(noun, " of ", operation, ": ", bounds_of(*this)); }

std::string words_on_outside(const IndexRange& range, const std::string& value, const Index& place) {
  return detail::message("[", range.operation, "] ", range.noun, " ", value, " at ", render(place),
                         " is outside of a range: ", bounds_of(range));
}

std::optional<std::string> words_on_outside(const IndexRange& range, const IntegersInMemory& integers) {
  for (const std::int64_t size : integers.shape)
    if (size == 0) return std::nullopt;
  const DType d = integers.dtype;
  if (d == dtypes::int64) return words_on_first_outside<std::int64_t>(range, integers);
  if (d == dtypes::int32) return words_on_first_outside<std::int32_t>(range, integers);
  if (d == dtypes::int16) return words_on_first_outside<std::int16_t>(range, integers);
  if (d == dtypes::int8) return words_on_first_outside<std::int8_t>(range, integers);
  if (d == dtypes::uint64) return words_on_first_outside<std::uint64_t>(range, integers);
  if (d == dtypes::uint32) return words_on_first_outside<std::uint32_t>(range, integers);
  if (d == dtypes::uint16) return words_on_first_outside<std::uint16_t>(range, integers);
  STRATA_ASSERT(d == dtypes::uint8, "indices of ", d.name());
  return words_on_first_outside<std::uint8_t>(range, integers);
}

}  // namespace strata
