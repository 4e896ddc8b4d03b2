// Exchange of tensors with other libraries through DLPack (github.com/dmlc/dlpack): from_dlpack() imports, to_dlpack()
// exports. Both accept the versioned struct of DLPack 1 and the older one without a version.
//
//   Tensor x = from_dlpack(managed);                       // managed: DLManagedTensor* or DLManagedTensorVersioned*
//   auto* out = to_dlpack<DLManagedTensorVersioned>(x);    // of the user's own <dlpack/dlpack.h>
//   auto* same = to_dlpack<dlpack::ManagedTensorVersioned>(x);
//   out->deleter(out);                                     // when the consumer is done
//
// The structs below repeat DLPack's ABI under Strata's own names, so that this header does not include DLPack's. A
// user's <dlpack/dlpack.h> has the same layout, and both functions accept the structs of either.
//
// Ownership. from_dlpack() always takes ownership of its argument: it calls the deleter exactly once, when no tensor
// needs the memory any more or, on failure, before it throws. to_dlpack() passes ownership to the consumer, who calls
// the deleter once; the memory stays valid until then, even after the tensor is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "strata/tensor/tensor.h"

namespace strata {

namespace dlpack {

/// DLPackVersion: the version of the ABI that a struct follows.
struct Version {
  std::uint32_t major = 1, minor = 0;
};
/// DLDevice: where the memory is.
struct Device {
  std::int32_t type = 1;  ///< 1: host memory (kDLCPU)
  std::int32_t id = 0;
};
/// DLDataTypeCode.
enum class Code : std::uint8_t { sint = 0, uint = 1, floating = 2, bfloat = 4, complex = 5, boolean = 6 };
/// DLDataType: the type of the elements.
struct DataType {
  std::uint8_t code = 0;  ///< a Code, or a value that a newer DLPack defines
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
};
/// DLTensor: pointer, dtype, shape and strides.
struct Elements {
  void* data = nullptr;
  Device device;
  std::int32_t ndim = 0;
  DataType dtype;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  ///< in elements; null: row-major
  std::uint64_t byte_offset = 0;    ///< from `data` to the element at index 0
};
/// DLManagedTensor: a tensor with its owner, without a version.
struct ManagedTensor {
  Elements dl_tensor;
  void* manager_ctx = nullptr;
  void (*deleter)(ManagedTensor* self) = nullptr;
};
inline constexpr std::uint64_t kReadOnly = 1, kIsCopied = 2;  ///< bits of ManagedTensorVersioned::flags
/// DLManagedTensorVersioned: a tensor with its owner, version and flags.
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

/// Any struct with the members of ManagedTensor, e.g. DLManagedTensor.
template <class M>
concept Managed = requires(M m) {
  m.dl_tensor.byte_offset;
  m.manager_ctx;
  m.deleter(&m);
};
/// Any struct with the members of ManagedTensorVersioned, e.g. DLManagedTensorVersioned.
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

/// Returns a tensor over the memory of `managed`, of the same shape and dtype; strides become a view. The elements are
/// copied only where they are not aligned to their size. Strata never writes read-only memory and exports it as
/// read-only again.
/// @pre the elements do not change while the tensor, or an unrealized tensor that was computed from it, lives
/// NOTE: each byte of a boolean other than 0 counts as true.
/// @throws Error (domain) for a null `managed`, a major version other than 1, a device other than the host, a dtype
///   that Strata does not have, more than one lane, ndim < 0, a null `shape` with ndim > 0, or null `data` with
///   elements; (shape) for a negative size; (overflow) where the element count exceeds 64 bits or the memory exceeds
///   the address space. The deleter has been called by then, if `managed` is not null.
template <dlpack::Managed M>
Tensor from_dlpack(M* managed, At at = At::current()) {
  static_assert(dlpack::has_our_layout<M>(), "this is not the struct of DLPack");
  return dlpack::imported(reinterpret_cast<dlpack::Ours<M>*>(managed), at);
}

/// Exports `x` in host memory, with strides. Where `x` is memory, or memory seen through movement operations, that
/// memory itself is exported; otherwise `x` is realized first. The elements are copied where
///   - `copy` is true; the flag kIsCopied is then set;
///   - a stride is negative, as most consumers refuse negative strides;
///   - the memory is read-only and M is the struct without flags, which cannot say so. With M versioned the flag
///   kReadOnly is set.
/// NOTE: a consumer that writes to the memory changes the elements of `x`, but not tensors that were already computed
/// from `x`.
/// @return never null; its deleter may be called by any thread. @throws as realize()
template <dlpack::Managed M>
M* to_dlpack(const Tensor& x, bool copy = false) {
  static_assert(dlpack::has_our_layout<M>(), "this is not the struct of DLPack");
  if constexpr (dlpack::ManagedVersioned<M>)
    return reinterpret_cast<M*>(dlpack::exported_versioned(x, copy));
  else
    return reinterpret_cast<M*>(dlpack::exported(x, copy));
}

}  // namespace strata
