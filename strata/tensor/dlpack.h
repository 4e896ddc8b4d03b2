// Tensors to and from other libraries through DLPack (github.com/dmlc/dlpack, version 1; and the structs before it).
//
//   Tensor x = from_dlpack(managed);                       // managed: DLManagedTensor* or DLManagedTensorVersioned*
//   auto* out = to_dlpack<DLManagedTensorVersioned>(x);    // of the user's own <dlpack/dlpack.h>
//   auto* same = to_dlpack<dlpack::ManagedTensorVersioned>(x);
//   out->deleter(out);                                     // when the consumer is done
//
// The structs below are those of DLPack's ABI under names of our own, so that its header is not needed; that of a user has the
// same layout, and all functions take either.
//
// Ownership. from_dlpack() takes what it is given, always: the deleter is called once, when nothing needs the memory any more, or,
// where it is refused, before the Error leaves. to_dlpack() gives what the consumer owns until it calls the deleter; the memory
// stays until then, whatever becomes of the tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "strata/tensor/tensor.h"

namespace strata {

namespace dlpack {

/// The version of DLPack that a tensor is of.
struct Version {
  std::uint32_t major = 1, minor = 0;
};
/// Where the memory is.
struct Device {
  std::int32_t type = 1;  ///< 1: memory of the host
  std::int32_t id = 0;
};
enum class Code : std::uint8_t {
  sint = 0,
  uint = 1,
  floating = 2,
  bfloat = 4,
  complex = 5,
  boolean = 6
};
/// The type of the elements.
struct DataType {
  std::uint8_t code = 0;  ///< a Code, or one that is newer
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
};
/// DLTensor.
struct Elements {
  void* data = nullptr;
  Device device;
  std::int32_t ndim = 0;
  DataType dtype;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  ///< in elements; null: row-major
  std::uint64_t byte_offset = 0;    ///< from data to the element at index 0
};
/// DLManagedTensor.
struct ManagedTensor {
  Elements dl_tensor;
  void* manager_ctx = nullptr;
  void (*deleter)(ManagedTensor* self) = nullptr;
};
inline constexpr std::uint64_t kReadOnly = 1, kIsCopied = 2;  // flags
/// DLManagedTensorVersioned.
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx = nullptr;
  void (*deleter)(ManagedTensorVersioned* self) = nullptr;
  std::uint64_t flags = 0;
  Elements dl_tensor;
};

Tensor imported(ManagedTensor* managed, At at);
Tensor imported(ManagedTensorVersioned* managed, At at);
ManagedTensor* exported(const Tensor& x, bool copy);
ManagedTensorVersioned* exported_versioned(const Tensor& x, bool copy);

/// A struct with the members of ManagedTensor, and one that has those of ManagedTensorVersioned.
template <class M>
concept Managed = requires(M m) {
  m.dl_tensor.byte_offset;
  m.manager_ctx;
  m.deleter(&m);
};
template <class M>
concept ManagedVersioned = Managed<M> && requires(M m) {
  m.version.major;
  m.flags;
};
template <class M>
using Ours = std::conditional_t<ManagedVersioned<M>, ManagedTensorVersioned, ManagedTensor>;

template <class M>
constexpr bool has_our_layout() {
  return sizeof(M) == sizeof(Ours<M>) && offsetof(M, dl_tensor) == offsetof(Ours<M>, dl_tensor) &&
         offsetof(M, manager_ctx) == offsetof(Ours<M>, manager_ctx) &&
         offsetof(M, deleter) == offsetof(Ours<M>, deleter);
}

}  // namespace dlpack

/// A tensor over the memory of `managed`, whose strides become a view. Only elements that are not aligned to their size are copied.
/// What is read-only stays so: nothing here writes it, and it is exported as read-only again.
/// @pre the elements stay as they are while the tensor, or one that was made of it and is not realized, lives
/// NOTE: a boolean that is not 0 is true, whatever its byte.
/// @throws Error (domain) for null, another major version than 1, a device other than the host, dtypes that Strata has not, lanes,
///   ndim < 0, null where there are elements or sizes; (shape) for a negative size; (overflow) where elements leave 64 bits or
///   the address space. The deleter has been called then.
template <dlpack::Managed M>
Tensor from_dlpack(M* managed, At at = At::current()) {
  static_assert(dlpack::has_our_layout<M>(), "this is not the struct of DLPack");
  return dlpack::imported(reinterpret_cast<dlpack::Ours<M>*>(managed), at);
}

/// The elements of `x` in memory of the host, with strides: what the tensor has where it is memory, perhaps seen through movement
/// operations; else it is realized. In a copy of their own where `copy` says so (then the flag kIsCopied is set), where a stride is
/// below 0, which most consumers refuse, and where M cannot say that the memory is read-only. The flag kReadOnly is set where it is.
/// NOTE: a consumer that writes memory which is not a copy changes the tensor, but not what was computed from it.
/// @return never null; to be given to its deleter, by any thread. @throws as realize()
template <dlpack::Managed M>
M* to_dlpack(const Tensor& x, bool copy = false) {
  static_assert(dlpack::has_our_layout<M>(), "this is not the struct of DLPack");
  if constexpr (dlpack::ManagedVersioned<M>)
    return reinterpret_cast<M*>(dlpack::exported_versioned(x, copy));
  else
    return reinterpret_cast<M*>(dlpack::exported(x, copy));
}

}  // namespace strata
