// DLPack in and out: which memory, strides and flags, who calls the deleter and when, what is refused.

#include "strata/tensor/dlpack.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "strata/tensor/interop.h"
#include "tests/tensor/arrays.h"

// A user's own header, with the names of the specification.
extern "C" {
struct DLPackVersion {
  std::uint32_t major, minor;
};
enum DLDeviceType : std::int32_t { kDLCPU = 1, kDLCUDA = 2 };
struct DLDevice {
  DLDeviceType device_type;
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};
}

namespace strata::test {
namespace {

using Floats = std::vector<float>;

/// Memory of another library, which counts how often its deleter is called. It outlives the tensors that are made of
/// it.
template <class M>
struct Producer {
  explicit Producer(std::vector<std::int64_t> sizes, std::vector<std::int64_t> steps = {})
      : shape(std::move(sizes)), strides(std::move(steps)) {
    for (std::size_t k = 0; k < memory.size(); ++k) memory[k] = static_cast<float>(k);
    DLTensor& t = managed.dl_tensor;
    t.data = memory.data();
    t.device = {kDLCPU, 0};
    t.ndim = static_cast<std::int32_t>(shape.size());
    t.dtype = {2, 32, 1};
    t.shape = shape.data();
    t.strides = strides.empty() ? nullptr : strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](M* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
    if constexpr (requires { managed.version; }) managed.version = {1, 1};
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  std::vector<float> memory = Floats(24);
  std::vector<std::int64_t> shape, strides;
  M managed{};
  int deleted = 0;
};
using Old = Producer<DLManagedTensor>;
using Versioned = Producer<DLManagedTensorVersioned>;

TEST(DLPackIn, MemoryIsSharedUntilTheLastUser) {
  Old p({2, 3});
  std::optional<Tensor> later;
  {
    const Tensor x = from_dlpack(&p.managed);
    EXPECT_EQ(x.span<float>().data(), p.memory.data());
    EXPECT_EQ(x.dtype(), dtypes::float32);
    later = x + 1;
  }
  EXPECT_EQ(p.deleted, 0);
  EXPECT_EQ(floats(*later), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(p.deleted, 1);
}

TEST(DLPackIn, StridesAndOffset) {
  Versioned p({3, 2}, {-4, 1});
  p.managed.dl_tensor.byte_offset = 10 * sizeof(float);
  {
    const Tensor x = from_dlpack(&p.managed);
    EXPECT_EQ(to_memory_ref<float>(x).ptr({0, 0}), &p.memory[10]);
    EXPECT_EQ(floats(x + 0), (Floats{10, 11, 6, 7, 2, 3}));
  }
  EXPECT_EQ(p.deleted, 1);
}

TEST(DLPackIn, ReadOnlyMemoryStaysReadOnly) {
  for (const bool is_read_only : {false, true}) {
    Versioned p({4});
    p.managed.flags = is_read_only ? 1 : 2;  // 2: a copy for us
    {
      const Tensor x = from_dlpack(&p.managed);
      EXPECT_EQ(x.buffer().is_read_only(), is_read_only);
      auto* const again = to_dlpack<DLManagedTensorVersioned>(x);
      EXPECT_EQ(again->flags, is_read_only ? 1U : 0U);
      EXPECT_EQ(again->dl_tensor.data, p.memory.data());
      again->deleter(again);
      auto* const old = to_dlpack<DLManagedTensor>(x);  // which has no flags: what is read-only is copied
      EXPECT_EQ(old->dl_tensor.data == p.memory.data(), !is_read_only);
      EXPECT_EQ(static_cast<float*>(old->dl_tensor.data)[3], 3);
      old->deleter(old);
    }
    EXPECT_EQ(p.deleted, 1);
  }
}

TEST(DLPackIn, NoElementsAndNoDimensions) {
  Old empty({0, 3});
  empty.managed.dl_tensor.data = nullptr;
  EXPECT_EQ(from_dlpack(&empty.managed).shape(), (Ints{0, 3}));
  EXPECT_EQ(empty.deleted, 1);
  Old scalar({});
  scalar.managed.dl_tensor.shape = nullptr;
  EXPECT_EQ(from_dlpack(&scalar.managed).item(), 0);
  EXPECT_EQ(scalar.deleted, 1);
  Old kept({2});
  kept.managed.deleter = nullptr;  // memory that the producer does not want back
  EXPECT_EQ(floats(from_dlpack(&kept.managed)), (Floats{0, 1}));
}

TEST(DLPackIn, WhatIsNotAlignedIsCopied) {
  Old p({2});
  p.managed.dl_tensor.byte_offset = 1;
  const Tensor x = from_dlpack(&p.managed);
  EXPECT_EQ(p.deleted, 1);
  std::array<float, 2> expected{};
  std::memcpy(expected.data(), reinterpret_cast<const char*>(p.memory.data()) + 1, 8);
  EXPECT_EQ(floats(x), (Floats{expected[0], expected[1]}));
}

TEST(DLPackIn, WhatIsRefusedIsDeleted) {
  const auto refused = [](ErrorKind kind, const char* text, auto&& spoil) {
    Versioned p({2, 3}, {3, 1});
    spoil(p);
    const std::string what = error_of(kind, [&] { from_dlpack(&p.managed); });
    EXPECT_TRUE(has(what, text)) << what;
    EXPECT_EQ(p.deleted, 1) << text;
  };
  using P = Versioned;
  const std::int64_t huge = std::int64_t{1} << 62;
  refused(ErrorKind::domain, "version 2.0", [](P& p) { p.managed.version = {2, 0}; });
  refused(ErrorKind::domain, "version 0.8", [](P& p) { p.managed.version = {0, 8}; });
  refused(ErrorKind::domain, "device type 2", [](P& p) { p.managed.dl_tensor.device.device_type = kDLCUDA; });
  refused(ErrorKind::domain, "code 5 and 64", [](P& p) { p.managed.dl_tensor.dtype = {5, 64, 1}; });
  refused(ErrorKind::domain, "code 2 and 8", [](P& p) { p.managed.dl_tensor.dtype = {2, 8, 1}; });
  refused(ErrorKind::domain, "code 1 and 4", [](P& p) { p.managed.dl_tensor.dtype = {1, 4, 1}; });
  refused(ErrorKind::domain, "code 200", [](P& p) { p.managed.dl_tensor.dtype = {200, 32, 1}; });
  refused(ErrorKind::domain, "4 lanes", [](P& p) { p.managed.dl_tensor.dtype = {2, 32, 4}; });
  refused(ErrorKind::domain, "0 lanes", [](P& p) { p.managed.dl_tensor.dtype = {2, 32, 0}; });
  refused(ErrorKind::domain, "ndim is -1", [](P& p) { p.managed.dl_tensor.ndim = -1; });
  refused(ErrorKind::domain, "have no shape", [](P& p) { p.managed.dl_tensor.shape = nullptr; });
  refused(ErrorKind::domain, "6 elements have a null address", [](P& p) { p.managed.dl_tensor.data = nullptr; });
  refused(ErrorKind::shape, "dimension 1 has size -3", [](P& p) { p.shape[1] = -3; });
  refused(ErrorKind::overflow, "64 bits",
          [&](P& p) { p.shape = {huge, 4}, p.managed.dl_tensor.shape = p.shape.data(); });
  refused(ErrorKind::overflow, "reaches over more", [&](P& p) { p.strides[0] = p.strides[1] = huge; });
  refused(ErrorKind::overflow, "address space", [&](P& p) { p.strides[0] = huge / 2; });
  refused(ErrorKind::overflow, "address space",
          [](P& p) { p.managed.dl_tensor.byte_offset = std::numeric_limits<std::uint64_t>::max(); });
  error_of(ErrorKind::domain, [] { from_dlpack(static_cast<DLManagedTensor*>(nullptr)); });
  error_of(ErrorKind::domain, [] { from_dlpack(static_cast<DLManagedTensorVersioned*>(nullptr)); });
}

TEST(DLPackOut, MemoryOutlivesTheTensor) {
  DLManagedTensorVersioned* out = nullptr;
  {
    const Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {2, 2}) * 2;
    out = to_dlpack<DLManagedTensorVersioned>(x);
    EXPECT_EQ(out->dl_tensor.data, x.span<float>().data());
    x.assign(Tensor::zeros({2, 2}));
  }
  const DLTensor& t = out->dl_tensor;
  EXPECT_EQ(out->version.major, 1U);
  EXPECT_EQ(out->flags, 0U);
  EXPECT_EQ(t.device.device_type, kDLCPU);
  EXPECT_EQ(t.dtype.code, 2);
  EXPECT_EQ(t.dtype.bits, 32);
  EXPECT_EQ(t.dtype.lanes, 1);
  EXPECT_EQ(t.ndim, 2);
  EXPECT_EQ(std::vector(t.shape, t.shape + 2), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(std::vector(t.strides, t.strides + 2), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(t.byte_offset, 0U);
  EXPECT_EQ(static_cast<float*>(t.data)[3], 8);
  out->deleter(out);
}

TEST(DLPackOut, ViewsAreNotCopied) {
  const Tensor x = Tensor::from(Floats{0, 1, 2, 3, 4, 5}, {2, 3}).realize();
  const auto* const memory = x.span<float>().data();
  const auto of = [](const Tensor& y) {
    return std::unique_ptr<DLManagedTensor, void (*)(DLManagedTensor*)>(to_dlpack<DLManagedTensor>(y),
                                                                        [](DLManagedTensor* m) { m->deleter(m); });
  };
  const auto part = of(x.t().shrink({{1, 3}, {0, 2}}));
  EXPECT_EQ(part->dl_tensor.data, memory + 1);
  EXPECT_EQ(part->dl_tensor.strides[0], 1);
  EXPECT_EQ(part->dl_tensor.strides[1], 3);
  const auto repeated = of(x.unsqueeze(0).expand({4, 2, 3}));
  EXPECT_EQ(repeated->dl_tensor.data, memory);
  EXPECT_EQ(repeated->dl_tensor.strides[0], 0);
  const auto backwards = of(x.flip({0}));  // consumers take no strides below 0
  EXPECT_EQ(backwards->dl_tensor.strides[0], 3);
  EXPECT_EQ(static_cast<float*>(backwards->dl_tensor.data)[0], 3);
  const auto padded = of(x.pad({{0, 0}, {1, 0}}));
  EXPECT_EQ(static_cast<float*>(padded->dl_tensor.data)[5], 3);
}

TEST(DLPackOut, CopiesAreTheConsumers) {
  const Tensor x = Tensor::from(Floats{0, 1, 2, 3}, {4}).realize();
  const Tensor same = x.contiguous().realize();
  auto* const out = to_dlpack<dlpack::ManagedTensorVersioned>(x, true);
  EXPECT_EQ(out->flags, dlpack::kIsCopied);
  static_cast<float*>(out->dl_tensor.data)[0] = 9;
  EXPECT_EQ(floats(x), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(floats(same), (Floats{0, 1, 2, 3}));
  out->deleter(out);
  auto* const old = to_dlpack<dlpack::ManagedTensor>(x, true);
  EXPECT_NE(old->dl_tensor.data, x.span<float>().data());
  old->deleter(old);
}

TEST(DLPack, EachDTypeThereAndBack) {
  struct Row {
    DType dtype;
    int code;
  };
  const std::vector<Row> rows = {
      {dtypes::boolean, 6},  {dtypes::int8, 0},    {dtypes::int16, 0},  {dtypes::int32, 0},  {dtypes::int64, 0},
      {dtypes::uint8, 1},    {dtypes::uint16, 1},  {dtypes::uint32, 1}, {dtypes::uint64, 1}, {dtypes::float16, 2},
      {dtypes::bfloat16, 4}, {dtypes::float32, 2}, {dtypes::float64, 2}};
  for (const Row& row : rows) {
    Tensor x = Tensor::empty({3}, row.dtype);
    std::memset(x.buffer().data(), 1, x.buffer().nbytes());
    auto* const out = to_dlpack<DLManagedTensorVersioned>(x);
    EXPECT_EQ(out->dl_tensor.dtype.code, row.code);
    EXPECT_EQ(out->dl_tensor.dtype.bits, row.dtype.itemsize() * 8);
    const Tensor back = from_dlpack(out);  // its deleter runs when this goes
    EXPECT_EQ(back.dtype(), row.dtype);
    EXPECT_EQ(back.buffer().data(), x.buffer().data());
  }
}

TEST(DLPack, AChainOfHandsKeepsTheFirstMemory) {
  Versioned p({2, 3});
  {
    std::optional<Tensor> last;
    {
      const Tensor first = from_dlpack(&p.managed);
      last = from_dlpack(to_dlpack<DLManagedTensor>(first.t()));
    }
    EXPECT_EQ(p.deleted, 0);
    EXPECT_EQ(floats(*last + 0), (Floats{0, 3, 1, 4, 2, 5}));
  }
  EXPECT_EQ(p.deleted, 1);
}

}  // namespace
}  // namespace strata::test
