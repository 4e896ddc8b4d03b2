// Buffer: a reference-counted handle on elements of one dtype in the memory of a device. Kernels read and write
// buffers; tensors, files and the Python module hold them. The interface DeviceMemory is for devices whose memory the
// host does not see.
//
//   Buffer input = Buffer::fromCPU(std::vector<float>{2, 3}), output = Buffer::allocate(2, dtypes::float32);
//   output.copy_from(input);
//   output.toCPU()[1].as_double()     3
#pragma once

#include <atomic>
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

/// A block of memory of a device, to which Buffer handles refer. A device whose memory the host cannot address derives
/// from this class.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  virtual ~DeviceMemory() = default;

  virtual std::string_view device() const = 0;  ///< "CPU" for memory of the host
  /// The address at which the host sees the memory; null if it does not.
  virtual void* host() const = 0;
  /// True iff code outside of Strata may hold a pointer to the memory. Such memory is never reused for other elements.
  virtual bool is_borrowed() const { return false; }
  /// True iff the memory must not be written.
  virtual bool is_read_only() const { return false; }
  /// Copies the first `bytes` bytes to the host, or from the host. @pre the memory has that many
  virtual void read(void* to, std::size_t bytes) const = 0;
  virtual void write(const void* from, std::size_t bytes) = 0;

  /// The number of writes that were noted: code that keeps a result of the elements compares it. Buffer::copy_from(),
  /// CompiledKernel::run() and Jit::into() note theirs; code that writes through data() or as() notes its own.
  std::uint64_t writes() const { return writes_.load(std::memory_order_acquire); }
  void note_write() { writes_.fetch_add(1, std::memory_order_release); }
  /// True iff code outside of Strata may write the memory at any time, without a note. What is computed of such memory
  /// is not kept.
  bool is_written_outside() const { return is_written_outside_.load(std::memory_order_acquire); }
  /// From now on code outside of Strata may write the memory.
  void let_others_write() { is_written_outside_.store(true, std::memory_order_release); }

 private:
  std::atomic<std::uint64_t> writes_{0};
  std::atomic<bool> is_written_outside_{false};
};

/// The scalar dtype whose elements have the C++ type T, e.g. float32 for float and int64 for every signed integer of 8
/// bytes; `none` for other types. f16 and bf16 have no C++ type: their bits are read as std::uint16_t.
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

/// A handle on elements of one dtype in the memory of a device. Copies of the handle share the memory; the last one
/// frees it.
class Buffer {
 public:
  /// Called once, with the address of the memory, when the last handle is destroyed.
  using Deleter = std::function<void(void*)>;

  /// A buffer of `size` elements with undefined values, in the memory of the host.
  /// @throws Error (domain) unless size >= 0 and dtype is a scalar, (overflow) if the size in bytes exceeds 64 bits,
  ///   (budget) naming the bytes if the memory is not available
  static Buffer allocate(std::int64_t size, DType dtype);
  /// A copy of the `size` elements at `elements`. @throws as allocate(), and Error (domain) if `elements` is null and
  /// size > 0
  static Buffer fromCPU(const void* elements, std::int64_t size, DType dtype);
  /// A copy of the elements of a span, vector or array; T gives the dtype, see dtype_of().
  template <std::ranges::contiguous_range R>
  static Buffer fromCPU(const R& elements) {
    constexpr DType dtype = dtype_of<std::ranges::range_value_t<R>>();
    static_assert(dtype != dtypes::none, "no dtype has elements of this C++ type");
    return fromCPU(std::ranges::data(elements), std::ssize(elements), dtype);
  }
  /// A handle on the caller's memory at `elements`, without a copy. The thread that destroys the last handle calls
  /// `deleter`, which must not throw. With `read_only` Strata never writes the memory, and refuses kernels that would.
  /// With `constant` nobody outside of Strata writes it while a handle exists, so that results may be kept.
  /// @pre the memory holds `size` elements until the deleter is called
  /// @throws Error (domain) unless size >= 0, dtype is a scalar, and `elements` is not null and aligned for dtype; then
  ///   `deleter` is not called. (overflow) as allocate()
  static Buffer from_pointer(void* elements, std::int64_t size, DType dtype, Deleter deleter = {},
                             bool read_only = false, bool constant = false);
  /// A handle on the first `size` elements of a device's memory. @pre the memory holds them
  /// @throws Error (domain) unless size >= 0, dtype is a scalar and `memory` is not null
  static Buffer from_memory(std::shared_ptr<DeviceMemory> memory, std::int64_t size, DType dtype);

  std::string_view device() const { return memory_->device(); }
  DType dtype() const { return dtype_; }
  std::int64_t size() const { return size_; }  ///< in elements
  std::size_t nbytes() const { return static_cast<std::size_t>(size_) * dtype_.itemsize(); }
  DeviceMemory& memory() const { return *memory_; }
  /// True iff the memory must not be written. The results of data() and as() are then for reading only.
  bool is_read_only() const { return memory_->is_read_only(); }

  /// The host's address of the elements. @throws Error (domain) if the host does not see the memory
  void* data() const;
  /// The elements as a span of T or const T. @throws Error (domain) unless dtype_of<T>() is dtype(), or T is
  ///   std::uint16_t and the dtype is f16 or bf16; and as data()
  template <class T>
  std::span<T> as() const {
    check_type(dtype_of<std::remove_const_t<T>>(), sizeof(T));
    return {static_cast<T*>(data()), static_cast<std::size_t>(size_)};
  }
  /// The value of element `i`. @throws Error (domain) unless 0 <= i < size(); and as data()
  Scalar operator[](std::int64_t i) const;

  /// A buffer with the same elements in the memory of the host: this buffer if the host sees its memory, else a copy.
  Buffer toCPU() const;
  /// Copies all elements to the host. @throws Error (shape) unless bytes == nbytes()
  void copy_to(void* to, std::size_t bytes) const;
  /// Overwrites all elements. @throws Error (shape) unless bytes == nbytes(), (domain) if the memory is read-only
  void copy_from(const void* from, std::size_t bytes) const;
  /// Overwrites all elements with those of `other`, on any device. @throws Error (shape) unless dtype and size are
  ///   equal, (domain) if this memory is read-only
  void copy_from(const Buffer& other) const;

  /// Whether at most `handles` handles refer to the memory and no code outside of Strata does (never for
  /// from_pointer()). The memory may then be reused for other elements.
  bool is_held_by(long handles) const { return memory_.use_count() <= handles && !memory_->is_borrowed(); }
  /// A reference to the memory that does not keep it.
  std::weak_ptr<DeviceMemory> watched() const { return memory_; }
  /// Whether both handles refer to the same memory.
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
