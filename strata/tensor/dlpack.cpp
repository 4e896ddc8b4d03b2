#include "strata/tensor/dlpack.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "strata/tensor/interop.h"

namespace strata::dlpack {

namespace {

// The sizes of DLPack's structs on 64-bit machines.
static_assert(sizeof(void*) != 8 ||
              (sizeof(Elements) == 48 && sizeof(ManagedTensor) == 64 && sizeof(ManagedTensorVersioned) == 80));
static_assert(sizeof(DataType) == 4 && sizeof(Device) == 8 && sizeof(Version) == 8);
static_assert(std::is_standard_layout_v<ManagedTensorVersioned>);

constexpr std::int32_t kHostDevice = 1;

struct DLPackRow {
  DType dtype;
  Code code;
  std::uint8_t bits;
};
constexpr std::array<DLPackRow, 13> kDLPackRows = {{
    {dtypes::boolean, Code::boolean, 8},
    {dtypes::int8, Code::sint, 8},
    {dtypes::int16, Code::sint, 16},
    {dtypes::int32, Code::sint, 32},
    {dtypes::int64, Code::sint, 64},
    {dtypes::uint8, Code::uint, 8},
    {dtypes::uint16, Code::uint, 16},
    {dtypes::uint32, Code::uint, 32},
    {dtypes::uint64, Code::uint, 64},
    {dtypes::float16, Code::floating, 16},
    {dtypes::bfloat16, Code::bfloat, 16},
    {dtypes::float32, Code::floating, 32},
    {dtypes::float64, Code::floating, 64},
}};

// --- in ---

DType dtype_from(const DataType& type) {
  STRATA_CHECK(type.lanes == 1, domain, "[from_dlpack] the elements have ", type.lanes, " lanes; 1 is expected");
  const auto* const row = std::find_if(kDLPackRows.begin(), kDLPackRows.end(), [&](const DLPackRow& r) {
    return static_cast<std::uint8_t>(r.code) == type.code && r.bits == type.bits;
  });
  STRATA_CHECK(row != kDLPackRows.end(), domain, "[from_dlpack] the type with code ", int{type.code}, " and ",
               int{type.bits}, " bits is not a dtype");
  return row->dtype;
}

Index sizes_from(const Elements& e) {
  STRATA_CHECK(e.ndim >= 0, domain, "[from_dlpack] ndim is ", e.ndim, "; 0 or more is expected");
  STRATA_CHECK(e.ndim == 0 || e.shape != nullptr, domain, "[from_dlpack] ", e.ndim, " dimensions have no shape");
  Index out;
  for (std::int32_t k = 0; k < e.ndim; ++k) {
    STRATA_CHECK(e.shape[k] >= 0, shape, "[from_dlpack] dimension ", k, " has size ", e.shape[k]);
    out.push_back(e.shape[k]);
  }
  product(out);  // has to fit in 64 bits
  return out;
}

void* first_from(const Elements& e, std::int64_t elements) {
  if (elements == 0) return nullptr;
  STRATA_CHECK(e.data != nullptr, domain, "[from_dlpack] ", elements, " elements have a null address");
  const auto data = reinterpret_cast<std::uintptr_t>(e.data);
  STRATA_CHECK(e.byte_offset <= std::numeric_limits<std::uintptr_t>::max() - data, overflow,
               "[from_dlpack] the offset of ", e.byte_offset, " bytes leaves the address space");
  return reinterpret_cast<void*>(data + e.byte_offset);
}

Tensor tensor_from(const Elements& e, bool read_only, Buffer::Deleter deleter, At at) {
  STRATA_CHECK(e.device.type == kHostDevice, domain, "[from_dlpack] memory of device type ", e.device.type,
               ", not of the host, which is ", kHostDevice);
  const DType dtype = dtype_from(e.dtype);
  const Index sizes = sizes_from(e);
  BlobOptions options{.deleter = std::move(deleter), .read_only = read_only};
  if (e.strides != nullptr) {
    Index& strides = options.strides.emplace();
    for (std::int32_t k = 0; k < e.ndim; ++k) strides.push_back(e.strides[k]);
  }
  return Tensor::from_blob(first_from(e, product(sizes)), to_ints(sizes), dtype, std::move(options), at);
}

/// Owns `managed`: calls the deleter when the last copy is destroyed, also by an exception.
template <class M>
std::shared_ptr<M> owned(M* managed) {
  STRATA_CHECK(managed != nullptr, domain, "[from_dlpack] null");
  return std::shared_ptr<M>(managed, [](M* m) {
    if (m->deleter != nullptr) m->deleter(m);
  });
}

// --- out ---

DataType type_of(DType dtype) {
  const auto* const row =
      std::find_if(kDLPackRows.begin(), kDLPackRows.end(), [&](const DLPackRow& r) { return r.dtype == dtype; });
  STRATA_ASSERT(row != kDLPackRows.end(), "[to_dlpack] ", dtype.name(), " is not in the table");
  return {static_cast<std::uint8_t>(row->code), row->bits, 1};
}

/// An exported tensor: the struct that the consumer gets, and the data to which it points.
template <class M>
struct Exported {
  M managed;
  StridedBuffer memory;
  std::vector<std::int64_t> shape, strides;
};

/// A row-major copy of x in memory of its own.
StridedBuffer copied(const Tensor& x, const Index& shape) {
  const Buffer from = x.buffer().toCPU();
  const std::int64_t count = product(shape);
  return {Buffer::fromCPU(from.data(), count, from.dtype()), shape, detail::contiguous_strides(shape), 0};
}

template <class M>
std::unique_ptr<Exported<M>> exported_as(const Tensor& x, bool copy, bool may_be_read_only) {
  StridedBuffer memory = strided_buffer(x);
  const bool is_backwards =
      std::any_of(memory.strides.begin(), memory.strides.end(), [](std::int64_t stride) { return stride < 0; });
  if (copy || (memory.buffer.is_read_only() && !may_be_read_only))
    memory = copied(x, memory.shape);
  else if (is_backwards)
    memory = {x.buffer(), memory.shape, detail::contiguous_strides(memory.shape), 0};
  memory.buffer = memory.buffer.toCPU();
  if (!memory.buffer.is_read_only()) memory.buffer.memory().let_others_write();  // the consumer
  auto out = std::make_unique<Exported<M>>(Exported<M>{
      {}, memory, {memory.shape.begin(), memory.shape.end()}, {memory.strides.begin(), memory.strides.end()}});
  Elements& e = out->managed.dl_tensor;
  e.data = static_cast<std::byte*>(memory.buffer.data()) + memory.offset * static_cast<std::int64_t>(x.itemsize());
  e.ndim = static_cast<std::int32_t>(out->shape.size());
  e.dtype = type_of(x.dtype());
  e.shape = out->shape.data();
  e.strides = out->strides.data();
  out->managed.manager_ctx = out.get();
  out->managed.deleter = [](M* self) { delete static_cast<Exported<M>*>(self->manager_ctx); };
  return out;
}

}  // namespace

Tensor imported(ManagedTensor* managed, At at) {
  const std::shared_ptr<ManagedTensor> owner = owned(managed);
  return tensor_from(owner->dl_tensor, false, [owner](void*) {}, at);
}

Tensor imported(ManagedTensorVersioned* managed, At at) {
  const std::shared_ptr<ManagedTensorVersioned> owner = owned(managed);
  // All major versions have the deleter at the same place; the fields behind it may differ.
  STRATA_CHECK(owner->version.major == 1, domain, "[from_dlpack] version ", owner->version.major, ".",
               owner->version.minor, " of DLPack, not 1");
  return tensor_from(owner->dl_tensor, (owner->flags & kReadOnly) != 0, [owner](void*) {}, at);
}

ManagedTensor* exported(const Tensor& x, bool copy) {
  return &exported_as<ManagedTensor>(x, copy, false).release()->managed;
}

ManagedTensorVersioned* exported_versioned(const Tensor& x, bool copy) {
  auto out = exported_as<ManagedTensorVersioned>(x, copy, true);
  out->managed.flags = (out->memory.buffer.is_read_only() ? kReadOnly : 0) | (copy ? kIsCopied : 0);
  return &out.release()->managed;
}

}  // namespace strata::dlpack
