// Buffers and the memory under them: sizes, sharing, copies, reuse, statistics, exhaustion, threads.
#include "strata/runtime/buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "strata/runtime/allocator.h"
#include "tests/base/errors.h"

namespace strata {
namespace {

constexpr std::uint64_t kPool = 64 << 20;

bool is_aligned(const void* block, std::size_t unit) { return reinterpret_cast<std::uintptr_t>(block) % unit == 0; }

TEST(Allocator, BlocksAreAlignedAndWritable) {
  for (const std::uint64_t limit : {std::uint64_t{0}, kPool}) {
    Allocator allocator(limit);
    for (const std::size_t bytes : {0UL, 1UL, 63UL, 64UL, 65UL, 1000UL, 4096UL, 100'001UL, (2UL << 20) - 1, 2UL << 20,
                                    (2UL << 20) + 1, 5'000'001UL}) {
      void* const block = allocator.allocate(bytes);
      ASSERT_NE(block, nullptr);
      EXPECT_TRUE(is_aligned(block, bytes >= Allocator::kHugePage ? Allocator::kHugePage : 64)) << bytes;
      std::memset(block, 0x5a, bytes);
      allocator.free(block, bytes);
    }
    EXPECT_EQ(allocator.statistics().in_use, 0U);
  }
}

TEST(Allocator, AtMostAnEighthIsLost) {
  Allocator allocator(kPool);
  for (std::size_t bytes = 1; bytes < (20UL << 20); bytes += bytes / 7 + 1) {
    void* const block = allocator.allocate(bytes);
    const std::uint64_t used = allocator.statistics().in_use;
    EXPECT_GE(used, bytes);
    EXPECT_LE(used, bytes + bytes / 8 + 64);
    allocator.free(block, bytes);
  }
}

TEST(Allocator, FreedBlocksAreUsedAgain) {
  Allocator allocator(kPool);
  void* const first = allocator.allocate(1000);
  allocator.free(first, 1000);
  EXPECT_EQ(allocator.statistics().pooled, 1024U);
  EXPECT_EQ(allocator.allocate(1010), first);  // of the same class
  const Allocator::Statistics after = allocator.statistics();
  EXPECT_EQ(after.reused, 1U);
  EXPECT_EQ(after.allocated, 2U);
  EXPECT_EQ(after.in_use, 1024U);
  EXPECT_EQ(after.peak, 1024U);
  EXPECT_EQ(after.pooled, 0U);
  allocator.free(first, 1010);
  allocator.release_pool();
  EXPECT_EQ(allocator.statistics().pooled, 0U);
}

TEST(Allocator, ThePoolKeepsWhatWasFreedLast) {
  Allocator allocator(3 << 20);
  std::array<void*, 4> blocks{};
  for (void*& block : blocks) block = allocator.allocate(1 << 20);
  for (void* const block : blocks) allocator.free(block, 1 << 20);
  EXPECT_EQ(allocator.statistics().pooled, 3U << 20);
  for (std::size_t i = blocks.size() - 1; i > 0; --i) EXPECT_EQ(allocator.allocate(1 << 20), blocks[i]);
  EXPECT_EQ(allocator.statistics().pooled, 0U);
  for (std::size_t i = 1; i < blocks.size(); ++i) allocator.free(blocks[i], 1 << 20);
  void* const large = allocator.allocate(4 << 20);  // too large for the pool: displaces nothing
  allocator.free(large, 4 << 20);
  EXPECT_EQ(allocator.statistics().pooled, 3U << 20);
  void* const small = allocator.allocate(64);  // displaces the oldest, of another class
  allocator.free(small, 64);
  EXPECT_EQ(allocator.statistics().pooled, (2U << 20) + 64);
}

TEST(Allocator, WithoutAPoolBlocksAreExact) {
  Allocator allocator(0);
  void* const block = allocator.allocate(1001);
  EXPECT_EQ(allocator.statistics().in_use, 1001U);
  allocator.free(block, 1001);
  EXPECT_EQ(allocator.statistics().pooled, 0U);
}

TEST(Allocator, ExhaustionNamesTheBytesAndNothingIsLost) {
  Allocator allocator(kPool);
  void* const kept = allocator.allocate(5000);
  allocator.free(allocator.allocate(100), 100);
  for (const std::size_t bytes : {std::size_t{1} << 50, (std::size_t{1} << 62) - 1, std::size_t{1} << 62,
                                  std::numeric_limits<std::size_t>::max()}) {
    const std::string what = error_of(ErrorKind::budget, [&] { allocator.allocate(bytes); });
    EXPECT_TRUE(has(what, std::to_string(bytes))) << what;
    EXPECT_EQ(allocator.statistics().in_use, 5120U);
  }
  EXPECT_EQ(allocator.statistics().pooled, 0U);  // given back before giving up
  allocator.free(allocator.allocate(100), 100);
  allocator.free(kept, 5000);
}

/// Random blocks of one thread, each filled with a value that is checked before it is freed.
void stress(Allocator& allocator, unsigned seed) {
  struct Held {
    unsigned char* at;
    std::size_t bytes;
    unsigned char value;
  };
  std::minstd_rand random(seed);
  std::vector<Held> held;
  for (int turn = 0; turn < 4000; ++turn) {
    if (held.size() > 20 || (!held.empty() && random() % 2 == 0)) {
      std::swap(held[random() % held.size()], held.back());
      const Held block = held.back();
      held.pop_back();
      for (const std::size_t i : {std::size_t{0}, block.bytes / 2, block.bytes - 1})
        ASSERT_EQ(block.at[i], block.value);
      allocator.free(block.at, block.bytes);
      continue;
    }
    const std::size_t bytes = 1 + random() % (turn % 200 == 0 ? 6U << 20 : 1U << random() % 16);
    const auto value = static_cast<unsigned char>(random());
    held.push_back({static_cast<unsigned char*>(allocator.allocate(bytes)), bytes, value});
    for (const std::size_t i : {std::size_t{0}, bytes / 2, bytes - 1}) held.back().at[i] = value;
  }
  for (const Held& block : held) allocator.free(block.at, block.bytes);
}

TEST(AllocatorThread, RandomBlocksStayApart) {
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{100'000}, kPool}) {
    Allocator allocator(limit);
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back([&, seed] { stress(allocator, seed); });
    for (std::thread& thread : threads) thread.join();
    const Allocator::Statistics after = allocator.statistics();
    EXPECT_EQ(after.in_use, 0U);
    EXPECT_LE(after.pooled, limit);
    EXPECT_EQ(after.reused > 0, limit > 0);
  }
}

TEST(Buffer, AllocatesElements) {
  const Buffer buffer = Buffer::allocate(10, dtypes::float64);
  EXPECT_EQ(buffer.device(), "CPU");
  EXPECT_EQ(buffer.dtype(), dtypes::float64);
  EXPECT_EQ(buffer.size(), 10);
  EXPECT_EQ(buffer.nbytes(), 80U);
  EXPECT_TRUE(is_aligned(buffer.data(), 64));
  EXPECT_EQ(Buffer::allocate(0, dtypes::int8).nbytes(), 0U);
}

TEST(Buffer, RefusesSizesAndDTypes) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(has(error_of(ErrorKind::domain, [] { Buffer::allocate(-1, dtypes::int8); }), "elements is -1"));
  error_of(ErrorKind::domain, [] { Buffer::allocate(1, dtypes::none); });
  error_of(ErrorKind::domain, [] { Buffer::allocate(1, dtypes::float32.vec(4)); });
  error_of(ErrorKind::domain, [] { Buffer::allocate(1, dtypes::float32.pointer()); });
  error_of(ErrorKind::overflow, [&] { Buffer::allocate(huge / 4, dtypes::float64); });
  const std::string what = error_of(ErrorKind::budget, [&] { Buffer::allocate(huge / 8, dtypes::float64); });
  EXPECT_TRUE(has(what, std::to_string(huge / 8 * 8))) << what;
}

TEST(Buffer, CopiesFromTheHost) {
  std::vector<float> numbers = {2, 3, -0.5F};
  const Buffer buffer = Buffer::fromCPU(numbers);
  numbers[0] = 7;
  EXPECT_EQ(buffer.dtype(), dtypes::float32);
  EXPECT_EQ(buffer[0].as_double(), 2);
  EXPECT_EQ(buffer.as<float>()[2], -0.5F);
  std::array<float, 3> out{};
  buffer.copy_to(out.data(), sizeof out);
  EXPECT_EQ(out[1], 3);
  out = {4, 5, 6};
  buffer.copy_from(out.data(), sizeof out);
  EXPECT_EQ(buffer[1].as_double(), 5);
  EXPECT_TRUE(buffer.toCPU().shares(buffer));
  const Buffer other = Buffer::allocate(3, dtypes::float32);
  other.copy_from(buffer);
  EXPECT_EQ(other[2].as_double(), 6);
  EXPECT_FALSE(other.shares(buffer));
  error_of(ErrorKind::shape, [&] { buffer.copy_to(out.data(), 8); });
  error_of(ErrorKind::shape, [&] { buffer.copy_from(out.data(), 16); });
  error_of(ErrorKind::shape, [&] { buffer.copy_from(Buffer::allocate(3, dtypes::int32)); });
  error_of(ErrorKind::shape, [&] { buffer.copy_from(Buffer::allocate(2, dtypes::float32)); });
}

TEST(Buffer, EmptyOnesAreCopiedToo) {
  const Buffer empty = Buffer::fromCPU(std::vector<int>{});
  EXPECT_EQ(empty.size(), 0);
  EXPECT_TRUE(empty.as<int>().empty());
  empty.copy_to(nullptr, 0);
  empty.copy_from(nullptr, 0);
  empty.copy_from(Buffer::allocate(0, dtypes::int32));
  error_of(ErrorKind::domain, [] { Buffer::fromCPU(nullptr, 1, dtypes::int32); });
}

TEST(Buffer, ElementsAreOfItsType) {
  const Buffer ints = Buffer::fromCPU(std::array<int, 2>{1, 2});
  EXPECT_TRUE(has(error_of(ErrorKind::domain, [&] { ints.as<float>(); }), "i32 cannot be read as f32"));
  error_of(ErrorKind::domain, [&] { ints.as<unsigned>(); });
  error_of(ErrorKind::domain, [&] { ints.as<std::int64_t>(); });
  error_of(ErrorKind::domain, [&] { (void)ints[2]; });
  error_of(ErrorKind::domain, [&] { (void)ints[-1]; });
  EXPECT_EQ(Buffer::allocate(1, dtypes::boolean).as<bool>().size(), 1U);
  const std::uint16_t one_and_half = 0x3e00;
  const Buffer half = Buffer::fromCPU(&one_and_half, 1, dtypes::float16);
  EXPECT_EQ(half.as<std::uint16_t>()[0], one_and_half);
  EXPECT_EQ(half[0].as_double(), 1.5);
  EXPECT_EQ(dtype_of<long long>(), dtypes::int64);
  EXPECT_EQ(dtype_of<unsigned char>(), dtypes::uint8);
}

TEST(Buffer, BorrowsWithoutACopy) {
  std::array<double, 4> numbers = {1, 2, 3, 4};
  int calls = 0;
  {
    Buffer second = Buffer::allocate(1, dtypes::int8);
    {
      const Buffer first = Buffer::from_pointer(numbers.data(), 4, dtypes::float64, [&](void* at) {
        EXPECT_EQ(at, numbers.data());
        ++calls;
      });
      EXPECT_EQ(first.data(), numbers.data());
      second = first;
    }
    EXPECT_EQ(calls, 0);
    second.as<double>()[3] = 9;
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(numbers[3], 9);
}

TEST(Buffer, BorrowsOnlyWhatElementsCanBeIn) {
  std::array<double, 2> numbers{};
  int calls = 0;
  const auto count = [&](void*) { ++calls; };
  error_of(ErrorKind::domain, [&] { Buffer::from_pointer(nullptr, 1, dtypes::int8, count); });
  char* const odd = reinterpret_cast<char*>(numbers.data()) + 1;
  error_of(ErrorKind::domain, [&] { Buffer::from_pointer(odd, 1, dtypes::int16, count); });
  error_of(ErrorKind::domain, [&] { Buffer::from_pointer(odd, -1, dtypes::int8, count); });
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(Buffer::from_pointer(odd, 2, dtypes::int8).data(), odd);
}

/// Memory that the host cannot look into.
class FarMemory final : public DeviceMemory {
 public:
  explicit FarMemory(std::size_t bytes) : bytes_(bytes) {}
  std::string_view device() const override { return "FAR"; }
  void* host() const override { return nullptr; }
  void read(void* to, std::size_t bytes) const override { std::memcpy(to, bytes_.data(), bytes); }
  void write(const void* from, std::size_t bytes) override { std::memcpy(bytes_.data(), from, bytes); }

 private:
  std::vector<char> bytes_;
};

TEST(Buffer, OfADeviceIsCopiedToTheHost) {
  const Buffer far = Buffer::from_memory(std::make_shared<FarMemory>(12), 3, dtypes::int32);
  EXPECT_EQ(far.device(), "FAR");
  EXPECT_TRUE(has(error_of(ErrorKind::domain, [&] { (void)far.data(); }), "FAR"));
  error_of(ErrorKind::domain, [&] { (void)far[0]; });
  far.copy_from(Buffer::fromCPU(std::array<int, 3>{4, 5, 6}));
  const Buffer near = far.toCPU();
  EXPECT_FALSE(near.shares(far));
  EXPECT_EQ(near[2].as_int(), 6);
  error_of(ErrorKind::domain, [] { Buffer::from_memory(nullptr, 1, dtypes::int8); });
}

TEST(BufferThread, HandlesAreSharedAcrossThreads) {
  const std::uint64_t before = Allocator::host().statistics().in_use;
  {
    const Buffer shared = Buffer::fromCPU(std::vector<int>(1000, 3));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([shared] {
        for (int turn = 0; turn < 500; ++turn) {
          const Buffer copy = shared, mine = Buffer::allocate(turn, dtypes::int32);
          EXPECT_EQ(copy.as<int>()[999], 3);
          EXPECT_EQ(mine.size(), turn);
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(Allocator::host().statistics().in_use, before);
}

}  // namespace
}  // namespace strata
