// Layers that are matrix products, attention and similarities, against loops.

#include <limits>

#include "strata/tensor/functional.h"
#include "tests/dtype/special_values.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

/// Of (heads, length, size); `mask` is added to scores.
double attended(const Array& q, const Array& k, const Array& v, const Place& at, double scale,
                const std::function<double(std::int64_t, std::int64_t)>& mask) {
  const std::int64_t head = at[0] * k.shape[0] / q.shape[0];
  double sum = 0, total = 0;
  for (std::int64_t s = 0; s < k.shape[1]; ++s) {
    double score = 0;
    for (std::int64_t e = 0; e < q.shape[2]; ++e) score += q.at({at[0], at[1], e}) * k.at({head, s, e});
    const double weight = std::exp(score * scale + mask(at[1], s));
    sum += weight * v.at({head, s, at[2]}), total += weight;
  }
  return total == 0 ? 0 : sum / total;
}

TEST(Attention, IsAWeightedSumOfValues) {
  const Array q({2, 3, 4}, 1), k({2, 5, 4}, 2), v({2, 5, 3}, 3), m({3, 5}, 4);
  const Tensor a = q.tensor(), b = k.tensor(), c = v.tensor();
  const auto expect = [&](const AttentionOptions& o, double scale,
                          const std::function<double(std::int64_t, std::int64_t)>& mask) {
    expect_near(scaled_dot_product_attention(a, b, c, o), {2, 3, 3},
                [&](const Place& p) { return attended(q, k, v, p, scale, mask); });
  };
  expect({}, 0.5, [](auto, auto) { return 0.0; });
  expect({.scale = 2}, 2, [](auto, auto) { return 0.0; });
  expect({.causal = true}, 0.5, [](auto row, auto column) { return column <= row ? 0 : -kInf; });
  expect({.mask = m.tensor()}, 0.5, [&](auto row, auto column) { return m.at({row, column}); });
  // A row that may look nowhere gives zeros.
  expect({.mask = m.tensor().gt(0) & counted({3, 1}).ne(1)}, 0.5,
         [&](auto row, auto column) { return m.at({row, column}) > 0 && row != 1 ? 0 : -kInf; });
}

/// With the flag BLOCKS forced on, and off.
template <class F>
void in_both_ways(const F& attend) {
  const auto values = [&](std::int64_t blocks) {
    const ScopedFlag flag(flags::BLOCKS, blocks);
    return attend().cast(dtypes::float32).template to_vector<float>();
  };
  const std::vector<float> apart = values(0), blocks = values(2);
  ASSERT_EQ(apart.size(), blocks.size());
  for (std::size_t k = 0; k < apart.size(); ++k) {
    if (std::isnan(apart[k]) || std::isinf(apart[k]))
      EXPECT_TRUE(std::isnan(apart[k]) ? std::isnan(blocks[k]) : apart[k] == blocks[k])
          << k << ": " << apart[k] << ", in blocks " << blocks[k];
    else
      EXPECT_NEAR(apart[k], blocks[k], 1e-5 * (1 + std::fabs(apart[k]))) << k;
  }
}

TEST(Attention, IsTheSameInBlocks) {
  const Array q({4, 37, 8}, 1), k({4, 21, 8}, 2), v({4, 21, 5}, 3), few({2, 21, 8}, 4), few_v({2, 21, 5}, 5);
  const Tensor a = q.tensor(), b = k.tensor(), c = v.tensor();
  const Tensor nothing = counted({37, 1}).ne(5) & counted({1, 21}).lt(30);  // row 5 may look nowhere
  in_both_ways([&] { return scaled_dot_product_attention(a, b, c); });
  in_both_ways([&] { return scaled_dot_product_attention(a, b, c, {.causal = true}); });
  in_both_ways([&] { return scaled_dot_product_attention(a, b, c, {.mask = nothing}); });
  in_both_ways([&] { return scaled_dot_product_attention(a, few.tensor(), few_v.tensor(), {.enable_gqa = true}); });
  in_both_ways([&] { return a.matmul(b.transpose(-2, -1)).softmax(-1).matmul(c); });
  in_both_ways([&] {
    const Tensor scores = Tensor::einsum("hqd,hkd->hqk", std::vector<Tensor>{a, b});
    return Tensor::einsum("hqk,hkd->hqd", std::vector<Tensor>{scores.softmax(-1), c});
  });
}

TEST(Attention, OfSpecialValuesIsTheSameInBlocks) {
  for (const float special :
       {static_cast<float>(kNaN), static_cast<float>(kInf), -static_cast<float>(kInf), 3e38F, -3e38F}) {
    std::vector<float> scores(48, 1.0F), values(24, 2.0F);
    scores[9] = special, scores[27] = special;
    for (std::size_t j = 40; j < 48; ++j) scores[j] = special;  // a whole row
    const Tensor s = Tensor::from(scores, {6, 8}), v = Tensor::from(values, {8, 3});
    in_both_ways([&] { return (s * 1).softmax(-1).matmul(v); });
    // Sums of the weights times large values do not overflow where the values do not.
    values[4] = special, values[7] = 3e38F;
    const Tensor equal = Tensor::from(std::vector<float>(48, 0.5F), {6, 8});
    const Tensor wild = Tensor::from(values, {8, 3});
    in_both_ways([&] { return (equal + 0.5).softmax(-1).matmul(wild); });
  }
}

TEST(Attention, DropsWeightsByChance) {
  constexpr std::int64_t n = 32;
  const Tensor same = Tensor::zeros({1, n, 4});
  const std::vector<float> weights =
      scaled_dot_product_attention(same, same, Tensor::eye(n).unsqueeze(0), {.dropout = 0.5}).to_vector<float>();
  std::size_t dropped = 0;
  for (const float w : weights) {
    EXPECT_TRUE(w == 0 || std::fabs(w - 2.0F / n) < 1e-6F) << w;
    dropped += w == 0 ? 1 : 0;
  }
  EXPECT_GT(dropped, weights.size() / 3);
  EXPECT_LT(dropped, weights.size() * 2 / 3);
  expect_error([&] { scaled_dot_product_attention(same, same, same, {.dropout = -0.5}); }, "[dropout]");
}

TEST(Attention, SeveralQueriesOfAKey) {
  const Array q({4, 3, 2}, 1), k({2, 3, 2}, 2), v({2, 3, 2}, 3);
  expect_near(scaled_dot_product_attention(q.tensor(), k.tensor(), v.tensor(), {.scale = 1, .enable_gqa = true}),
              {4, 3, 2}, [&](const Place& p) { return attended(q, k, v, p, 1, [](auto, auto) { return 0.0; }); });
  expect_error([&] { scaled_dot_product_attention(q.tensor(), k.tensor(), v.tensor()); }, "do not broadcast");
  expect_error([&] { scaled_dot_product_attention(counted({3, 2, 2}), k.tensor(), v.tensor(), {.enable_gqa = true}); },
               "3 query heads are not a multiple of 2");
  expect_error([&] { scaled_dot_product_attention(q.tensor(), counted({4, 3, 3}), v.tensor()); },
               "[scaled_dot_product_attention] shapes");
  expect_error(
      [&] {
        scaled_dot_product_attention(q.tensor(), q.tensor(), q.tensor(), {.mask = counted({3, 3}), .causal = true});
      },
      "a mask is given and causal is set");
}

TEST(Layers, LinearAndEmbedding) {
  const Tensor x = counted({2, 3}), w = counted({2, 3}), b = f64({10, 20}, {2});
  expect_values(linear(x, w), {2, 2}, {5, 14, 14, 50});
  expect_values(linear(x, w, b), {2, 2}, {15, 34, 24, 70});
  expect_values(linear(counted({3}), w, b), {2}, {15, 34});
  EXPECT_EQ(linear(counted({2, 4, 3}), w).shape(), Ints({2, 4, 2}));
  expect_values(linear(x, counted({3})), {2}, {5, 14});
  expect_values(embedding(i64({2, 0}), counted({3, 2})), {2, 2}, {4, 5, 0, 1});
  EXPECT_EQ(embedding(i64({2, 0, 1, 1}, {2, 2}), counted({3, 2})).shape(), Ints({2, 2, 2}));
  EXPECT_EQ(embedding(i64({1}, {}), counted({3, 2})).shape(), Ints({2}));
  // Rows that are not asked for do not matter.
  expect_values(embedding(i64({1}), f64({NAN, 2, kInf}, {3, 1})), {1, 1}, {2});
  expect_error([&] { linear(x, counted({2, 2})); },
               "[linear] an input of shape (2, 3) does not match a weight of shape (2, 2)");
  expect_error([&] { embedding(x, counted({3, 2})); }, "[embedding] the indices have dtype f64");
  expect_error([&] { embedding(i64({1}), counted({3})); }, "[embedding] the weight has shape (3,)");
}

TEST(Layers, HalvesAndSimilarities) {
  const Array x({2, 4}, 1), y({2, 4}, 2);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  expect_near(glu(x.tensor()), {2, 2}, [&](const Place& p) { return x.at(p) * sigmoid(x.at({p[0], p[1] + 2})); });
  expect_near(glu(x.tensor(), 0), {1, 4}, [&](const Place& p) { return x.at(p) * sigmoid(x.at({1, p[1]})); });
  expect_error([] { glu(counted({3})); }, "[glu] axis -1 of shape (3,) has an odd size");
  expect_near(softmin(x.tensor(), 1), {2, 4}, [&](const Place& p) {
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) sum += std::exp(-x.at({p[0], k}));
    return std::exp(-x.at(p)) / sum;
  });
  const auto dot = [](const Array& a, const Array& b, std::int64_t n) {
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) sum += a.at({n, k}) * b.at({n, k});
    return sum;
  };
  expect_near(cosine_similarity(x.tensor(), y.tensor()), {2},
              [&](const Place& p) { return dot(x, y, p[0]) / std::sqrt(dot(x, x, p[0]) * dot(y, y, p[0])); });
  expect_values(cosine_similarity(f64({0, 0}, {1, 2}), f64({1, 1}, {1, 2})), {1}, {0});
  expect_near(pairwise_distance(x.tensor(), y.tensor(), 1, 0), {2}, [&](const Place& p) {
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) sum += std::abs(x.at({p[0], k}) - y.at({p[0], k}));
    return sum;
  });
  EXPECT_EQ(pairwise_distance(x.tensor(), y.tensor(), 2, 1e-6, true).shape(), Ints({2, 1}));
}

TEST(Attention, Gradients) {
  expect_gradients([](const Many& x) { return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true}); },
                   {{2, 2}, {2, 2}, {2, 2}});
  expect_gradients([](const Many& x) { return scaled_dot_product_attention(x[0], x[1], x[2], {.mask = x[3]}); },
                   {{2, 2}, {3, 2}, {3, 2}, {2, 3}});
  const Tensor nowhere = bools({true, true, false, false}, {2, 2});
  expect_gradients([&](const Many& x) { return scaled_dot_product_attention(x[0], x[1], x[2], {.mask = nowhere}); },
                   {{2, 2}, {2, 2}, {2, 2}});
  expect_gradients([](const Many& x) { return scaled_dot_product_attention(x[0], x[1], x[2], {.enable_gqa = true}); },
                   {{2, 2, 2}, {1, 2, 2}, {1, 2, 2}});
  expect_gradients([](const Many& x) { return linear(x[0], x[1], x[2]); }, {{2, 3}, {2, 3}, {2}});
  expect_gradients([](const Many& x) { return embedding(i64({1, 0, 1}), x[0]); }, {{3, 2}});
  expect_gradients([](const Many& x) { return glu(x[0]); }, {{2, 4}});
  expect_gradients([](const Many& x) { return cosine_similarity(x[0], x[1]); }, {{2, 3}, {2, 3}});
  expect_gradients([](const Many& x) { return pairwise_distance(x[0], x[1]); }, {{2, 3}, {2, 3}});
  expect_gradients([](const Many& x) { return softmin(x[0]); }, {{2, 3}});
}

}  // namespace
}  // namespace strata::test
