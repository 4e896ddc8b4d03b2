// Memory of the host for buffers: aligned for vectors, in huge pages where it is large, and kept for reuse when freed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>

namespace strata {

/// Blocks of memory; those that are freed are kept, up to a limit.
class Allocator {
 public:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kHugePage = std::size_t{1} << 21;

  /// In bytes, of blocks as they are: up to an eighth more than was asked for.
  struct Statistics {
    std::uint64_t in_use = 0;
    std::uint64_t peak = 0;       ///< the largest in_use
    std::uint64_t pooled = 0;     ///< free, kept for reuse
    std::uint64_t allocated = 0;  ///< calls of allocate()
    std::uint64_t reused = 0;     ///< of these, served from the pool
  };

  /// One that keeps at most `pool_limit` bytes of free blocks, those that were freed last. With 0 it keeps none,
  /// and blocks are as large as they are asked for, so that a sanitizer sees their ends.
  explicit Allocator(std::uint64_t pool_limit) : pool_limit_(pool_limit) {}
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  /// @pre every block is back
  ~Allocator();

  /// The one of this process, with the limit of the flag ALLOC_POOL when it is first asked for. It is never
  /// destroyed: buffers may outlive everything.
  static Allocator& host();

  /// `bytes` bytes, aligned to kAlignment, from kHugePage on to that; what they hold is not defined. Never null.
  /// @throws Error (budget) naming the bytes where there are none.
  void* allocate(std::size_t bytes);
  /// Gives back what allocate(bytes) returned.
  void free(void* block, std::size_t bytes) noexcept;

  Statistics statistics() const;
  /// Returns all free blocks to the system.
  void release_pool();

 private:
  struct AtFork;
  struct Block {
    void* at;
    std::size_t bytes;
    std::uint64_t freed;  ///< a running number
  };
  using Blocks = std::list<Block>;                              // freed first ones first
  static constexpr std::size_t kClasses = std::size_t{8} * 64;  // eight for each power of two

  static std::size_t class_of(std::size_t block_bytes);
  std::size_t block_bytes(std::size_t bytes) const;
  void* take_pooled(std::size_t block_bytes);
  bool pool(void* block, std::size_t block_bytes);
  void drop_oldest();
  void drop_first(Blocks& blocks);

  const std::uint64_t pool_limit_;
  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::array<Blocks, kClasses> free_;
  std::uint64_t frees_ = 0;
  Statistics statistics_;
};

}  // namespace strata
