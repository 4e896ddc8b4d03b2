#include "strata/runtime/buffer.h"

#include <cstring>
#include <utility>

#include "strata/base/int_math.h"
#include "strata/runtime/allocator.h"
#include "strata/runtime/trace_file.h"

namespace strata {
namespace {

constexpr std::string_view kHost = "CPU";

/// Memory of the host. The pointers of an empty copy may be null, which memmove does not allow.
class HostMemory : public DeviceMemory {
 public:
  explicit HostMemory(void* at) : at_(at) {}
  std::string_view device() const override { return kHost; }
  void* host() const override { return at_; }
  void read(void* to, std::size_t bytes) const override {
    if (bytes != 0) std::memmove(to, at_, bytes);
  }
  void write(const void* from, std::size_t bytes) override {
    if (bytes != 0) std::memmove(at_, from, bytes);
  }

 private:
  void* at_;
};

class OwnedMemory final : public HostMemory {
 public:
  explicit OwnedMemory(std::size_t bytes) : HostMemory(Allocator::host().allocate(bytes)), bytes_(bytes) {
    trace_allocated(host(), bytes);
  }
  ~OwnedMemory() override {
    trace_freed(host());  // before free(), after which another thread may get the block
    Allocator::host().free(host(), bytes_);
  }

 private:
  std::size_t bytes_;
};

class BorrowedMemory final : public HostMemory {
 public:
  BorrowedMemory(void* at, Buffer::Deleter deleter, bool read_only, bool constant)
      : HostMemory(at), deleter_(std::move(deleter)), is_read_only_(read_only) {
    if (!constant) let_others_write();
  }
  ~BorrowedMemory() override {
    if (deleter_) deleter_(host());
  }
  bool is_borrowed() const override { return true; }
  bool is_read_only() const override { return is_read_only_; }

 private:
  Buffer::Deleter deleter_;
  bool is_read_only_;
};

/// The size of a buffer in bytes. @throws Error (domain, overflow) as Buffer::allocate()
std::size_t checked_bytes(std::string_view operation, std::int64_t size, DType dtype) {
  const bool scalar = !dtype.is_none() && !dtype.is_vector() && !dtype.is_pointer();
  STRATA_CHECK(scalar, domain, "[", operation, "] the dtype ", dtype.name(), " is not the dtype of an element");
  STRATA_CHECK(size >= 0, domain, "[", operation, "] the number of elements is ", size, "; 0 or more is expected");
  std::int64_t bytes = 0;
  STRATA_CHECK(try_mul(size, static_cast<std::int64_t>(dtype.itemsize()), bytes), overflow, "[", operation,
               "] the bytes of ", size, " elements of ", dtype.name(), " do not fit in 64 bits");
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Buffer Buffer::allocate(std::int64_t size, DType dtype) {
  const std::size_t bytes = checked_bytes("allocate", size, dtype);
  return {std::make_shared<OwnedMemory>(bytes), size, dtype};
}

Buffer Buffer::fromCPU(const void* elements, std::int64_t size, DType dtype) {
  STRATA_CHECK(elements != nullptr || size <= 0, domain, "[fromCPU] ", size, " elements have a null address");
  const Buffer out = allocate(size, dtype);
  out.copy_from(elements, out.nbytes());
  return out;
}

Buffer Buffer::from_pointer(void* elements, std::int64_t size, DType dtype, Deleter deleter, bool read_only,
                            bool constant) {
  checked_bytes("from_pointer", size, dtype);
  const auto address = reinterpret_cast<std::uintptr_t>(elements);
  STRATA_CHECK(address != 0 && address % dtype.itemsize() == 0, domain, "[from_pointer] the address of ", dtype.name(),
               " elements is ", address == 0 ? "null" : "not a multiple of their size");
  return {std::make_shared<BorrowedMemory>(elements, std::move(deleter), read_only, constant), size, dtype};
}

Buffer Buffer::from_memory(std::shared_ptr<DeviceMemory> memory, std::int64_t size, DType dtype) {
  STRATA_CHECK(memory != nullptr, domain, "[from_memory] the memory is null");
  checked_bytes("from_memory", size, dtype);
  return {std::move(memory), size, dtype};
}

void* Buffer::data() const {
  void* const at = memory_->host();
  STRATA_CHECK(at != nullptr, domain, "[data] the host does not see the memory of ", device(), "; use toCPU()");
  return at;
}

void Buffer::check_type(DType wanted, std::size_t itemsize) const {
  const bool bits = wanted == dtypes::uint16 && dtype_.is_float() && dtype_.itemsize() == itemsize;
  STRATA_CHECK(wanted == dtype_ || bits, domain, "[as] a buffer of ", dtype_.name(), " cannot be read as ",
               wanted.is_none() ? std::string("another type") : wanted.name());
}

void Buffer::check_writable() const {
  STRATA_CHECK(!is_read_only(), domain, "[copy_from] a buffer of ", size_, " ", dtype_.name(),
               " in memory that is read-only");
}

Scalar Buffer::operator[](std::int64_t i) const {
  STRATA_CHECK(i >= 0 && i < size_, domain, "[buffer] element ", i, " of ", size_);
  const char* const first = static_cast<const char*>(data());
  return load_scalar(dtype_, first + static_cast<std::size_t>(i) * dtype_.itemsize());
}

Buffer Buffer::toCPU() const {
  if (memory_->host() != nullptr) return *this;
  const Buffer out = allocate(size_, dtype_);
  memory_->read(out.data(), nbytes());
  return out;
}

void Buffer::copy_to(void* to, std::size_t bytes) const {
  STRATA_CHECK(bytes == nbytes(), shape, "[copy_to] ", bytes, " bytes do not match a buffer of ", nbytes(), " bytes");
  memory_->read(to, bytes);
}

void Buffer::copy_from(const void* from, std::size_t bytes) const {
  STRATA_CHECK(bytes == nbytes(), shape, "[copy_from] ", bytes, " bytes do not match a buffer of ", nbytes(), " bytes");
  check_writable();
  memory_->write(from, bytes);
  memory_->note_write();
}

void Buffer::copy_from(const Buffer& other) const {
  STRATA_CHECK(other.dtype_ == dtype_ && other.size_ == size_, shape, "[copy_from] ", other.size_, " elements of ",
               other.dtype_.name(), " do not match a buffer of ", size_, " elements of ", dtype_.name());
  check_writable();
  const Buffer source = other.toCPU();
  memory_->write(source.data(), nbytes());
  memory_->note_write();
}

}  // namespace strata
