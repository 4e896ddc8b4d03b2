// How many kernels functions are: what they are written as is what the scheduler has to see through.

#include <gtest/gtest.h>

#include <algorithm>

#include "strata/tensor/functional.h"

namespace strata::test {
namespace {

/// Memory: nothing about it is left to compute.
Tensor memory(const Ints& shape) { return Tensor::empty(shape); }

std::ptrdiff_t kernels(const Tensor& x) {
  const std::string lines = x.explain();
  return std::count(lines.begin(), lines.end(), '\n');
}

TEST(KernelsOf, Reductions) {
  const Tensor x = memory({8, 32});
  EXPECT_EQ(kernels(x.softmax(1)), 1) << x.softmax(1).explain();
  EXPECT_EQ(kernels(x.log_softmax(1)), 1);
  EXPECT_EQ(kernels(x.logsumexp(1)), 1);
  EXPECT_EQ(kernels(x.var(1)), 1);
  EXPECT_EQ(kernels(x.std(1)), 1);
  EXPECT_EQ(kernels(x.argmax(1)), 1);
  EXPECT_EQ(kernels(x.argmin(0)), 1);
  EXPECT_EQ(kernels(x.cumsum(1)), 1);
}

TEST(KernelsOf, Normalization) {
  const Tensor x = memory({8, 32}), w = memory({32}), b = memory({32});
  EXPECT_EQ(kernels(layer_norm(x, {32}, w, b)), 1);
  EXPECT_EQ(kernels(rms_norm(x, {32}, w)), 1);
  EXPECT_EQ(kernels(normalize(x)), 1);
  const Tensor image = memory({2, 4, 6, 6}), channels = memory({4});
  EXPECT_EQ(kernels(group_norm(image, 2, channels, channels)), 1);
  EXPECT_EQ(kernels(group_norm(image, 2, channels, channels).silu()), 1);
  EXPECT_LE(kernels(batch_norm(image, {}, {}, channels, channels, {.training = true}).relu()), 2);
  EXPECT_EQ(kernels(instance_norm(image, channels, channels)), 1);
  EXPECT_EQ(kernels(batch_norm(image, channels, channels, channels, channels)), 1);
}

TEST(KernelsOf, WhatIsExpensiveInSeveralLoops) {
  const Tensor x = memory({8, 32}), w = memory({32, 16}), b = memory({16});
  EXPECT_EQ(kernels(x.sin().exp().tanh().softmax(1)), 2);
  EXPECT_EQ(kernels(layer_norm(x.gelu(), {32}, {}, {})), 2);
  EXPECT_EQ(kernels((x.matmul(w) + b).gelu().softmax(1)), 2);
  EXPECT_EQ(kernels((x + x * 2).softmax(1)), 1);
}

TEST(KernelsOf, Products) {
  const Tensor x = memory({8, 32}), w = memory({16, 32}), b = memory({16});
  EXPECT_EQ(kernels(linear(x, w, b).relu()), 1);
  EXPECT_EQ(kernels(x.matmul(w.t())), 1);
  EXPECT_EQ(kernels(Tensor::einsum("ij,kj->ki", std::vector{x, w})), 1);
}

TEST(KernelsOf, Convolutions) {
  const Tensor x = memory({2, 4, 9, 9}), w = memory({6, 4, 3, 3}), b = memory({6});
  EXPECT_EQ(kernels(conv2d(x, w, b).relu()), 1);
  EXPECT_EQ(kernels(conv2d(x, w, b, {.stride = 2, .padding = 1}).relu()), 1);
  EXPECT_EQ(kernels(conv2d(x, memory({6, 2, 3, 3}), b, {.padding = "same", .dilation = 2, .groups = 2}).gelu()), 1);
  // A product, and what puts its windows back.
  // Four phases, and a kernel that interleaves them.
  EXPECT_EQ(kernels(conv_transpose2d(x, memory({4, 6, 3, 3}), b, {.stride = 2}).relu()), 5);
  // A residual block's two convolutions: one is memory, the other one's kernel adds it.
  const Tensor wide = memory({2, 32, 8, 8}), taps = memory({32, 32, 3, 3}), ones = memory({32, 32, 1, 1});
  EXPECT_EQ(kernels((conv2d(wide, taps, {}, {.padding = 1}) + conv2d(wide, ones)).relu()), 2);
  EXPECT_EQ(kernels(max_pool2d(x, 3, {.stride = 2, .padding = 1})), 1);
  EXPECT_EQ(kernels(avg_pool2d(x, 3)), 1);
  EXPECT_EQ(kernels(adaptive_avg_pool2d(x, 3)), 1);
}

TEST(KernelsOf, Attention) {
  const Tensor q = memory({2, 4, 16, 8}), k = memory({2, 4, 16, 8}), v = memory({2, 4, 16, 8});
  for (const bool causal : {false, true}) {
    const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = causal});
    EXPECT_LE(kernels(y), 3) << y.explain();
  }
}

}  // namespace
}  // namespace strata::test
