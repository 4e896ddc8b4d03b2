// streaming(): outputs of blocks, joined, beside the function of the whole signal; rings; refusals.

#include "strata/tensor/streaming.h"

#include "strata/tensor/functional.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

constexpr std::int64_t kLength = 30;

Tensor signal() { return f64(spread(2 * kLength, -1, 1, 1), {1, 2, kLength}); }

/// The outputs of blocks of these sizes, joined along the last axis.
Tensor in_blocks(Stream& stream, const Tensor& x, const std::vector<std::int64_t>& sizes) {
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(stream(x.narrow(2, begin, size)));
    begin += size;
  }
  return Tensor::cat(parts, stream.axis());
}

/// Two causal convolutions, the second of which is dilated and takes every other position.
Tensor two_convolutions(const Tensor& x) {
  static const Tensor first = f64(spread(18, -1, 1, 2), {3, 2, 3}), second = f64(spread(6, -1, 1, 3), {1, 3, 2});
  const Tensor y = conv1d(x, first, {}, {.padding = {{2, 0}}}).tanh();
  return conv1d(y, second, {}, {.stride = 2, .padding = {{4, 0}}, .dilation = 4});
}

TEST(Streaming, BlocksOfAnySizesAreTheWhole) {
  Stream stream = streaming(two_convolutions, signal(), 2);
  const Tensor whole = two_convolutions(signal());
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{30}, {1, 2, 0, 3, 5, 7, 11, 1}, std::vector<std::int64_t>(30, 1), {10, 10, 10}}) {
    stream.reset();
    const Tensor joined = in_blocks(stream, signal(), sizes);
    ASSERT_EQ(joined.shape(), whole.shape());
    EXPECT_TRUE(joined.allclose(whole, 1e-12, 1e-12)) << ::testing::PrintToString(sizes);
  }
  EXPECT_EQ(stream.period(), 2);
}

TEST(Streaming, RingsAreWhatIsReadAgain) {
  const std::vector<StreamRing> rings = streaming(two_convolutions, signal(), 2).rings();
  ASSERT_EQ(rings.size(), 2U);
  EXPECT_EQ(rings[0].name, "x");
  EXPECT_EQ(rings[0].most, 2);
  EXPECT_EQ(rings[0].shape, Ints({1, 2, 2}));
  EXPECT_EQ(rings[0].bytes, 32);
  EXPECT_EQ(rings[1].most, 4);  // one less where the next output is due a position later
  EXPECT_EQ(rings[1].least, 3);
  const auto of_one = [](const Tensor& x) { return x * 2 + 1; };
  EXPECT_TRUE(streaming(of_one, signal(), 2).rings().empty());
}

TEST(Streaming, RunningTotalsGoOn) {
  const auto f = [](const Tensor& x) {
    return x.cumsum(2) + x.linear_recurrence(0.5, 2) * x.cummax(2).first.cumprod(1);
  };
  Stream stream = streaming(f, signal(), 2);
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{30}, {1, 2, 0, 3, 5, 7, 11, 1}, std::vector<std::int64_t>(30, 1)}) {
    stream.reset();
    EXPECT_TRUE(in_blocks(stream, signal(), sizes).allclose(f(signal()), 1e-12, 1e-12));
  }
  std::int64_t bytes = 0;
  for (const StreamRing& ring : stream.rings()) bytes += ring.bytes;
  EXPECT_EQ(bytes, (7 + 1 + 1) * 2 * 8 + 4);  // of two channels; and the place
}

TEST(Streaming, WhatLooksAheadIsRefused) {
  const Tensor w = f64(spread(6, -1, 1), {1, 2, 3});
  expect_error([&] { streaming([&](const Tensor& x) { return conv1d(x, w, {}, {.padding = 1}); }, signal(), 2); },
               "looks ahead: position 29 of the result reads position 30 of x");
  expect_error([&] { streaming([](const Tensor& x) { return x.softmax(2); }, signal(), 2); },
               "reduces the whole axis of positions");
  expect_error([&] { streaming([](const Tensor& x) { return x.flip({2}); }, signal(), 2); },
               "reads the positions backwards: position 0 of it reads position 29 of x");
  expect_error([&] { streaming([](const Tensor& x) { return x.flip({2}).cumsum(2); }, signal(), 2); },
               "reads the positions backwards: position 0 of it reads position 29 of x");
  expect_error([&] { streaming([](const Tensor& x) { return x.repeat_interleave(2, 2); }, signal(), 2); },
               "[streaming]");
  expect_error([&] { streaming(two_convolutions, signal(), 3); }, "[streaming]");
  Stream stream = streaming(two_convolutions, signal(), 2);
  expect_error([&] { stream(f64(spread(3, -1, 1), {1, 1, 3})); }, "a block of shape (1, 1, 3)");
}

}  // namespace
}  // namespace strata::test
