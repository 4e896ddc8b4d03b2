// Normalization against loops.

#include "strata/tensor/functional.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

struct Moments {
  double mean = 0, var = 0, count = 0;
};
/// Of the elements for which `is_in` holds.
Moments moments(const Array& x, const std::function<bool(const Place&)>& is_in) {
  Moments m;
  for_each_place(x.shape, [&](const Place& at) {
    if (is_in(at)) m.mean += x.at(at), ++m.count;
  });
  m.mean /= m.count;
  for_each_place(x.shape, [&](const Place& at) {
    if (is_in(at)) m.var += (x.at(at) - m.mean) * (x.at(at) - m.mean) / m.count;
  });
  return m;
}
double standard(double x, const Moments& m, double eps) { return (x - m.mean) / std::sqrt(m.var + eps); }

TEST(Normalization, BatchNorm) {
  const Array x({3, 2, 4}), w({2}, 2), b({2}, 3), mean({2}, 4), var({2}, 5, 0.5, 1);
  const auto of_channel = [&](std::int64_t ch) { return moments(x, [ch](const Place& p) { return p[1] == ch; }); };
  const Tensor running_mean = mean.tensor(), running_var = var.tensor();
  expect_near(batch_norm(x.tensor(), running_mean, running_var, w.tensor(), b.tensor()), x.shape, [&](const Place& p) {
    return (x.at(p) - mean.at({p[1]})) / std::sqrt(var.at({p[1]}) + 1e-5) * w.at({p[1]}) + b.at({p[1]});
  });
  expect_near(batch_norm(x.tensor(), running_mean, running_var, w.tensor(), b.tensor(),
                         {.training = true, .momentum = 0.25, .eps = 0.1}),
              x.shape,
              [&](const Place& p) { return standard(x.at(p), of_channel(p[1]), 0.1) * w.at({p[1]}) + b.at({p[1]}); });
  expect_near(running_mean, {2}, [&](const Place& p) { return mean.at(p) * 0.75 + of_channel(p[0]).mean * 0.25; });
  expect_near(running_var, {2},
              [&](const Place& p) { return var.at(p) * 0.75 + of_channel(p[0]).var * 12 / 11 * 0.25; });
  EXPECT_EQ(batch_norm(x.tensor(), {}, {}, {}, {}, {.training = true}).shape(), x.sizes());
  expect_error([&] { batch_norm(x.tensor(), {}, {}); },
               "[batch_norm] a running mean and a running variance are needed");
  expect_error([&] { batch_norm(x.tensor(), {}, {}, counted({3}), {}, {.training = true}); },
               "shape (3,) does not match 2 channels");
  expect_error([&] { batch_norm(counted({3}), {}, {}); }, "at least 2 dimensions");
}

TEST(Normalization, LayerNormAndRmsNorm) {
  const Array x({2, 3, 4}), w({3, 4}, 2), b({3, 4}, 3);
  const auto row = [&](std::int64_t n) { return moments(x, [n](const Place& p) { return p[0] == n; }); };
  expect_near(layer_norm(x.tensor(), {3, 4}, w.tensor(), b.tensor()), x.shape, [&](const Place& p) {
    return standard(x.at(p), row(p[0]), 1e-5) * w.at({p[1], p[2]}) + b.at({p[1], p[2]});
  });
  const auto square = [&](const Place& p) {
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) sum += x.at({p[0], p[1], k}) * x.at({p[0], p[1], k}) / 4;
    return sum;
  };
  expect_near(rms_norm(x.tensor(), {4}, {}, 0.5), x.shape,
              [&](const Place& p) { return x.at(p) / std::sqrt(square(p) + 0.5); });
  expect_near(rms_norm(x.tensor(), {4}), x.shape,
              [&](const Place& p) { return x.at(p) / std::sqrt(square(p) + 0x1p-52); });
  EXPECT_EQ(layer_norm(x.tensor(dtypes::float16), {4}).dtype(), dtypes::float16);
  EXPECT_EQ(layer_norm(counted({0, 4}), {4}).shape(), Ints({0, 4}));
  expect_error([&] { layer_norm(x.tensor(), {3}); },
               "[layer_norm] the sizes (3,) are not the last sizes of an input of shape (2, 3, 4)");
  expect_error([&] { layer_norm(x.tensor(), {}); }, "[layer_norm] the sizes () are not the last");
  expect_error([&] { layer_norm(x.tensor(), {4}, counted({3})); },
               "a weight of shape (3,) does not match the sizes (4,)");
  expect_error([&] { rms_norm(i64({1, 2}), {2}); }, "[rms_norm] the input has dtype i64");
}

TEST(Normalization, GroupsAndInstances) {
  const Array x({2, 4, 3, 2}), w({4}, 2), b({4}, 3);
  expect_near(group_norm(x.tensor(), 2, w.tensor(), b.tensor()), x.shape, [&](const Place& p) {
    const Moments m = moments(x, [&](const Place& q) { return q[0] == p[0] && q[1] / 2 == p[1] / 2; });
    return standard(x.at(p), m, 1e-5) * w.at({p[1]}) + b.at({p[1]});
  });
  expect_near(instance_norm(x.tensor(), w.tensor(), b.tensor()), x.shape, [&](const Place& p) {
    const Moments m = moments(x, [&](const Place& q) { return q[0] == p[0] && q[1] == p[1]; });
    return standard(x.at(p), m, 1e-5) * w.at({p[1]}) + b.at({p[1]});
  });
  EXPECT_EQ(group_norm(counted({2, 4}), 2).shape(), Ints({2, 4}));
  expect_error([&] { group_norm(x.tensor(), 3); }, "[group_norm] 3 groups of 4 channels");
}

TEST(Normalization, OverNeighboursAndLengths) {
  const Array x({2, 5, 3});
  for (const std::int64_t size : {1, 2, 3}) {
    expect_near(local_response_norm(x.tensor(), size, {.alpha = 0.5, .beta = 0.75, .k = 2}), x.shape,
                [&](const Place& p) {
                  double sum = 0;
                  for (std::int64_t ch = p[1] - size / 2; ch <= p[1] + (size - 1) / 2; ++ch)
                    sum += std::pow(x.at({p[0], ch, p[2]}), 2) / static_cast<double>(size);
                  return x.at(p) / std::pow(2 + 0.5 * sum, 0.75);
                });
  }
  expect_values(normalize(f64({3, 4, 0, 0}, {2, 2})), {2, 2}, {0.6, 0.8, 0, 0});
  expect_values(normalize(f64({3, 1, 0, 2}, {2, 2}), 1, 0), {2, 2}, {1, 1.0 / 3, 0, 2.0 / 3});
}

TEST(Normalization, Gradients) {
  const auto check = [](const std::function<Tensor(const Many&)>& f, const std::vector<Ints>& shapes) {
    expect_gradients(f, shapes, 1e-5);
  };
  check([](const Many& x) { return batch_norm(x[0], {}, {}, x[1], x[2], {.training = true, .eps = 0.1}); },
        {{3, 2}, {2}, {2}});
  check([](const Many& x) { return layer_norm(x[0], {3}, x[1], x[2], 0.1); }, {{2, 3}, {3}, {3}});
  check([](const Many& x) { return rms_norm(x[0], {3}, x[1], 0.1); }, {{2, 3}, {3}});
  check([](const Many& x) { return group_norm(x[0], 2, x[1], {}, 0.1); }, {{1, 4, 2}, {4}});
  check([](const Many& x) { return instance_norm(x[0], {}, {}, 0.1); }, {{1, 2, 3}});
  check([](const Many& x) { return local_response_norm(x[0], 3, {.alpha = 0.5}); }, {{1, 3, 2}});
  check([](const Many& x) { return normalize(x[0]); }, {{2, 3}});
}

}  // namespace
}  // namespace strata::test
