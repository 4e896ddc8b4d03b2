// Memory of a device that holds elements of one dtype: a handle that is copied freely; the memory goes with the
// last copy.
//
//   Buffer input = Buffer::fromCPU(std::vector<float>{2, 3}), output = Buffer::allocate(2, dtypes::float32);
//   output.copy_from(input);
//   output.toCPU()[1].as_double()     3
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "strata/base/check.h"
#include "strata/dtype/dtype.h"
#include "strata/dtype/scalar.h"

namespace strata {

/// A piece of a device's memory. Devices whose memory the host does not see derive from this.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  virtual ~DeviceMemory() = default;

  virtual std::string_view device() const = 0;  ///< "CPU", ...
  /// Where the host sees the memory; null where it does not.
  virtual void* host() const = 0;
  /// True iff others may know it, too: it is not used again for other elements.
  virtual bool is_borrowed() const { return false; }
  /// True iff it must not be written.
  virtual bool is_read_only() const { return false; }
  /// Copies between the host and the memory's first `bytes` bytes. @pre it has that many
  virtual void read(void* to, std::size_t bytes) const = 0;
  virtual void write(const void* from, std::size_t bytes) = 0;
};

/// The scalar dtype whose elements are T in memory; `none` where there is none. f16 and bf16 have no T: their bits are
/// read as std::uint16_t.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::same_as<T, bool>)
    return dtypes::boolean;
  else if constexpr (std::same_as<T, float>)
    return dtypes::float32;
  else if constexpr (std::same_as<T, double>)
    return dtypes::float64;
  else if constexpr (std::signed_integral<T> && sizeof(T) == 1)
    return dtypes::int8;
  else if constexpr (std::signed_integral<T> && sizeof(T) == 2)
    return dtypes::int16;
  else if constexpr (std::signed_integral<T> && sizeof(T) == 4)
    return dtypes::int32;
  else if constexpr (std::signed_integral<T> && sizeof(T) == 8)
    return dtypes::int64;
  else if constexpr (std::unsigned_integral<T> && sizeof(T) == 1)
    return dtypes::uint8;
  else if constexpr (std::unsigned_integral<T> && sizeof(T) == 2)
    return dtypes::uint16;
  else if constexpr (std::unsigned_integral<T> && sizeof(T) == 4)
    return dtypes::uint32;
  else if constexpr (std::unsigned_integral<T> && sizeof(T) == 8)
    return dtypes::uint64;
  else
    return dtypes::none;
}

/// A handle on memory of a device with elements of one dtype. Copies share the memory, which lives as long as one of them.
class Buffer {
 public:
  /// Called once with the memory's address when the last copy of the handle goes.
  using Deleter = std::function<void(void*)>;

  /// `size` elements in memory of the host, whose values are not defined.
  /// @throws Error (domain) unless size >= 0 and dtype is a scalar, (overflow) where the bytes do not fit in 64 bits,
  ///         (budget) naming the bytes where there is no such memory.
  static Buffer allocate(std::int64_t size, DType dtype);
  /// A copy of `size` elements at `elements`. @throws as allocate()
  static Buffer fromCPU(const void* elements, std::int64_t size, DType dtype);
  /// A copy of a span, vector or array.
  template <std::ranges::contiguous_range R>
  static Buffer fromCPU(const R& elements) {
    constexpr DType dtype = dtype_of<std::ranges::range_value_t<R>>();
    static_assert(dtype != dtypes::none, "no dtype has elements of this C++ type");
    return fromCPU(std::ranges::data(elements), std::ssize(elements), dtype);
  }
  /// The memory at `elements` itself; `deleter`, if there is one, is told when it is no longer needed, by the thread that drops
  /// the last handle, and must not throw. Where the memory is `read_only`, nothing here writes it.
  /// @pre it holds `size` elements until then @throws Error (domain) unless size >= 0, dtype is a scalar, and
  /// `elements` is not null and aligned for it; then `deleter` is not called.
  static Buffer from_pointer(void* elements, std::int64_t size, DType dtype, Deleter deleter = {},
                             bool read_only = false);
  /// The first `size` elements of a device's memory. @pre it holds them  @throws Error (domain) unless size >= 0
  static Buffer from_memory(std::shared_ptr<DeviceMemory> memory, std::int64_t size, DType dtype);

  std::string_view device() const { return memory_->device(); }
  DType dtype() const { return dtype_; }
  std::int64_t size() const { return size_; }  ///< in elements
  std::size_t nbytes() const { return static_cast<std::size_t>(size_) * dtype_.itemsize(); }
  DeviceMemory& memory() const { return *memory_; }
  /// True iff the memory must not be written: what data() and as() give is for reading then.
  bool is_read_only() const { return memory_->is_read_only(); }

  /// Where the host sees the elements. @throws Error (domain) where it does not.
  void* data() const;
  /// The elements as T, or const T. @throws Error (domain) unless T is this dtype's, or std::uint16_t for f16 and bf16.
  template <class T>
  std::span<T> as() const {
    check_type(dtype_of<std::remove_const_t<T>>(), sizeof(T));
    return {static_cast<T*>(data()), static_cast<std::size_t>(size_)};
  }
  /// Element `i`. @throws Error (domain) unless 0 <= i < size()
  Scalar operator[](std::int64_t i) const;

  /// The elements in memory of the host: this buffer where the memory is shared, else a copy.
  Buffer toCPU() const;
  /// Copies all elements out, or in. @throws Error (shape) unless `bytes` is nbytes(), (domain) in where it is read-only
  void copy_to(void* to, std::size_t bytes) const;
  void copy_from(const void* from, std::size_t bytes) const;
  /// Copies the elements of `other`. @throws Error (shape) unless its dtype and size are these, (domain) where this is
  /// read-only
  void copy_from(const Buffer& other) const;

  /// Whether no more than `handles` handles are on the memory, and nobody else knows it: never for what from_pointer() took.
  bool is_held_by(long handles) const {
    return memory_.use_count() <= handles && !memory_->is_borrowed();
  }
  /// Whether both are handles on the same memory.
  bool shares(const Buffer& other) const { return memory_ == other.memory_; }

 private:
  Buffer(std::shared_ptr<DeviceMemory> memory, std::int64_t size, DType dtype)
      : memory_(std::move(memory)), size_(size), dtype_(dtype) {}
  void check_type(DType wanted, std::size_t itemsize) const;
  void check_writable() const;

  std::shared_ptr<DeviceMemory> memory_;
  std::int64_t size_;
  DType dtype_;
};

}  // namespace strata
