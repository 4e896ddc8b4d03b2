#include <algorithm>
#include <limits>

#include "strata/ops/indexed.h"
#include "strata/tensor/functional.h"
#include "tests/dtype/special_values.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

TEST(Gather, AlongAnAxis) {
  const Tensor x = counted({3, 4});
  const Place places = {2, 0, -1, 1, 1, 0};
  const Tensor i = i64(places, {2, 3});
  const auto at = [&](const Place& p) { return places[static_cast<std::size_t>(p[0] * 3 + p[1])]; };
  expect_elements(x.gather(0, i), {2, 3}, [&](const Place& p) { return floor_mod(at(p), 3) * 4 + p[1]; });
  expect_elements(x.gather(1, i), {2, 3}, [&](const Place& p) { return p[0] * 4 + floor_mod(at(p), 4); });
  expect_values(counted({4}).gather(0, i64({9, -5, 3})), {3}, {0, 0, 3});
  expect_values(counted({4}).gather(0, i64({2}, {})), {}, {2});
  expect_values(f64({5}, {}).gather(0, i64({0}, {})), {}, {5});
  expect_values(f64({kNaN, 1, kInf}, {3}).gather(0, i64({1, 2})), {2}, {1, kInf});
  EXPECT_EQ(x.gather(1, i64({}, {3, 0})).shape(), Ints({3, 0}));
  EXPECT_EQ(bools({true, false}, {2}).gather(0, i64({1, 0, 0})).dtype(), dtypes::boolean);
  expect_values(bools({true, false}, {2}).gather(0, i64({1, 0, 0})), {3}, {0, 1, 1});
  expect_error([&] { x.gather(0, i64({0})); },
               "[gather] indices of shape (1,) do not have the rank of a tensor of shape (3, 4)");
  expect_error([&] { x.gather(0, i64(Place(5, 0), {1, 5})); },
               "[gather] indices of shape (1, 5) reach beyond (3, 4) in dimension 1");
  expect_error([&] { x.gather(0, x); }, "[gather] indices are integers, not f64");
  expect_error([&] { x.gather(2, i); }, "[gather] axis 2 is outside");
}

TEST(Gather, ByOneDimensionAndOfAll) {
  const Tensor x = counted({2, 3, 2});
  const Place rows = {2, 0, 0, -1};
  expect_elements(x.index_select(1, i64(rows)), {2, 4, 2}, [&](const Place& i) {
    return (i[0] * 3 + floor_mod(rows[static_cast<std::size_t>(i[1])], 3)) * 2 + i[2];
  });
  EXPECT_EQ(x.index_select(-1, i64({1}, {})).shape(), Ints({2, 3, 1}));
  expect_values(x.take(i64({11, -12, 5, 0}, {2, 2})), {2, 2}, {11, 0, 5, 0});
  expect_values(x.take(i64({12})), {1}, {0});
  expect_values(f64({4}, {}).take(i64({0})), {1}, {4});
  const Tensor m = counted({2, 3});
  expect_values(m.take_along_dim(i64({2, 0}, {2, 1}), 1), {2, 1}, {2, 3});
  expect_values(m.take_along_dim(i64({1, 0}, {1, 2}), 1), {2, 2}, {1, 0, 4, 3});
  expect_values(m.take_along_dim(i64({5, 1})), {2}, {5, 1});
  expect_error([&] { x.index_select(0, i64({0}, {1, 1})); }, "[index_select] indices have one dimension");
  expect_error([&] { m.take_along_dim(i64({5}), 0); }, "[take_along_dim] indices of shape (1,)");
}

/// torch.scatter_reduce by walking; combine none: the last value is taken.
std::vector<double> scattered(const Tensor& self, std::int64_t axis, const Place& places, const Ints& sizes,
                              const Tensor& source, std::optional<Tensor::Reduce> how, bool include_self) {
  using enum Tensor::Reduce;
  std::vector<double> out = values_of(self), values = values_of(source);
  std::vector<double> count(out.size(), include_self ? 1 : 0);
  const Ints to = row_major_strides(self.shape()), from = row_major_strides(source.shape()),
             by = row_major_strides(sizes);
  for (std::int64_t k = 0; k < product(sizes).value(); ++k) {
    std::int64_t place = 0, value = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const std::int64_t i = k / by[d].value() % sizes[d].value();
      value += i * from[d].value();
      place += (static_cast<std::int64_t>(d) == axis ? places[static_cast<std::size_t>(k)] : i) * to[d].value();
    }
    double &there = out[static_cast<std::size_t>(place)], &n = count[static_cast<std::size_t>(place)];
    const double v = values[static_cast<std::size_t>(value)];
    const bool is_first = n == 0 || !how;
    n += 1;
    if (is_first)
      there = v;
    else if (*how == sum || *how == mean)
      there += v;
    else if (*how == prod)
      there *= v;
    else
      there = *how == amax ? std::max(there, v) : std::min(there, v);
  }
  for (std::size_t k = 0; k < out.size(); ++k)
    if (how == mean) out[k] /= std::max(count[k], 1.0);
  return out;
}

TEST(Scatter, AllReductionsOnBothAxes) {
  using enum Tensor::Reduce;
  const Tensor self = counted({3, 4}) - 5, source = counted({3, 5}) * 0.5 - 3;
  const Place places = {2, 0, 2, 1, 1, 0, 2, 2, 0};
  const Ints sizes[] = {{3, 3}, {2, 4}};
  for (const std::int64_t axis : {0, 1})
    for (const Ints& size : sizes) {
      const Place used(places.begin(), places.begin() + product(size).value());
      const Tensor i = i64(used, size);
      EXPECT_EQ(values_of(self.scatter(axis, i, source)), scattered(self, axis, used, size, source, {}, true));
      EXPECT_EQ(values_of(self.scatter_add(axis, i, source)), scattered(self, axis, used, size, source, sum, true));
      for (const auto how : {sum, prod, mean, amax, amin})
        for (const bool include : {true, false})
          EXPECT_EQ(values_of(self.scatter_reduce(axis, i, source, how, include)),
                    scattered(self, axis, used, size, source, how, include));
    }
}

TEST(Scatter, NumbersAndEdges) {
  using enum Tensor::Reduce;
  const Tensor x = counted({2, 3});
  expect_values(x.scatter(1, i64({0, -1}, {2, 1}), 9), {2, 3}, {9, 1, 2, 3, 4, 9});
  expect_values(x.scatter_reduce(1, i64({0, 0, 2, 1}, {2, 2}), 2, prod), {2, 3}, {0, 1, 2, 3, 8, 10});
  expect_values(x.scatter_reduce(0, i64({1, 1}, {2, 1}), 10, sum), {2, 3}, {0, 1, 2, 23, 4, 5});
  expect_values(x.scatter(1, i64({3, -4}, {2, 1}), 9), {2, 3}, {0, 1, 2, 3, 4, 5});  // outside: nowhere
  expect_values(x.scatter(1, i64({}, {2, 0}), x), {2, 3}, {0, 1, 2, 3, 4, 5});
  expect_values(x.scatter_reduce(1, i64({}, {2, 0}), x, amax, false), {2, 3}, {0, 1, 2, 3, 4, 5});
  expect_values(f64({3}, {}).scatter_add(0, i64({0}, {}), f64({4}, {})), {}, {7});
  expect_values(f64({kNaN, kNaN}, {2}).scatter(0, i64({0}), f64({1}, {1})).isnan(), {2}, {0, 1});
  expect_values(f64({1, 2}, {2}).scatter_add(0, i64({0, 0}), f64({kInf, 1}, {2})), {2}, {kInf, 2});
  const Tensor b = bools({false, false, true}, {3});
  expect_values(b.scatter(0, i64({0, 2}), bools({true, false}, {2})), {3}, {1, 0, 0});
  expect_values(i64({10, 20, 30}).scatter_reduce(0, i64({0, 0, 1}), i64({-1, -4, 5}), mean), {3}, {1, 12, 30});
  expect_values(i64({-10, 20}).scatter_reduce(0, i64({0}), i64({-5}), mean), {2}, {-8, 20});
  EXPECT_EQ(x.cast(dtypes::int8).scatter(0, i64({0}, {1, 1}), 1).dtype(), dtypes::int8);
  expect_values(x.cast(dtypes::int8).scatter_reduce(0, i64({1}, {1, 1}), 100, amax), {2, 3}, {0, 1, 2, 100, 4, 5});
  expect_error([&] { x.scatter(0, i64({0}), x); }, "[scatter] indices of shape (1,)");
  expect_error([&] { x.scatter(0, i64(Place(4, 0), {1, 4}), counted({1, 4})); },
               "[scatter] indices of shape (1, 4) reach beyond");
  expect_error([&] { x.scatter(0, i64({0, 0}, {1, 2}), counted({1, 1})); },
               "[scatter] indices of shape (1, 2) reach beyond values of shape (1, 1)");
  expect_error([&] { x.scatter(0, i64({0}, {1, 1}), i64({0}, {1, 1})); },
               "[scatter] values of dtype i64 do not match a tensor of dtype f64");
  expect_error([&] { x.scatter_reduce(0, i64({0}, {1, 1}), 1, static_cast<Tensor::Reduce>(77)); },
               "[scatter_reduce] there is no such");
}

TEST(Scatter, Slices) {
  const Tensor x = counted({3, 2}), s = counted({2, 2}) + 10;
  expect_values(x.index_copy(0, i64({2, 0}), s), {3, 2}, {12, 13, 2, 3, 10, 11});
  expect_values(x.index_add(0, i64({1, 1}), s), {3, 2}, {0, 1, 24, 27, 4, 5});
  expect_values(x.index_add(0, i64({1, 0}), s, -2), {3, 2}, {-24, -25, -18, -19, 4, 5});
  expect_values(x.index_fill(1, i64({-1}), 7), {3, 2}, {0, 7, 2, 7, 4, 7});
  expect_values(x.index_fill(0, i64({0, 2}), f64({-1}, {})), {3, 2}, {-1, -1, 2, 3, -1, -1});
  expect_values(i64({1, 2, 3}).index_add(0, i64({0, 0}), i64({5, 6}), 3), {3}, {34, 2, 3});
  expect_values(x.index_copy(1, i64({0}, {}), counted({3, 1})), {3, 2}, {0, 1, 1, 3, 2, 5});
  expect_error([&] { x.index_copy(0, i64({0}), s); }, "[index_copy] values of shape (2, 2) do not fill shape (1, 2)");
  expect_error([&] { x.index_fill(0, i64({0}), s); }, "[index_fill] the value has shape (2, 2)");
  expect_error([&] { x.index_add(0, i64({0}, {1, 1}), s); }, "[index_add] indices have one dimension");
}

TEST(Scatter, Gradients) {
  using enum Tensor::Reduce;
  const std::vector<double> v = spread(6, 0.5, 2), w = spread(4, -2, -0.5, 3);
  const Tensor i = i64({2, 0, 2, 2}, {2, 2}), places = i64({1, 1});
  expect_gradient([&](const Tensor& x) { return x.gather(1, i).square(); }, v, {2, 3});
  expect_gradient([&](const Tensor& x) { return x.index_select(1, places).square(); }, v, {2, 3});
  expect_gradient([&](const Tensor& x) { return x.take(i64({1, 1, 5})).square(); }, v, {2, 3});
  expect_gradient([&](const Tensor& x) { return x.take_along_dim(i64({1, 1}, {1, 2}), 1).square(); }, v, {2, 3});
  const std::vector<std::vector<double>> values = {v, w};
  const std::vector<Ints> shapes = {{2, 3}, {2, 2}};
  expect_gradient([&](const Many& x) { return x[0].scatter(1, i, x[1]).square(); }, values, shapes);
  for (const auto how : {sum, prod, mean, amax, amin})
    for (const bool include : {true, false})
      expect_gradient([&](const Many& x) { return x[0].scatter_reduce(1, i, x[1], how, include).square(); }, values,
                      shapes);
  expect_gradient([&](const Many& x) { return x[0].index_copy(1, places, x[1]).square(); }, values, shapes);
  expect_gradient([&](const Many& x) { return x[0].index_add(1, places, x[1], 3).square(); }, values, shapes);
  expect_gradient([&](const Tensor& x) { return x.index_fill(1, places, 3).square(); }, v, {2, 3});
}

/// The largest is there three times, once in the tensor itself: a third of the gradient to each.
/// So many values and places that sums are made by order.
struct ManyValues {
  static constexpr std::int64_t places = 30000, values = 300, rows = 3;
  Place index;
  ManyValues() {
    for (const double v : spread(values, 0, 40)) index.push_back(static_cast<std::int64_t>(v) * 700 - 900);
    index[5] = -1, index[6] = places - 1, index[7] = places, index[8] = -places - 1;
  }
  /// Wrapped; -1 outside.
  std::int64_t at(std::int64_t k) const {
    std::int64_t i = index[static_cast<std::size_t>(k)];
    if (i < 0) i += places;
    return 0 <= i && i < places ? i : -1;
  }
  /// values[k][r] summed where they go, over `start`.
  std::vector<double> sums(const std::vector<double>& v, double start) const {
    std::vector<double> out(static_cast<std::size_t>(places * rows), start);
    for (std::int64_t k = 0; k < values; ++k)
      for (std::int64_t r = 0; r < rows && at(k) >= 0; ++r)
        out[static_cast<std::size_t>(at(k) * rows + r)] += v[static_cast<std::size_t>(k * rows + r)];
    return out;
  }
};

void expect_sums(const Tensor& found, const std::vector<double>& wanted) {
  const std::vector<double> values = found.cast(dtypes::float64).to_vector<double>();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t k = 0; k < values.size(); ++k) ASSERT_NEAR(values[k], wanted[k], 1e-9) << k;
}

TEST(Scatter, SumsOfManyPlaces) {
  const ManyValues m;
  const auto f64 = [](const std::vector<double>& values, const Ints& shape) { return Tensor::from(values, shape); };
  const auto i64 = [](const Place& values) { return Tensor::from(values, {static_cast<std::int64_t>(values.size())}); };
  const std::vector<double> v = spread(m.values * m.rows, -1, 1);
  const Tensor source = f64(v, {m.values, m.rows}), to = f64({2}, {1, 1}).expand({m.places, m.rows});
  expect_sums(to.index_add(0, i64(m.index), source), m.sums(v, 2));
  expect_sums(to.index_add(0, i64(m.index), source * 0 + 0.5), m.sums(std::vector<double>(v.size(), 0.5), 2));
  // Along the last axis, each row with indices of its own.
  const Tensor each = i64(m.index).unsqueeze(0).expand({m.rows, m.values}).contiguous();
  expect_sums(to.t().contiguous().scatter_add(1, each, source.t()).t(), m.sums(v, 2));
  expect_sums(to.index_put({i64(m.index)}, source, true), m.sums(v, 2));
  const Tensor counts = i64({0}).expand({m.places}).index_add(0, i64(m.index), i64({1}).expand({m.values}));
  EXPECT_EQ(counts.sum().item<std::int64_t>(), m.values - 2);
  // A NaN stays where it goes; halves are summed in f32.
  std::vector<double> holes = v;
  holes[0] = kNaN;
  const std::vector<double> found = to.index_add(0, i64(m.index), f64(holes, {m.values, m.rows})).to_vector<double>();
  EXPECT_EQ(std::count_if(found.begin(), found.end(), [](double x) { return std::isnan(x); }), 1);
  const Tensor halves = Tensor::zeros({m.places}, dtypes::float16)
                            .index_add(0, i64(Place(900, 7)), f64({1}, {1}).expand({900}).cast(dtypes::float16));
  EXPECT_EQ(halves.cast(dtypes::float64).to_vector<double>()[7], 900);
}

/// The node is shared with the cached kernel and with all who write the same constants.
TEST(Scatter, OfConstantsDoesNotBecomeMemory) {
  const auto made = [] { return Tensor::zeros({5}).scatter_add(0, Tensor::arange(3), Tensor::ones({3})); };
  const Tensor kept = made();
  EXPECT_EQ(made().realize().sum().item(), 3);
  EXPECT_FALSE(kept.is_realized());
}

TEST(Gather, GradientsIntoManyPlaces) {
  const ManyValues m;
  const auto f64 = [](const std::vector<double>& values, const Ints& shape) { return Tensor::from(values, shape); };
  const auto i64 = [](const Place& values) { return Tensor::from(values, {static_cast<std::int64_t>(values.size())}); };
  const std::vector<double> weights = spread(m.values * m.rows, -1, 1, 3);
  const Tensor w = f64(weights, {m.values, m.rows});
  Tensor x = f64(spread(m.places * m.rows, 0.5, 1), {m.places, m.rows});
  x.requires_grad(true);
  const Tensor index = i64(m.index);
  expect_sums(gradients((x.index_select(0, index) * w).sum(), {&x, 1})[0], m.sums(weights, 0));
  expect_sums(gradients((x[{index}] * w).sum(), {&x, 1})[0], m.sums(weights, 0));
  const Tensor wide = index.unsqueeze(1).expand({m.values, m.rows});
  expect_sums(gradients((x.gather(0, wide) * w).sum(), {&x, 1})[0], m.sums(weights, 0));
  expect_sums(gradients((x.t().take_along_dim(wide.t(), 1).t() * w).sum(), {&x, 1})[0], m.sums(weights, 0));
  // embedding() has a dimension of its own between: values repeat over two of the index.
  // What is below 0 it takes for outside, as PyTorch does.
  const Tensor pairs = index.lt(0).where(index + m.places, index).reshape({m.values / 2, 2});
  const Tensor looked = embedding(pairs, x);
  expect_sums(gradients((looked.reshape({m.values, m.rows}) * w).sum(), {&x, 1})[0], m.sums(weights, 0));

  // Of second order: of x^3, 3*x^2, then 6*x.
  const Tensor cubes = x.index_select(0, index).pow(3) * w;
  const Tensor first = gradients(cubes.sum(), {&x, 1})[0];
  const Tensor second = gradients(first.sum(), {&x, 1})[0];
  std::vector<double> slope = m.sums(weights, 0);
  const std::vector<double> at = x.detach().to_vector<double>();
  for (std::size_t k = 0; k < slope.size(); ++k) slope[k] *= 6 * at[k];
  expect_sums(second, slope);
  // Of what scatter_add gives, by the values.
  Tensor v = f64(spread(m.values, -1, 1), {m.values});
  v.requires_grad(true);
  const Tensor sums = f64({0}, {1}).expand({m.places}).scatter_add(0, index, v);
  const std::vector<double> by = gradients(sums.square().sum(), {&v, 1})[0].to_vector<double>();
  const std::vector<double> total = sums.detach().to_vector<double>();
  for (std::int64_t k = 0; k < m.values; ++k)
    EXPECT_NEAR(by[static_cast<std::size_t>(k)], m.at(k) < 0 ? 0 : 2 * total[static_cast<std::size_t>(m.at(k))], 1e-9);
}

TEST(Scatter, GradientsOfEqualOnesAreEqual) {
  Tensor x = f64({5, 1}, {2}), y = f64({5, 5, 2}, {3});
  x.requires_grad(true), y.requires_grad(true);
  x.scatter_reduce(0, i64({0, 0, 0}), y, Tensor::Reduce::amax).sum().backward();
  const std::vector<double> by_x = values_of(*x.grad()), by_y = values_of(*y.grad());
  for (const double third : {by_x[0], by_y[0], by_y[1]}) EXPECT_DOUBLE_EQ(third, 1.0 / 3);
  EXPECT_EQ(by_x[1], 1);
  EXPECT_EQ(by_y[2], 0);
}

// --- nonzero.cpp ---

TEST(Masks, Select) {
  const Tensor x = counted({2, 3});
  expect_values(x.nonzero(), {5, 2}, {0, 1, 0, 2, 1, 0, 1, 1, 1, 2});
  EXPECT_EQ(x.nonzero().dtype(), dtypes::int64);
  expect_values(counted({3}).zeros_like().nonzero(), {0, 1}, {});
  EXPECT_EQ(f64({3}, {}).nonzero().shape(), Ints({1, 0}));
  EXPECT_EQ(counted({0, 2}).nonzero().shape(), Ints({0, 2}));
  expect_values(f64({kNaN, 0}, {2}).nonzero(), {1, 1}, {0});
  expect_values(x.masked_select(x > 3.0), {2}, {4, 5});
  expect_values(x.masked_select(bools({true, false, true}, {3})), {4}, {0, 2, 3, 5});
  expect_values(counted({3}).masked_select(bools({true, false}, {2, 1})), {3}, {0, 1, 2});
  expect_values(x.masked_select(x > 9.0), {0}, {});
  expect_error([&] { x.masked_select(x); }, "[masked_select] the mask has dtype f64, not bool");
  expect_error([&] { x.masked_select(bools({true, false}, {2})); }, "[masked_select] shapes (2, 3) and (2,)");
  expect_gradient([](const Tensor& t) { return t.masked_select(bools({true, false, true}, {3})).square(); },
                  spread(6, -2, 2), {2, 3});
}

TEST(Masks, Scatter) {
  const Tensor x = counted({2, 3}), source = counted({3, 2}) + 10;
  const Tensor mask = bools({false, true, true, false, false, true}, {2, 3});
  expect_values(x.masked_scatter(mask, source), {2, 3}, {0, 10, 11, 3, 4, 12});
  expect_values(x.masked_scatter(bools({false, true, false}, {3}), source), {2, 3}, {0, 10, 2, 3, 11, 5});
  expect_error([&] { x.masked_scatter(mask, i64({1})); }, "[masked_scatter] values of dtype i64");
  expect_gradient([&](const Many& t) { return t[0].masked_scatter(mask, t[1]).square(); },
                  {spread(6, -2, 2), spread(4, -2, 2)}, {{2, 3}, {4}});
}

TEST(Masks, OneHot) {
  expect_values(i64({1, 0, 2}).one_hot(3), {3, 3}, {0, 1, 0, 1, 0, 0, 0, 0, 1});
  expect_values(i64({1, 0}, {1, 2}).one_hot(), {1, 2, 2}, {0, 1, 1, 0});
  EXPECT_EQ(i64({1}).one_hot().dtype(), dtypes::int64);
  EXPECT_EQ(i64({}).one_hot(4).shape(), Ints({0, 4}));
  expect_values(i64({1}, {}).one_hot(), {2}, {0, 1});
  expect_error([] { counted({2}).one_hot(2); }, "[one_hot] classes are integers, not f64");
  expect_error([] { i64({1}).one_hot(-2); }, "[one_hot] the number of classes is -2");
  expect_error([] { i64({-4}).one_hot(); }, "[one_hot] the largest class is -4");
}

TEST(Masks, PlacesInAnOrder) {
  const Tensor sorted = f64({1, 3, 3, 5}, {4}), v = f64({0, 1, 3, 4, 5, 9, kNaN, -kInf}, {8});
  expect_values(sorted.searchsorted(v), {8}, {0, 0, 1, 3, 3, 4, 4, 0});
  expect_values(sorted.searchsorted(v, true), {8}, {0, 1, 3, 3, 4, 4, 4, 0});
  expect_values(v.bucketize(sorted), {8}, {0, 0, 1, 3, 3, 4, 4, 0});
  EXPECT_EQ(v.bucketize(sorted).dtype(), dtypes::int64);
  expect_values(f64({4}, {}).bucketize(sorted), {}, {3});
  expect_values(f64({1, 2, 10, 20}, {2, 2}).searchsorted(f64({2, 15, 0, 15}, {2, 2})), {2, 2}, {1, 2, 0, 1});
  expect_values(f64({1, kNaN}, {2}).searchsorted(f64({kNaN, 5}, {2})), {2}, {2, 2});
  expect_values(f64({1, 2, kNaN, kNaN}, {4}).searchsorted(f64({1.5, 1, 2, 3, kNaN}, {5})), {5}, {1, 0, 1, 4, 4});
  expect_values(f64({1, 2, kNaN, kNaN}, {4}).searchsorted(f64({1.5, 1, 2, 3, kNaN}, {5}), true), {5}, {1, 1, 4, 4, 4});
  expect_values(i64({1, 2, 3}).searchsorted(f64({1.5}, {1})), {1}, {1});
  expect_error([] { f64({1}, {}).searchsorted(f64({1}, {})); }, "[searchsorted] the sorted sequence is a scalar");
  expect_error([&] { counted({2, 2}).searchsorted(v); },
               "[searchsorted] values of shape (8,) do not match a sorted sequence of shape (2, 2)");
}

}  // namespace
}  // namespace strata::test
