// MemoryRef: plain memory as a tensor, with storage, shape, strides and offset. The loops floor iterates over it, and
// mdspan.h converts it.
//
//   ptr = storage + offset + dot(indices, strides)      (strides and offset count elements)
//
// The constructor checks once that every index inside the shape has its element inside the storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/view/strided.h"
#include "strata/view/view.h"

namespace strata {

namespace detail {

/// The Views as boxes of numbers. @throws Error (undefined) for symbolic sizes; (shape) for an empty stack.
std::vector<Strided> strided_stack(std::span<const View> views);

/// Checks that every valid index of the stack has an address in [0, elements).
/// @throws Error (shape) with a witness when one is outside; (budget) when the decision takes too long.
void check_addresses(std::span<const Strided> views, std::size_t elements);

/// The checked layout of a MemoryRef. @throws as MemoryRef.
Strided memory_layout(const Index& shape, const Index& strides, std::int64_t offset, std::size_t elements);
Index contiguous_strides(const Index& shape);
/// The address of index `at`. @throws Error (shape) unless there is one index for each dimension, inside its bounds.
std::int64_t element_address(const Strided& layout, const Index& at);

}  // namespace detail

/// A tensor of elements of type T in memory that the caller owns.
template <class T>
class MemoryRef {
 public:
  /// Strides count elements; they may be negative or 0. @throws Error (shape) for a negative size, a number of strides
  ///   other than the rank, or an index whose address is outside the storage; (overflow) for more than 2^63 - 1
  ///   elements.
  MemoryRef(std::span<T> storage, const Index& shape, const Index& strides, std::int64_t offset = 0)
      : storage_(storage), layout_(detail::memory_layout(shape, strides, offset, storage.size())) {}
  /// Row-major, from the first element of the storage on. @throws as above.
  MemoryRef(std::span<T> storage, const Index& shape) : MemoryRef(storage, shape, detail::contiguous_strides(shape)) {}

  std::span<T> storage() const { return storage_; }
  const Index& shape() const { return layout_.shape; }
  const Index& strides() const { return layout_.stride; }
  std::int64_t offset() const { return layout_.offset; }
  const Strided& layout() const { return layout_; }

  /// The address of the element at index `at`.
  /// @throws Error (shape) unless there is one index for each dimension, inside its bounds.
  T* ptr(const Index& at) const { return storage_.data() + detail::element_address(layout_, at); }
  T& operator[](const Index& at) const { return *ptr(at); }

 private:
  std::span<T> storage_;
  Strided layout_;
};

}  // namespace strata
