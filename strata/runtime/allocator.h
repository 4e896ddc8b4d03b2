// The allocator of host memory for Buffer. Blocks are aligned to 64 bytes for vector instructions; blocks of 2 MiB and
// more are aligned to, and advised for, huge pages. Freed blocks go to a pool, because mapping and zeroing fresh pages
// costs more than most kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>

namespace strata {

/// Allocates blocks of memory and pools freed ones by size. Thread-safe.
class Allocator {
 public:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kHugePage = std::size_t{1} << 21;
  static constexpr std::uint64_t kLargePool = std::uint64_t{1} << 22;

  /// The sizes count whole blocks. allocate() rounds a size up to one of eight block sizes a power of two: at most an
  /// eighth more, and at least kAlignment bytes.
  struct Statistics {
    std::uint64_t in_use = 0;     ///< bytes of allocated blocks
    std::uint64_t peak = 0;       ///< the largest in_use so far
    std::uint64_t pooled = 0;     ///< bytes of free blocks in the pool
    std::uint64_t allocated = 0;  ///< calls of allocate()
    std::uint64_t reused = 0;     ///< calls of allocate() that the pool served
  };

  /// Pools at most `pool_limit` bytes of free blocks; beyond that, the blocks that were freed first go back to the
  /// system. With 0 nothing is pooled and sizes are not rounded up, so that a sanitizer catches an access behind the
  /// end.
  explicit Allocator(std::uint64_t pool_limit) : pool_limit_(pool_limit) {}
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  /// @pre every block was freed
  ~Allocator();

  /// The allocator of all buffers of this process. The flag ALLOC_POOL (MiB), read at the first call, is its pool
  /// limit. It is never destroyed, because buffers may outlive every static object.
  static Allocator& host();

  /// A block of at least `bytes` bytes with undefined contents, aligned to kAlignment, or to kHugePage if it is that
  /// large. Never null, also for 0 bytes. If the system has no memory left, the pool is returned to it and the call
  /// tries once more.
  /// @throws Error (budget) naming `bytes` if that fails, too
  void* allocate(std::size_t bytes);
  /// Frees a block. @pre allocate(bytes), with the same `bytes`, returned it
  void free(void* block, std::size_t bytes) noexcept;

  Statistics statistics() const;
  /// Returns all pooled blocks to the system.
  void release_pool();
  /// The same if they are large: after work whose blocks later work will not ask for.
  void release_large() {
    if (statistics().pooled >= kLargePool) release_pool();
  }

 private:
  struct AtFork;
  struct Block {
    void* at;
    std::size_t bytes;
    std::uint64_t freed;  ///< the number of this call of free(), by which blocks of different classes compare in age
  };
  using Blocks = std::list<Block>;                              // by age: freed first in front
  static constexpr std::size_t kClasses = std::size_t{8} * 64;  // eight for each power of two

  static std::size_t class_of(std::size_t block_bytes);
  std::size_t block_bytes(std::size_t bytes) const;
  void* take_pooled(std::size_t block_bytes);
  void trim_heap(std::size_t more);
  bool pool(void* block, std::size_t block_bytes);
  void drop_oldest();
  void drop_first(Blocks& blocks);

  const std::uint64_t pool_limit_;
  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::array<Blocks, kClasses> free_;
  std::uint64_t frees_ = 0;
  std::uint64_t trimmed_at_ = 0;  // bytes of all blocks, pooled ones included, when the heap was trimmed last
  Statistics statistics_;
};

}  // namespace strata
