#include "strata/engine/joined_memory.h"

#include <cstring>
#include <vector>

#include "strata/base/interrupt.h"
#include "strata/engine/buffer_storage.h"
#include "strata/graph/strided_memory.h"
#include "strata/view/memory_ref.h"

namespace strata {

namespace {

constexpr std::int64_t kLeastRun = 64;  // bytes

/// A part, in bytes: runs that are in one piece on both sides, and how to go from one to the next.
struct Copy {
  Buffer memory;  // of the part
  const std::byte* from = nullptr;
  std::int64_t to = 0;   // where the part begins
  std::int64_t run = 0;  // bytes
  Index sizes = {}, from_strides = {}, to_strides = {};
};

/// The axes of the part, those in one piece put together. @param strides of the joined memory, in elements
std::optional<Copy> copy_of(const LazyOp& part, std::int64_t begin, const Index& strides) {
  const std::optional<StridedMemory> found = strided_memory(part);
  if (!found) return std::nullopt;
  const auto itemsize = static_cast<std::int64_t>(part.dtype().itemsize());
  Copy out{buffer_of(found->memory)};
  out.from = static_cast<const std::byte*>(out.memory.data()) + found->offset * itemsize;
  out.to = begin * itemsize;
  out.run = itemsize;
  std::size_t axis = found->shape.size();
  for (; axis > 0; --axis) {
    const std::size_t k = axis - 1;
    if (found->shape[k] != 1 && (found->strides[k] * itemsize != out.run || strides[k] * itemsize != out.run)) break;
    out.run *= found->shape[k];
  }
  for (std::size_t k = 0; k < axis; ++k) {
    if (found->shape[k] == 1) continue;
    out.sizes.push_back(found->shape[k]);
    out.from_strides.push_back(found->strides[k] * itemsize);
    out.to_strides.push_back(strides[k] * itemsize);
  }
  if (out.run < kLeastRun && !out.sizes.empty()) return std::nullopt;
  return out;
}

void run(const Copy& copy, std::byte* joined) {
  if (copy.run == 0) return;
  const std::byte* from = copy.from;
  std::byte* to = joined + copy.to;
  Index at(copy.sizes.size(), 0);
  for (;;) {
    std::memcpy(to, from, static_cast<std::size_t>(copy.run));
    std::size_t axis = at.size();
    for (; axis > 0; --axis) {
      const std::size_t k = axis - 1;
      from += copy.from_strides[k], to += copy.to_strides[k];
      if (++at[k] < copy.sizes[k]) break;
      from -= copy.from_strides[k] * copy.sizes[k], to -= copy.to_strides[k] * copy.sizes[k];
      at[k] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace

std::optional<Buffer> joined_memory(const LazyOp& concat) {
  const std::optional<Index> shape = numbers(concat.shape());
  if (!shape) return std::nullopt;
  const auto* along = std::get_if<Axes>(&concat.arg());
  const Index whole = detail::contiguous_strides(*shape);
  std::vector<Copy> copies;
  copies.reserve(concat.src().size());
  std::int64_t begin = 0;
  for (const LazyOp& part : concat.src()) {
    const std::optional<Index> own = numbers(part.shape());
    if (!own) return std::nullopt;
    if (product(*own) != 0) {
      std::optional<Copy> copy = copy_of(part, begin, along == nullptr ? detail::contiguous_strides(*own) : whole);
      if (!copy) return std::nullopt;
      copies.push_back(*std::move(copy));
    }
    const auto axis = along == nullptr ? 0 : static_cast<std::size_t>(along->front());
    begin += along == nullptr ? product(*own) : (*own)[axis] * whole[axis];
  }
  Buffer out = Buffer::allocate(product(*shape), concat.dtype());
  for (const Copy& copy : copies) {
    run(copy, static_cast<std::byte*>(out.data()));
    check_interrupt();
  }
  return out;
}

}  // namespace strata
