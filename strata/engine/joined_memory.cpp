#include "strata/engine/joined_memory.h"

#include <vector>

#include "strata/base/interrupt.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/strided_copy.h"
#include "strata/graph/strided_memory.h"
#include "strata/view/memory_ref.h"

namespace strata {

namespace {

constexpr std::int64_t kLeastRun = 64;  // bytes

/// A part, and where it goes.
struct PartCopy {
  Buffer memory;
  std::int64_t from, to;  // bytes
  StridedCopy copy;
};

/// @param begin where the part begins, in elements. @param strides of the joined memory
std::optional<PartCopy> copy_of(const LazyOp& part, std::int64_t begin, const Index& strides) {
  const std::optional<StridedMemory> found = strided_memory(part);
  if (!found) return std::nullopt;
  const auto itemsize = static_cast<std::int64_t>(part.dtype().itemsize());
  const Buffer memory = buffer_of(found->memory);
  if (part.dtype().is_bool() && memory.memory().is_borrowed()) return std::nullopt;  // other bytes than 0 and 1
  PartCopy out{memory, found->offset * itemsize, begin * itemsize,
               StridedCopy(part.dtype().itemsize(), found->shape, found->strides, strides)};
  if (out.copy.run() < kLeastRun && !out.copy.is_one_run()) return std::nullopt;
  return out;
}

}  // namespace

std::optional<Buffer> joined_memory(const LazyOp& concat) {
  const std::optional<Index> shape = numbers(concat.shape());
  if (!shape) return std::nullopt;
  const auto* along = std::get_if<Axes>(&concat.arg());
  const Index whole = detail::contiguous_strides(*shape);
  std::vector<PartCopy> copies;
  copies.reserve(concat.src().size());
  std::int64_t begin = 0;
  for (const LazyOp& part : concat.src()) {
    const std::optional<Index> own = numbers(part.shape());
    if (!own) return std::nullopt;
    if (product(*own) != 0) {
      std::optional<PartCopy> copy = copy_of(part, begin, along == nullptr ? detail::contiguous_strides(*own) : whole);
      if (!copy) return std::nullopt;
      copies.push_back(*std::move(copy));
    }
    const auto axis = along == nullptr ? 0 : static_cast<std::size_t>(along->front());
    begin += along == nullptr ? product(*own) : (*own)[axis] * whole[axis];
  }
  Buffer out = Buffer::allocate(product(*shape), concat.dtype());
  for (const PartCopy& part : copies) {
    part.copy(static_cast<const std::byte*>(part.memory.data()) + part.from,
              static_cast<std::byte*>(out.data()) + part.to);
    check_interrupt();
  }
  return out;
}

}  // namespace strata
