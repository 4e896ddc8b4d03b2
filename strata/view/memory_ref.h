// Plain memory as a tensor: storage, shape, strides, offset.
//
//   ptr = storage + (offset + dot(indices, strides)) * sizeof(T)
//
// Every index inside of the shape has its element inside of the storage: that is checked once, when it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/view/strided.h"
#include "strata/view/view.h"

namespace strata {

namespace detail {

/// The stack as numbers. @throws Error (undefined) for symbolic sizes, (shape) when it is empty.
std::vector<Strided> strided_stack(std::span<const View> views);

/// @throws Error (shape) with a witness where a valid index has an address outside of [0, elements); (budget)
void check_addresses(std::span<const Strided> views, std::size_t elements);

/// @throws as MemoryRef
Strided memory_layout(const Index& shape, const Index& strides, std::int64_t offset,
                      std::size_t elements);
Index contiguous_strides(const Index& shape);
/// The address of `at`. @throws Error (shape) unless there is one index a dimension, inside of it.
std::int64_t element_address(const Strided& layout, const Index& at);

}  // namespace detail

/// Elements of type T; refers to the storage, does not own it.
template <class T>
class MemoryRef {
 public:
  /// Strides of any sign, and 0, count elements. @throws Error (shape) for a negative size, another number of strides than
  ///   dimensions, or an index whose address is outside of the storage; (overflow) for more than 2^63 - 1 elements.
  MemoryRef(std::span<T> storage, const Index& shape, const Index& strides, std::int64_t offset = 0)
      : storage_(storage), layout_(detail::memory_layout(shape, strides, offset, storage.size())) {}
  /// Row-major, from the storage's first element on.
  MemoryRef(std::span<T> storage, const Index& shape)
      : MemoryRef(storage, shape, detail::contiguous_strides(shape)) {}

  std::span<T> storage() const { return storage_; }
  const Index& shape() const { return layout_.shape; }
  const Index& strides() const { return layout_.stride; }
  std::int64_t offset() const { return layout_.offset; }
  const Strided& layout() const { return layout_; }

  /// The element at `at`. @throws Error (shape) unless there is one index a dimension, inside of it.
  T* ptr(const Index& at) const { return storage_.data() + detail::element_address(layout_, at); }
  T& operator[](const Index& at) const { return *ptr(at); }

 private:
  std::span<T> storage_;
  Strided layout_;
};

}  // namespace strata
