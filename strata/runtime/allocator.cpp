#include "strata/runtime/allocator.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <new>

#include "strata/base/check.h"
#include "strata/base/flags.h"
#include "strata/base/fork.h"
#include "strata/runtime/scarcity.h"

namespace strata {
namespace {

constexpr std::size_t kMostBlockBytes = std::size_t{1} << 62;  // round_up() of less cannot overflow

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) & ~(unit - 1); }

std::size_t page_size() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Maps pages, beginning at a multiple of kHugePage; null if the system refuses. Maps kHugePage bytes more, and unmaps
/// those outside.
void* map_pages(std::size_t bytes) {
  const std::size_t length = round_up(bytes, page_size()), mapped = length + Allocator::kHugePage;
  void* const whole = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(whole);
  const std::size_t before = round_up(begin, Allocator::kHugePage) - begin, after = mapped - before - length;
  char* const block = static_cast<char*>(whole) + before;
  if (before != 0) munmap(whole, before);
  if (after != 0) munmap(block + length, after);
  madvise(block, length, MADV_HUGEPAGE);  // a failure is ignored: smaller pages work, too, but slower
  return block;
}

void* take_from_system(std::size_t bytes) {
  if (bytes >= Allocator::kHugePage) return map_pages(bytes);
  void* block = nullptr;
  return posix_memalign(&block, Allocator::kAlignment, bytes) == 0 ? block : nullptr;
}

void return_to_system(void* block, std::size_t bytes) {
  if (bytes >= Allocator::kHugePage) {
    munmap(block, round_up(bytes, page_size()));
  } else {
    std::free(block);
  }
}

}  // namespace

Allocator::~Allocator() { release_pool(); }

Allocator& Allocator::host() {
  static Allocator& allocator = *[] {
    constexpr std::int64_t most = std::int64_t{1} << 40;  // MiB; as bytes they fit in 64 bits
    const std::int64_t mebibytes = std::clamp<std::int64_t>(flags::ALLOC_POOL.get(), 0, most);
    return new Allocator(static_cast<std::uint64_t>(mebibytes) << 20);
  }();
  return allocator;
}

struct Allocator::AtFork {
  static void before() {
    page_size();
    host().mutex_.lock();
  }
  static void after() { host().mutex_.unlock(); }
  static const ForkHook hook;
};
const ForkHook Allocator::AtFork::hook(ForkOrder::memory, &before, &after);

/// The size of the block for `bytes`: the next number of which only the four highest bits are nonzero, so at most an
/// eighth is lost.
/// @pre bytes < kMostBlockBytes
std::size_t Allocator::block_bytes(std::size_t bytes) const {
  if (pool_limit_ == 0) return std::max<std::size_t>(bytes, 1);
  bytes = std::max(round_up(bytes, kAlignment), kAlignment);
  const int width = static_cast<int>(std::bit_width(bytes));
  return round_up(bytes, std::size_t{1} << std::max(width - 4, 6));
}

/// The size class of a block: eight classes for each power of two. @pre `block_bytes` is a result of block_bytes()
std::size_t Allocator::class_of(std::size_t block_bytes) {
  const auto width = static_cast<std::size_t>(std::bit_width(block_bytes));
  return width * 8 + (block_bytes >> (width - 4) & 7);
}

void* Allocator::allocate(std::size_t bytes) {
  const std::size_t size = bytes < kMostBlockBytes ? block_bytes(bytes) : bytes;
  void* block = nullptr;
  if (bytes < kMostBlockBytes) {
    block = take_pooled(size);
    if (block != nullptr) return block;
    if (bytes >= kHugePage) trim_heap(size);
    block = take_from_system(size);
    if (block == nullptr) {
      release_pool();
      block = take_from_system(size);
    }
  }
  const std::lock_guard lock(mutex_);
  STRATA_CHECK(block != nullptr, budget, "[allocate] out of memory: ", bytes, " bytes were asked for, ",
               statistics_.in_use, " are in use", address_space_limit("; "));
  ++statistics_.allocated;
  statistics_.in_use += size;
  statistics_.peak = std::max(statistics_.peak, statistics_.in_use);
  return block;
}

/// Before large memory is mapped: gives the system what free() left in the heap of the C library, e.g. of compiling and
/// of arrays that were copied. Only each time when the memory of all blocks has grown by a quarter: trimming walks over
/// the whole heap.
void Allocator::trim_heap(std::size_t more) {
  constexpr std::uint64_t least = std::uint64_t{8} << 20;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t bytes = statistics_.in_use + statistics_.pooled + more;
    if (bytes < trimmed_at_ + std::max(trimmed_at_ / 4, least)) return;
    trimmed_at_ = bytes;
  }
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void Allocator::free(void* block, std::size_t bytes) noexcept {
  const std::size_t size = block_bytes(bytes);
  if (!pool(block, size)) return_to_system(block, size);
}

/// Takes a pooled block of this size and counts it as allocated; null if there is none.
void* Allocator::take_pooled(std::size_t block_bytes) {
  if (block_bytes > pool_limit_) return nullptr;
  const std::lock_guard lock(mutex_);
  Blocks& same = free_[class_of(block_bytes)];
  if (same.empty()) return nullptr;
  void* const block = same.back().at;  // the block that was freed last is most likely in a cache
  same.pop_back();
  statistics_.pooled -= block_bytes;
  statistics_.in_use += block_bytes;
  statistics_.peak = std::max(statistics_.peak, statistics_.in_use);
  ++statistics_.allocated;
  ++statistics_.reused;
  return block;
}

/// Counts the block as free, and pools it; the oldest blocks are dropped to keep the limit. False if it cannot be
/// pooled.
bool Allocator::pool(void* block, std::size_t block_bytes) {
  const std::lock_guard lock(mutex_);
  statistics_.in_use -= block_bytes;
  if (block_bytes > pool_limit_) return false;
  try {
    free_[class_of(block_bytes)].push_back({block, block_bytes, ++frees_});
  } catch (const std::bad_alloc&) {
    return false;
  }
  statistics_.pooled += block_bytes;
  while (statistics_.pooled > pool_limit_) drop_oldest();
  return true;
}

/// Returns the block that was freed first to the system. @pre mutex_ is held, and the pool is not empty
void Allocator::drop_oldest() {
  Blocks* oldest = nullptr;
  for (Blocks& blocks : free_)
    if (!blocks.empty() && (oldest == nullptr || blocks.front().freed < oldest->front().freed)) oldest = &blocks;
  drop_first(*oldest);
}

/// @pre mutex_ is held
void Allocator::drop_first(Blocks& blocks) {
  const Block block = blocks.front();
  blocks.pop_front();
  statistics_.pooled -= block.bytes;
  return_to_system(block.at, block.bytes);
}

Allocator::Statistics Allocator::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void Allocator::release_pool() {
  const std::lock_guard lock(mutex_);
  for (Blocks& blocks : free_)
    while (!blocks.empty()) drop_first(blocks);
}

}  // namespace strata
