// Statistics against loops and values that PyTorch gives.

#include <algorithm>
#include <map>

#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

using Longs = std::vector<std::int64_t>;

void expect_flat(const Tensor& x, const Place& shape, const std::vector<double>& expected, double tolerance = 1e-12) {
  const Array found(x);
  EXPECT_EQ(found.shape, shape);
  ASSERT_EQ(found.values.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k)
    EXPECT_TRUE(std::isnan(expected[k]) ? std::isnan(found.values[k])
                                        : std::abs(found.values[k] - expected[k]) <= tolerance)
        << found.values[k] << ", where " << expected[k] << " is expected, number " << k;
}

TEST(Statistics, ExtremesWithPlaces) {
  Tensor x = f64({1, 3, 3, 5, NAN, 5, -2, -2, 0}, {3, 3});
  const auto [most, at] = x.max_with_indices(1);
  expect_flat(most, {3}, {3, NAN, 0}), expect_flat(at, {3}, {1, 1, 2});
  const auto [least, where] = x.min_with_indices(0, true);
  expect_flat(least, {1, 3}, {-2, NAN, 0}), expect_flat(where, {1, 3}, {2, 1, 2});
  const auto [low, high] = x.narrow(0, 0, 1).aminmax();
  expect_flat(low, {}, {1}), expect_flat(high, {}, {3});
  expect_flat(x.aminmax(0, true).second, {1, 3}, {5, NAN, 5});
  const auto [one, place] = f64({4}, {}).max_with_indices(0);
  expect_flat(one, {}, {4}), expect_flat(place, {}, {0});
  EXPECT_EQ(bools({true, false}, {2}).min_with_indices(0).second.item<std::int64_t>(), 1);
  // of equal ones the gradient goes to the first; amax() shares it
  Tensor t = f64({1, 3, 3, 3}, {2, 2});
  t.requires_grad(true);
  expect_flat(gradients(t.max_with_indices(1).first.sum(), {&t, 1})[0], {2, 2}, {0, 1, 1, 0});
  expect_flat(gradients(t.amax(1).sum(), {&t, 1})[0], {2, 2}, {0, 1, 0.5, 0.5});
  expect_flat(gradients(t.max(), {&t, 1})[0], {2, 2}, {0, 1.0 / 3, 1.0 / 3, 1.0 / 3});
  expect_error([] { f64({}, {0}).max_with_indices(0); }, "of nothing");
}

TEST(Statistics, SumsWithoutNaNs) {
  const Tensor x = f64({1, NAN, 3, NAN, NAN, NAN}, {2, 3});
  expect_flat(x.nansum(), {}, {4}), expect_flat(x.nansum(1, true), {2, 1}, {4, 0});
  expect_flat(x.nanmean(1), {2}, {2, NAN}), expect_flat(x.nanmean(0), {3}, {1, NAN, 3});
  EXPECT_EQ(i64({1, 2}).nansum().item<std::int64_t>(), 3);
  const auto [variance, mean] = f64({1, 2, 4, 9}, {2, 2}).var_mean(1, 0);
  expect_flat(variance, {2}, {0.25, 6.25}), expect_flat(mean, {2}, {1.5, 6.5});
  expect_flat(f64({1, 2, 4, 9}, {2, 2}).std_mean(1, 0, true).first, {2, 1}, {0.5, 2.5});
  expect_gradient([](const Tensor& t) { return t.nanmean(0); }, {1, 2, 3, 4}, {2, 2});
}

TEST(Statistics, NormsOfDifferences) {
  const Tensor a = f64({3, 0}, {2}), b = f64({0, 4}, {2});
  expect_flat(a.dist(b), {}, {5}), expect_flat(a.dist(b, 1), {}, {7}), expect_flat(a.dist(b, 0), {}, {2});
  const Tensor x = f64({3, 4, 0.3, 0.4}, {2, 2});
  expect_flat(x.renorm(2, 0, 1), {2, 2}, {0.6, 0.8, 0.3, 0.4}, 1e-6);
  expect_flat(x.renorm(1, -1, 1), {2, 2}, {3 / 3.3, 4 / 4.4, 0.3 / 3.3, 0.4 / 4.4}, 1e-6);
  expect_gradients([](const Many& xs) { return xs[0].renorm(2, 0, 0.5); }, {{2, 3}});
  expect_gradients([](const Many& xs) { return xs[0].dist(xs[1], 3); }, {{2, 2}, {2}});
  // no slope where there is nothing
  Tensor zero = f64({0, 0}, {2});
  zero.requires_grad(true);
  for (const double p : {0.5, 1.0, 1.5, 2.0, 3.0}) expect_flat(gradients(zero.norm(p), {&zero, 1})[0], {2}, {0, 0});
  expect_gradients([](const Many& xs) { return xs[0].cdist(xs[1]) + xs[0].cdist(xs[1], 1.5); }, {{2, 3}, {2, 3}});
  expect_flat(counted({2, 3, 2}).sum_to_size({3, 1}), {3, 1}, {14, 22, 30});
  expect_flat(counted({2, 2}).sum_to_size({2, 2}), {2, 2}, {0, 1, 2, 3});
  expect_error([] { counted({2, 3}).sum_to_size({2, 2}); }, "does not sum up to");
  expect_error([] { counted({2}).renorm(2, 0, 1); }, "[renorm] the tensor has shape (2,)");
}

TEST(Statistics, Counts) {
  EXPECT_EQ(i64({1, 3, 1, 0}).bincount().to_vector<std::int64_t>(), (Longs{1, 2, 0, 1}));
  EXPECT_EQ(i64({1}).bincount({}, 4).to_vector<std::int64_t>(), (Longs{0, 1, 0, 0}));
  EXPECT_EQ(i64({}).bincount({}, 2).to_vector<std::int64_t>(), (Longs{0, 0}));
  const Tensor sums = i64({1, 3, 1}).bincount(f32({0.5, 2, 0.25}));
  EXPECT_EQ(sums.dtype(), dtypes::float32);
  expect_flat(sums, {4}, {0, 0.75, 0, 2});
  EXPECT_EQ(i64({1}).bincount(i64({7})).dtype(), dtypes::float64);
  expect_error([] { i64({-1}).bincount(); }, "[bincount] the element -1 is below 0");
  expect_error([] { f32({1}).bincount(); }, "integers of one dimension");

  const Tensor x = f64({1, 2, 1, 0, 4, NAN, -1}, {7});
  expect_flat(f64({1, 2, 1}, {3}).histc(4, 0, 3), {4}, {0, 2, 1, 0});
  expect_flat(x.histc(2, 0, 4), {2}, {3, 2});
  expect_flat(f64({1, 2, 4, 2}, {4}).histc(3), {3}, {1, 2, 1});
  expect_flat(f64({2, 2}, {2}).histc(2), {2}, {0, 2});
  expect_flat(f64({1, NAN, 3, INFINITY}, {4}).histc(4, 0, 4), {4}, {0, 1, 0, 1});
  for (const double wrong : {static_cast<double>(NAN), static_cast<double>(INFINITY)})
    for (const double count : f64({1, wrong, 3}, {3}).histc(4).to_vector<double>()) EXPECT_TRUE(std::isnan(count));
  expect_error([&] { x.histc(0); }, "[histc] 0 bins");
  expect_error([&] { x.histc(2, 3, 1); }, "[histc] from 3");
}

TEST(Statistics, Covariances) {
  const Array a({3, 5}, 3);
  const auto covariance = [&](std::int64_t i, std::int64_t j) {
    double mean_i = 0, mean_j = 0, sum = 0;
    for (std::int64_t k = 0; k < 5; ++k) mean_i += a.at({i, k}) / 5, mean_j += a.at({j, k}) / 5;
    for (std::int64_t k = 0; k < 5; ++k) sum += (a.at({i, k}) - mean_i) * (a.at({j, k}) - mean_j);
    return sum / 4;
  };
  expect_near(a.tensor().cov(), {3, 3}, [&](const Place& p) { return covariance(p[0], p[1]); });
  expect_near(a.tensor().corrcoef(), {3, 3}, [&](const Place& p) {
    return covariance(p[0], p[1]) / std::sqrt(covariance(p[0], p[0]) * covariance(p[1], p[1]));
  });
  expect_flat(f64({1, 3}, {2}).cov(), {}, {2}), expect_flat(f64({1, 3}, {2}).cov(0), {}, {1});
  expect_flat(f64({1, 3}, {2}).corrcoef(), {}, {1});
  expect_gradients([](const Many& xs) { return xs[0].cov(0); }, {{2, 3}});
  expect_error([] { counted({1, 1, 1}).cov(); }, "[cov] the tensor has shape");
}

TEST(Statistics, Quantiles) {
  const Tensor x = f64({3, 1, 4, 1, 5, 9, 2, 6, 5, 3}, {2, 5}), q = f64({0, 0.25, 0.5, 1}, {4});
  expect_flat(x.quantile(0.5), {}, {3.5});
  expect_flat(x.quantile(q), {4}, {1, 2.25, 3.5, 9});
  expect_flat(x.quantile(q, 1), {4, 2}, {1, 2, 1, 3, 3, 5, 5, 9});
  expect_flat(x.quantile(q, 1, true), {4, 2, 1}, {1, 2, 1, 3, 3, 5, 5, 9});
  expect_flat(x.quantile(0.3, -2), {5}, {4.8, 1.3, 4.6, 2.2, 3.6}, 1e-9);
  expect_flat(x.quantile(0.3, {}, true), {1, 1}, {2.7}, 1e-9);
  using enum Tensor::Between;
  expect_flat(x.quantile(0.3, {}, false, lower), {}, {2}), expect_flat(x.quantile(0.3, {}, false, higher), {}, {3});
  expect_flat(x.quantile(0.3, {}, false, midpoint), {}, {2.5});
  expect_flat(x.quantile(0.3, {}, false, nearest), {}, {3});
  const Tensor y = f64({3, NAN, 1, NAN, NAN, NAN}, {2, 3});
  expect_flat(y.quantile(0.5, 1), {2}, {NAN, NAN}), expect_flat(y.nanquantile(0.5, 1), {2}, {2, NAN});
  expect_flat(y.nanquantile(f64({0, 1, 2}, {3}), 1), {3, 2}, {1, NAN, 3, NAN, NAN, NAN});
  expect_gradients([&](const Many& xs) { return xs[0].quantile(f64({0.3, 0.9}, {2}), 1); }, {{2, 4}});
  expect_error([&] { x.quantile(1.5); }, "[quantile] the share q is 1.5");
  expect_error([&] { i64({1}).quantile(0.5); }, "cast it to a float");
  expect_error([&] { x.quantile(f32({0.5})); }, "[quantile] the shares q have dtype f32");
}

TEST(Statistics, MediansAndModes) {
  const Tensor x = f64({3, NAN, 1, 2, NAN, NAN, NAN, NAN}, {2, 4});
  const auto [value, at] = x.nanmedian(1);
  expect_flat(value, {2}, {2, NAN}), expect_flat(at.narrow(0, 0, 1), {1}, {3});
  expect_flat(x.nanmedian(), {}, {2}), expect_flat(x.nanmedian(1, true).first, {2, 1}, {2, NAN});
  EXPECT_EQ(i64({4, 1, 3, 2}).nanmedian().item<std::int64_t>(), 2);
  const Tensor y = i64({6, 5, 6, 5, 1, 2, 2, 0, 0, 3}, {2, 5});
  const auto [most, last] = y.mode(1);
  expect_flat(most, {2}, {5, 0}), expect_flat(last, {2}, {3, 3});
  expect_flat(y.mode(0, true).first, {1, 5}, {2, 2, 0, 0, 1});
  expect_flat(bools({true, false, true}, {3}).mode().first, {}, {1});
  expect_gradients([](const Many& xs) { return xs[0].mode(0).first; }, {{3, 2}});
  expect_gradients([](const Many& xs) { return xs[0].nanmedian(0).first; }, {{3, 2}});
  expect_flat(f64({2, 1, 0, 3}, {2, 2}).msort(), {2, 2}, {0, 1, 2, 3});
}

TEST(Statistics, DifferentElements) {
  const Tensor x = i64({3, 1, 3, 2, 1, 3}, {2, 3});
  const Tensor::Unique u = x.unique();
  EXPECT_EQ(u.values.to_vector<std::int64_t>(), (Longs{1, 2, 3}));
  EXPECT_EQ(u.counts.to_vector<std::int64_t>(), (Longs{2, 1, 3}));
  expect_flat(u.inverse, {2, 3}, {2, 0, 2, 1, 0, 2});
  expect_flat(u.values.take(u.inverse), {2, 3}, {3, 1, 3, 2, 1, 3});
  const Tensor::Unique c = i64({1, 1, 2, 2, 3, 1, 1}).unique_consecutive();
  EXPECT_EQ(c.values.to_vector<std::int64_t>(), (Longs{1, 2, 3, 1}));
  EXPECT_EQ(c.counts.to_vector<std::int64_t>(), (Longs{2, 2, 1, 2}));
  EXPECT_EQ(c.inverse.to_vector<std::int64_t>(), (Longs{0, 0, 1, 1, 2, 3, 3}));
  expect_flat(f64({NAN, 1, NAN, -0.0, 0}, {5}).unique().values, {4}, {0, 1, NAN, NAN});
  EXPECT_EQ(i64({}).unique().values.to_vector<std::int64_t>(), Longs{});
  EXPECT_EQ(i64({5}, {}).unique().counts.to_vector<std::int64_t>(), Longs{1});
  expect_flat(bools({true, false, true}, {3}).unique().values, {2}, {0, 1});
}

TEST(Statistics, DifferentSlices) {
  const Tensor rows = i64({2, 1, 0, 5, 2, 1, 0, 4, 2, 1}, {5, 2});
  const Tensor::Unique u = rows.unique(0);
  expect_flat(u.values, {3, 2}, {0, 4, 0, 5, 2, 1});
  EXPECT_EQ(u.inverse.to_vector<std::int64_t>(), (Longs{2, 1, 2, 0, 2}));
  EXPECT_EQ(u.counts.to_vector<std::int64_t>(), (Longs{1, 1, 3}));
  expect_flat(rows.t().unique(1).values, {2, 3}, {0, 0, 2, 4, 5, 1});
  const Tensor::Unique c = i64({1, 1, 1, 1, 2, 1, 1, 1}, {4, 2}).unique_consecutive(0);
  expect_flat(c.values, {3, 2}, {1, 1, 2, 1, 1, 1});
  EXPECT_EQ(c.counts.to_vector<std::int64_t>(), (Longs{2, 1, 1}));
  // against a map, of more elements
  std::map<std::vector<double>, std::int64_t> counts;
  const Array a({40, 2}, 5, 0, 3);
  const Tensor whole = a.tensor().floor();
  const Array values(whole);
  for (std::int64_t k = 0; k < 40; ++k) ++counts[{values.at({k, 0}), values.at({k, 1})}];
  const Tensor::Unique many = whole.unique(0);
  const Array found(many.values);
  ASSERT_EQ(found.shape[0], std::ssize(counts));
  std::int64_t row = 0;
  const Longs times = many.counts.to_vector<std::int64_t>();
  for (const auto& [key, count] : counts) {
    EXPECT_EQ(found.at({row, 0}), key[0]);
    EXPECT_EQ(found.at({row, 1}), key[1]);
    EXPECT_EQ(times[static_cast<std::size_t>(row)], count);
    ++row;
  }
  EXPECT_TRUE(many.values.index_select(0, many.inverse).equal(whole));
}

TEST(Statistics, Differences) {
  const Tensor x = f64({1, 4, 9, 16, 25, 36}, {2, 3});
  expect_flat(x.diff(), {2, 2}, {3, 5, 9, 11}), expect_flat(x.diff(2), {2, 1}, {2, 2});
  expect_flat(x.diff(1, 0), {1, 3}, {15, 21, 27}), expect_flat(x.diff(0), {2, 3}, {1, 4, 9, 16, 25, 36});
  expect_flat(x.diff(9), {2, 0}, {});
  expect_flat(x.diff(1, 1, f64({0, 0}, {2, 1}), f64({1, 1}, {2, 1})), {2, 4}, {1, 3, 5, -8, 16, 9, 11, -35});
  expect_flat(bools({true, false, false}, {3}).diff(), {2}, {1, 0});
  expect_flat(x.trapezoid(), {2}, {9, 51}), expect_flat(x.trapezoid(2, 0), {3}, {17, 29, 45});
  expect_flat(x.trapezoid(f64({0, 1, 3}, {3})), {2}, {2.5 + 13, 20.5 + 61});
  expect_flat(x.trapezoid(f64({0, 1, 3, 0, 1, 1}, {2, 3})), {2}, {15.5, 20.5});
  expect_flat(x.cumulative_trapezoid(), {2, 2}, {2.5, 9, 20.5, 51});
  expect_gradients([](const Many& xs) { return xs[0].cumulative_trapezoid(xs[1]); }, {{2, 3}, {3}});
  expect_error([&] { x.trapezoid(f64({0, 1}, {2})); }, "[trapezoid] values of shape");
}

}  // namespace
}  // namespace strata::test
