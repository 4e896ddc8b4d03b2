// Tensors put together and into one another, made of numbers, and products of matrices.

#include <limits>

#include "strata/tensor/random.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

std::vector<double> all_of(const Tensor& x) { return values_of(x); }
using Doubles = std::vector<double>;

TEST(Structure, Scattered) {
  const Tensor x = counted({2, 3});
  expect_values(x.select_scatter(f64({7, 8}, {2}), 1, -2), {2, 3}, {0, 7, 2, 3, 8, 5});
  expect_values(x.slice_scatter(f64({7, 8, 9, 10}, {2, 2}), 1, {0, 3, 2}), {2, 3}, {7, 1, 8, 9, 4, 10});
  expect_values(x.slice_scatter(f64({7, 8, 9}, {1, 3}), 0, {1, {}}), {2, 3}, {0, 1, 2, 7, 8, 9});
  expect_values(x.diagonal_scatter(f64({7, 8}, {2})), {2, 3}, {7, 1, 2, 3, 8, 5});
  expect_values(x.diagonal_scatter(f64({7, 8}, {2}), 1), {2, 3}, {0, 7, 2, 3, 4, 8});
  expect_values(x.diagonal_scatter(f64({7}, {1}), -1), {2, 3}, {0, 1, 2, 7, 4, 5});
  expect_values(x.t().diagonal_scatter(f64({7, 8}, {2}), -1), {3, 2}, {0, 3, 7, 4, 2, 8});
  expect_values(x.diagonal_scatter(f64({7, 8}, {2}), 0, 1, 0), {2, 3}, {7, 1, 2, 3, 8, 5});
  const Tensor cube = counted({2, 2, 2});
  expect_values(cube.diagonal_scatter(f64({-1, -2, -3, -4}, {2, 2}), 0, 0, 2), {2, 2, 2}, {-1, 1, -3, 3, 4, -2, 6, -4});
  expect_values(x.put(i64({0, -1, 0}), f64({7, 8, 9}, {3})), {2, 3}, {9, 1, 2, 3, 4, 8});
  expect_values(x.put(i64({0, -1, 0}), f64({7, 8, 9}, {3}), true), {2, 3}, {16, 1, 2, 3, 4, 13});
  expect_values(x.index_reduce(1, i64({0, 0, 2}), counted({2, 3}) + 1, Tensor::Reduce::amax), {2, 3},
                {2, 1, 3, 5, 4, 6});
  expect_gradients([](const Many& xs) { return xs[0].select_scatter(xs[1], 1, 1); }, {{2, 3}, {2}});
  expect_gradients([](const Many& xs) { return xs[0].slice_scatter(xs[1], 1, {1, 3}); }, {{2, 3}, {2, 2}});
  expect_gradients([](const Many& xs) { return xs[0].diagonal_scatter(xs[1], 1); }, {{2, 3}, {2}});
  expect_gradients([](const Many& xs) { return xs[0].put(i64({0, 4}), xs[1], true); }, {{2, 3}, {2}});
  expect_error([&] { x.select_scatter(f64({7}, {1}), 1, 0); },
               "[select_scatter] a tensor of shape (1,) does not match");
  expect_error([&] { x.slice_scatter(x, 1, {0, 1}); }, "does not match the shape (2, 1)");
  expect_error([&] { x.diagonal_scatter(f64({7}, {1})); }, "does not match the shape (2,)");
  expect_error([&] { x.put(i64({0}), f64({1, 2}, {2})); }, "[put] indices of shape (1,)");
}

TEST(Structure, Strided) {
  const Tensor x = counted({3, 4});
  expect_values(x.as_strided({2, 2}, {4, 1}, 1), {2, 2}, {1, 2, 5, 6});
  expect_values(x.as_strided({3, 2}, {-2, 0}, 11), {3, 2}, {11, 11, 9, 9, 7, 7});
  expect_values(x.as_strided({}, {}, 5), {}, {5});
  expect_values(x.as_strided({0, 2}, {100, 100}), {0, 2}, {});
  expect_gradients([](const Many& xs) { return xs[0].as_strided({2, 2}, {1, 1}, 1); }, {{4}});
  expect_error([&] { x.as_strided({2, 2}, {11, 1}); }, "[as_strided] elements 0 to 12 are not inside of the 12");
  expect_error([&] { x.as_strided({2}, {-1}); }, "elements -1 to 0");
  expect_error([&] { x.as_strided({2}, {}); }, "[as_strided] 0 strides");
}

TEST(Structure, Together) {
  const Many blocks = {f64({1, 2}, {1, 2}), f64({3}, {}), f64({4, 5}, {2, 1})};
  expect_values(Tensor::block_diag(blocks), {4, 4}, {1, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0, 0, 0, 5});
  const Many columns = {i64({1, 2}), i64({3, 4})};
  expect_values(Tensor::cartesian_prod(columns), {4, 2}, {1, 3, 1, 4, 2, 3, 2, 4});
  expect_values(Tensor::cartesian_prod({columns.data(), 1}), {2}, {1, 2});
  const Tensor x = i64({5, 6, 7});
  expect_values(x.combinations(), {3, 2}, {5, 6, 5, 7, 6, 7});
  expect_values(x.combinations(3), {1, 3}, {5, 6, 7}), expect_values(x.combinations(4), {0, 4}, {});
  expect_values(x.combinations(2, true), {6, 2}, {5, 5, 5, 6, 5, 7, 6, 6, 6, 7, 7, 7});
  expect_values(x.combinations(0), {0}, {});
  expect_values(i64({2, 3}).vander(3), {2, 3}, {4, 2, 1, 9, 3, 1});
  expect_values(i64({2, 3}).vander({}, true), {2, 2}, {1, 2, 1, 3});
  expect_values(i64({2, 3}).vander(0), {2, 0}, {});
  const Many parts = Tensor::broadcast_tensors(Many{counted({3, 1}), counted({2})});
  expect_values(parts[1], {3, 2}, {0, 1, 0, 1, 0, 1});
  expect_gradients([](const Many& xs) { return Tensor::block_diag(xs); }, {{2, 1}, {2}});
  expect_gradients([](const Many& xs) { return xs[0].vander(4) + xs[0].combinations(2).sum(); }, {{3}});
  expect_error([] { Tensor::block_diag({}); }, "[block_diag] there is no tensor");
  expect_error([&] { counted({2, 2}).combinations(); }, "[combinations] the tensor has shape");
  expect_error([&] { counted({4000}).combinations(3); }, "more than");
}

/// -0 stays what it is, on whatever device.
TEST(Structure, SignsOfZerosStay) {
  for (const char* device : {"INTERP", "LLVM"}) {
    const Tensor x = f32({-0.0F, 0.0F}).to(device), y = f32({0.0F, -0.0F, -0.0F}).to(device);
    const auto signs = [](const Tensor& t) { return values_of(t.signbit()); };
    EXPECT_EQ(signs(Tensor::cat(Many{x, y, x})), (Doubles{1, 0, 0, 1, 1, 1, 0})) << device;
    EXPECT_EQ(signs(Tensor::stack(Many{x, x}, 1)), (Doubles{1, 1, 0, 0})) << device;
    EXPECT_EQ(signs(y.index_select(0, i64({2, 0, -2}).to(device))), (Doubles{1, 0, 1})) << device;
    EXPECT_EQ(signs(x.gather(0, i64({0, 0}).to(device))), (Doubles{1, 1})) << device;
    EXPECT_EQ(signs(x.eq(1).where(x, y.narrow(0, 1, 2))), (Doubles{1, 1})) << device;
    EXPECT_EQ(signs(y.roll(1)), (Doubles{1, 0, 1})) << device;
    EXPECT_EQ(signs(x.repeat({2}).masked_select(bools({true, false, true, true}, {4}).to(device))), (Doubles{1, 1, 0}))
        << device;
  }
}

TEST(Structure, Apart) {
  const Tensor x = counted({2, 4, 2});
  EXPECT_EQ(x.hsplit(2)[1].shape(), (Ints{2, 2, 2}));
  EXPECT_EQ(all_of(counted({4}).hsplit(2)[1]), (Doubles{2, 3}));
  EXPECT_EQ(x.vsplit(2)[1].shape(), (Ints{1, 4, 2}));
  EXPECT_EQ(x.dsplit(2)[1].shape(), (Ints{2, 4, 1}));
  const std::vector<std::int64_t> at = {1, 3};
  EXPECT_EQ(x.hsplit(at)[1].shape(), (Ints{2, 2, 2}));
  EXPECT_EQ(x.vsplit(at).size(), 3U);
  EXPECT_EQ(x.dsplit(at)[2].shape(), (Ints{2, 4, 0}));
  expect_error([&] { x.hsplit(3); }, "[hsplit] axis 1 of size 4 cannot be split into 3 equal parts");
  expect_error([&] { x.vsplit(std::int64_t{1} << 40); },
               "[vsplit] axis 0 of size 2 cannot be split into 1099511627776");
  expect_error([] { counted({0}).hsplit(std::int64_t{1} << 40); }, "[tensor_split] 1099511627776 parts");
  expect_error([&] { counted({2}).vsplit(2); }, "[vsplit] the tensor has shape (2,)");
  expect_error([&] { counted({2, 2}).dsplit(2); }, "3 dimensions at least");
}

TEST(Structure, MadeOfNumbers) {
  expect_near(Tensor::logspace(-1, 2, 4), {4}, [](const Place& p) { return std::pow(10.0, p[0] - 1); }, 1e-6);
  expect_near(Tensor::logspace(0, 3, 4, 2, dtypes::float64), {4},
              [](const Place& p) { return std::ldexp(1, static_cast<int>(p[0])); });
  expect_values(Tensor::tril_indices(3, 2), {2, 5}, {0, 1, 1, 2, 2, 0, 0, 1, 0, 1});
  expect_values(Tensor::tril_indices(2, 3, -1), {2, 1}, {1, 0});
  expect_values(Tensor::triu_indices(2, 3, 1), {2, 3}, {0, 0, 1, 1, 2, 2});
  expect_values(Tensor::triu_indices(3, 2, -9), {2, 6}, {0, 0, 1, 1, 2, 2, 0, 1, 0, 1, 0, 1});
  expect_values(Tensor::tril_indices(0, 3), {2, 0}, {});
  const Tensor x = f32({1, 2});
  expect_values(x.new_full({2}, 7.5), {2}, {7.5, 7.5}), expect_values(x.new_zeros({1}), {1}, {0});
  EXPECT_EQ(x.new_ones({2}).dtype(), dtypes::float32);
  EXPECT_EQ(&x.new_ones({2}).device(), &x.device());
  EXPECT_EQ(x.empty_like().shape(), (Ints{2}));
  expect_values(f64({1, 2}, {2, 1}).diagflat(1), {3, 3}, {0, 1, 0, 0, 0, 2, 0, 0, 0});
  expect_values(i64({0, 3, 0, 4}, {2, 2}).argwhere(), {2, 2}, {0, 1, 1, 1});
  expect_error([] { Tensor::tril_indices(-1, 2); }, "[tril_indices] -1 rows");
}

TEST(Structure, Products) {
  const Array a({2, 3, 2}, 1), b({2, 2, 4}, 2), c({3, 4}, 3);
  expect_near(c.tensor().addbmm(a.tensor(), b.tensor(), 2, 0.5), {3, 4}, [&](const Place& p) {
    double sum = 0;
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t k = 0; k < 2; ++k) sum += a.at({n, p[0], k}) * b.at({n, k, p[1]});
    return 2 * c.at(p) + 0.5 * sum;
  });
  const Tensor m = f64({1, 2, 3, 4}, {2, 2}), v = f64({5, 6}, {2});
  expect_values(v.addmv(m, v, 1, 2), {2}, {39, 84}), expect_values(m.addr(v, v, 0), {2, 2}, {25, 30, 30, 36});
  expect_values(m.mm(m), {2, 2}, {7, 10, 15, 22});
  expect_values(m.matrix_power(5), {2, 2}, {1069, 1558, 2337, 3406});
  expect_values(m.matrix_power(0), {2, 2}, {1, 0, 0, 1}), expect_values(m.matrix_power(1), {2, 2}, {1, 2, 3, 4});
  expect_values(m.matrix_norm("1"), {}, {6}), expect_values(m.matrix_norm("-inf", true), {1, 1}, {3});
  expect_values(m.matrix_norm("inf"), {}, {7}), expect_values(m.matrix_norm("-1"), {}, {4});
  EXPECT_NEAR(m.matrix_norm().item(), std::sqrt(30.0), 1e-12);
  const Many chain = {v, counted({2, 3}), counted({3, 1}), counted({1, 4}), counted({4})};
  double expected = 0;
  const Array middle(v.matmul(chain[1]).matmul(chain[2]).matmul(chain[3]));
  for (std::int64_t k = 0; k < 4; ++k) expected += middle.at({k}) * static_cast<double>(k);
  expect_values(Tensor::multi_dot(chain), {}, {expected});
  expect_values(Tensor::multi_dot({&m, 1}), {2, 2}, {1, 2, 3, 4});
  expect_gradients([](const Many& xs) { return Tensor::multi_dot(xs); }, {{2, 3}, {3, 2}, {2, 4}});
  expect_gradients([](const Many& xs) { return xs[0].matrix_power(3); }, {{2, 2}});
  expect_error([&] { m.matrix_power(-1); }, "[matrix_power] the power -1");
  expect_error([&] { m.matrix_norm("nuc"); }, "[matrix_norm] there is no norm \"nuc\"");
  expect_error([&] { m.mm(v); }, "[mm] a tensor has shape (2,)");
}

TEST(Structure, RandomOnesAndDropouts) {
  manual_seed(3);
  const Tensor x = f32(std::vector<float>(4000, 1)).reshape({4, 10, 10, 10});
  EXPECT_EQ(rand_like(x).shape(), x.shape());
  EXPECT_EQ(&randn_like(x).device(), &x.device());
  const Tensor whole = randint_like(x, 2, 5);
  EXPECT_EQ(whole.dtype(), dtypes::float32);
  EXPECT_TRUE(whole.min().item() == 2 && whole.max().item() == 4);
  EXPECT_NEAR(normal(x * 3, x * 2).mean().item(), 3, 0.2);
  for (const Tensor& y : {dropout2d(x, 0.5), dropout3d(x.reshape({4, 10, 1, 10, 10}), 0.5).reshape(x.shape())}) {
    const Tensor sums = y.sum({2, 3});  // 0 or 200 each
    EXPECT_TRUE((sums.eq(0) | sums.eq(200)).all().item<bool>());
    EXPECT_TRUE(sums.eq(0).any().item<bool>() && sums.eq(200).any().item<bool>());
  }
  EXPECT_TRUE(dropout1d(x.reshape({40, 10, 10}), 0.5, false).equal(x.reshape({40, 10, 10})));
  const Tensor noise = randn({20000}, dtypes::float32);
  const Tensor dropped = alpha_dropout(noise, 0.3);
  EXPECT_NEAR(dropped.mean().item(), 0, 0.05);
  EXPECT_NEAR(dropped.std().item(), 1, 0.05);
  const Tensor features = feature_alpha_dropout(x, 0.5);
  EXPECT_TRUE(features.flatten(2).std(2).le(1e-6).all().item<bool>());
  const Tensor negative = rrelu(x * -1, 0.25, 0.5, true);
  EXPECT_TRUE((negative.le(-0.25) & negative.ge(-0.5)).all().item<bool>());
  EXPECT_NEAR(rrelu(f32({-1}), 0.25, 0.5).item(), -0.375, 1e-7);
  const Tensor soft = gumbel_softmax(rand({50, 4}));
  EXPECT_TRUE(soft.sum(1).allclose(soft.new_ones({50})));
  Tensor logits = rand({50, 4}, dtypes::float64);
  logits.requires_grad(true);
  const Tensor hard = gumbel_softmax(logits, {.tau = 0.5, .hard = true});
  EXPECT_TRUE(hard.detach().round().allclose(hard.detach()) && hard.sum(1).allclose(hard.new_ones({50})));
  EXPECT_GT(gradients((hard * f64({1, 2, 3, 4}, {4}).to(hard.device())).sum(), {&logits, 1})[0].abs().max().item(), 0);
  expect_error([&] { dropout2d(f32({1}), 0.5); }, "[dropout2d] the input has shape (1,)");
  expect_error([&] { alpha_dropout(x, 2); }, "[alpha_dropout] the probability p is 2");
}

}  // namespace
}  // namespace strata::test
