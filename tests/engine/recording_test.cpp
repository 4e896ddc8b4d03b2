// Recordings: the memory of intermediate results, kernels in place, and what a realize keeps.

#include "strata/engine/recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "strata/engine/buffer_storage.h"
#include "strata/engine/in_place.h"
#include "strata/engine/realize.h"

namespace strata::test {
namespace {

const Device& on_interp() { return Device::get("INTERP"); }

LazyOp filled(float value, std::int64_t count) {
  return leaf_of(Buffer::fromCPU(std::vector<float>(static_cast<std::size_t>(count), value)), {count});
}
float first_of(const LazyOp& n) { return buffer_of(n).as<float>()[0]; }

constexpr std::int64_t kCount = 1024, kBytes = 4 * kCount;

TEST(Recording, IntermediateResultsShareBytes) {
  const LazyOp x = filled(1, kCount);
  Recording recording;
  LazyOp y = x;
  std::optional<LazyOp> out;
  {
    for (int k = 0; k < 8; ++k) {
      y = (y + y).contiguous();
      realize(y, on_interp());  // eight results, which nobody holds afterwards
    }
    out = (y + x).contiguous();
    realize(*out, on_interp());
    out = leaf_of(buffer_of(*out), {kCount});  // without the graph
    y = x;
  }
  recording.stop();
  EXPECT_EQ(recording.size(), 9U);
  EXPECT_EQ(recording.arena_bytes(), 2 * kBytes);  // a kernel reads one and writes the other
  EXPECT_EQ(first_of(*out), 257);

  const Buffer other = Buffer::fromCPU(std::vector<float>(kCount, 2));
  recording.set_memory(*recording.place_of(buffer_of(x)), other.data(), &other.memory());
  recording.replay();
  EXPECT_EQ(first_of(*out), 2 * 257);  // held at stop(): replays write it
}

TEST(Recording, LeavesOutWhatOnlyTheHostHasRead) {
  const LazyOp x = filled(1, kCount);
  Recording recording;
  const LazyOp out = (x + x).contiguous();
  {
    const LazyOp twice = (x + x + x).contiguous();
    realize(twice, on_interp());
    const LazyOp sum = (twice * twice).contiguous();
    realize(sum, on_interp());
    EXPECT_EQ(first_of(sum), 9);
  }
  realize(out, on_interp());
  recording.stop();
  EXPECT_EQ(recording.size(), 3U);
  EXPECT_EQ(recording.times(1).size(), 1U);

  const Buffer other = Buffer::fromCPU(std::vector<float>(kCount, 5));
  recording.set_memory(*recording.place_of(buffer_of(x)), other.data(), &other.memory());
  recording.replay();
  EXPECT_EQ(first_of(out), 10);
}

TEST(Recording, HeldResultsKeepTheirMemory) {
  const LazyOp x = filled(1, kCount);
  Recording recording;
  const LazyOp a = (x + x).contiguous(), b = (a + x).contiguous();
  realize(a, on_interp());
  realize(b, on_interp());
  recording.stop();
  EXPECT_EQ(recording.arena_bytes(), 0);
  recording.replay();
  EXPECT_EQ(first_of(a), 2);
  EXPECT_EQ(first_of(b), 3);
}

TEST(Recording, AnAddressThatIsUsedAgainIsAnotherPlace) {
  const LazyOp x = filled(1, kCount), y = filled(10, kCount);
  Recording recording;
  std::vector<LazyOp> sums;
  for (const LazyOp& start : {x, y}) {
    LazyOp dropped = (start + start).contiguous();
    realize(dropped, on_interp());
    sums.push_back((dropped + start).contiguous());
    realize(sums.back(), on_interp());
  }
  const LazyOp made = filled(100, kCount);  // perhaps where a dropped result was
  const LazyOp last = (made + x).contiguous();
  realize(last, on_interp());
  recording.stop();
  for (const LazyOp& n : {sums[0], sums[1], last}) std::ranges::fill(buffer_of(n).as<float>(), 0.0F);
  recording.replay();
  EXPECT_EQ(first_of(sums[0]), 3);
  EXPECT_EQ(first_of(sums[1]), 30);
  EXPECT_EQ(first_of(last), 101);
}

// --- in place ---

LazyOp loaded(int slot, std::int64_t size = 8) {
  return LazyOp::load(slot, dtypes::float32, ShapeTracker::from_shape({size}));
}
LazyOp stored(int slot, const LazyOp& value, std::int64_t size = 8) {
  return LazyOp::store(slot, ShapeTracker::from_shape({size}), value);
}

TEST(KernelInPlace, ReadsWhereItWrites) {
  const LazyOp w = loaded(1), g = loaded(2);
  const std::optional<LazyOp> ast = kernel_in_place(LazyOp::sink({stored(0, w - g * g)}), 0, 1);
  ASSERT_TRUE(ast);
  const LazyOp now = loaded(0), by = loaded(1);
  EXPECT_EQ(*ast, LazyOp::sink({stored(0, now - by * by)}));
}

TEST(KernelInPlace, TwoOutputsOneAfterTheOther) {
  const LazyOp w = loaded(2), m = loaded(3);
  const LazyOp both = LazyOp::sink({stored(0, w - m), stored(1, m + m)});
  const std::optional<LazyOp> one = kernel_in_place(both, 0, 2);
  ASSERT_TRUE(one);
  const std::optional<LazyOp> two = kernel_in_place(*one, 1, 2);
  ASSERT_TRUE(two);
  EXPECT_EQ(*two, LazyOp::sink({stored(0, loaded(0) - loaded(1)), stored(1, loaded(1) + loaded(1))}));
}

TEST(KernelInPlace, RefusesOtherElements) {
  const LazyOp w = loaded(1);
  const LazyOp total = LazyOp::reduce(Ops::SUM, w, {0}).expand({8});
  const LazyOp flipped = LazyOp::load(1, dtypes::float32, ShapeTracker::from_shape({8}).flip({0}));
  for (const LazyOp& value : {total, w - total, w + flipped, flipped, loaded(2)})
    if (const auto ast = kernel_in_place(LazyOp::sink({stored(0, value)}), 0, 1)) {
      EXPECT_THROW(compile(*ast, on_interp()), Error) << value.text();
    }
  EXPECT_FALSE(kernel_in_place(LazyOp::sink({stored(0, w + flipped)}), 0, 1));
}

/// (x in the box from `begin` of 2 elements ? v : x) of 8 elements, in place.
LazyOp written_in_box(const Int& begin, const LazyOp& v) {
  const Padding around = {{begin, Int(6) - begin}};
  const LazyOp is_there = LazyOp::constant(Scalar(true), ShapeTracker::from_shape({2}).pad(around));
  return LazyOp::sink({stored(0, LazyOp::alu(Ops::WHERE, {is_there, v, loaded(0)}))});
}

TEST(KernelInPlace, OfChangesAlone) {
  const Variable pos("pos", 0, 6);
  for (const Int& begin : {Int(3), Int(pos)}) {
    const Mask box = {{begin, begin + Int(2)}};
    const Padding around = {{begin, Int(6) - begin}};
    const ShapeTracker two = ShapeTracker::from_shape({2}), there = ShapeTracker::from_shape({8}).shrink(box);
    const LazyOp v =
        LazyOp::constant(Scalar(3.0F), two.pad(around)) + LazyOp::load(1, dtypes::float32, two.pad(around), 2);
    const LazyOp in_box = LazyOp::constant(Scalar(3.0F), two) + LazyOp::load(1, dtypes::float32, two, 2);
    EXPECT_EQ(kernel_of_changes(written_in_box(begin, v)), LazyOp::sink({LazyOp::store(0, there, in_box, 8)}));
  }
  EXPECT_FALSE(kernel_of_changes(LazyOp::sink({stored(0, loaded(0) + loaded(1))})));
  const LazyOp is_less = LazyOp::alu(Ops::CMPLT, {loaded(1), loaded(2)});
  const LazyOp choice = LazyOp::alu(Ops::WHERE, {is_less, loaded(2), loaded(0)});
  EXPECT_FALSE(kernel_of_changes(LazyOp::sink({stored(0, choice)})));
}

// --- what is kept ---

LazyOp summed(const LazyOp& x) { return LazyOp::reduce(Ops::SUM, x, {0}); }

TEST(KeptNodes, WhatOnlyTheRootsNeedIsNotKept) {
  const auto slot = std::make_shared<int>(0);
  const LazyOp w = filled(1, kCount).tracked(slot);
  std::optional<LazyOp> loss;
  const LazyNode* inner = nullptr;
  LazyOp root = [&] {
    const LazyOp a = (w + w).contiguous();
    inner = a.node();
    loss = summed(a * a);
    return summed(a).detached();
  }();
  const LazyOp held = *loss;
  realize(root, on_interp());
  EXPECT_TRUE(is_realized(*inner)) << "the loss reads it";

  const LazyOp alone = [&] {
    const LazyOp a = (w * w).contiguous();
    inner = a.node();
    return (summed(a) + summed(a * a)).detached();
  }();
  realize(alone, on_interp());
  EXPECT_FALSE(is_realized(*inner));
  EXPECT_EQ(first_of(alone), 2 * kCount);
}

TEST(KeptNodes, ResultsBelowATrackedRootAreKept) {
  const auto slot = std::make_shared<int>(0);
  const LazyOp w = filled(1, kCount).tracked(slot);
  const LazyNode* inner = nullptr;
  const LazyOp loss = [&] {
    const LazyOp a = (w + w).contiguous();
    inner = a.node();
    return summed(a * a);
  }();
  realize(loss, on_interp());
  EXPECT_TRUE(is_realized(*inner)) << "a gradient may need it";
}

TEST(KeptNodes, UnderAResultThatIsNoMemoryTheNextOnesAreKept) {
  const auto slot = std::make_shared<int>(0);
  const LazyOp w = filled(1, kCount).tracked(slot);
  const LazyNode* inner = nullptr;
  std::optional<LazyOp> scaled;  // a part of the kernel of the sum
  const LazyOp root = [&] {
    const LazyOp a = (w + w).contiguous();
    inner = a.node();
    scaled = a * a + a;
    return summed(*scaled).detached();
  }();
  realize(root, on_interp());
  EXPECT_FALSE(is_realized(*scaled->node()));
  EXPECT_TRUE(is_realized(*inner));
}

}  // namespace
}  // namespace strata::test
