// Losses against loops.

#include <numbers>

#include "strata/tensor/functional.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

using Of2 = std::function<double(double, double)>;

/// A loss of each element and its target, in all three reductions.
void check_loss(const std::function<Tensor(const Tensor&, const Tensor&, Reduction)>& loss, const Of2& f,
                const Array& x, const Array& y) {
  const auto each = [&](const Place& p) { return f(x.at(p), y.at(p)); };
  double sum = 0;
  for_each_place(x.shape, [&](const Place& p) { sum += each(p); });
  const Tensor a = x.tensor(), b = y.tensor();
  expect_near(loss(a, b, Reduction::none), x.shape, each);
  expect_near(loss(a, b, Reduction::sum), {}, [&](const Place&) { return sum; });
  expect_near(loss(a, b, Reduction::mean), {}, [&](const Place&) { return sum / static_cast<double>(x.count()); });
}

TEST(Losses, OfDifferences) {
  const Array x({3, 4}, 1, -3, 3), y({3, 4}, 2, -3, 3);
  check_loss([](auto& a, auto& b, auto r) { return mse_loss(a, b, r); },
             [](double a, double b) { return (a - b) * (a - b); }, x, y);
  check_loss([](auto& a, auto& b, auto r) { return l1_loss(a, b, r); },
             [](double a, double b) { return std::abs(a - b); }, x, y);
  const auto huber = [](double d, double delta) { return d < delta ? d * d / 2 : delta * (d - delta / 2); };
  check_loss([](auto& a, auto& b, auto r) { return huber_loss(a, b, 1.5, r); },
             [&](double a, double b) { return huber(std::abs(a - b), 1.5); }, x, y);
  check_loss([](auto& a, auto& b, auto r) { return smooth_l1_loss(a, b, 0.5, r); },
             [&](double a, double b) { return huber(std::abs(a - b), 0.5) / 0.5; }, x, y);
  check_loss([](auto& a, auto& b, auto r) { return smooth_l1_loss(a, b, 0, r); },
             [](double a, double b) { return std::abs(a - b); }, x, y);
  expect_error([&] { huber_loss(x.tensor(), y.tensor(), 0); }, "[huber_loss] delta is 0");
}

TEST(Losses, OfProbabilities) {
  const Array x({3, 4}, 1, 0.1, 0.9), y({3, 4}, 2, 0.1, 0.9), logits({3, 4}, 3, -3, 3);
  const auto cross = [](double p, double t) { return -t * std::log(p) - (1 - t) * std::log(1 - p); };
  check_loss([](auto& a, auto& b, auto r) { return binary_cross_entropy(a, b, {.reduction = r}); }, cross, x, y);
  check_loss([](auto& a, auto& b, auto r) { return binary_cross_entropy_with_logits(a, b, {.reduction = r}); },
             [&](double a, double t) { return cross(1 / (1 + std::exp(-a)), t); }, logits, y);
  const Tensor positive = f64({3}, {1}), weight = f64({2}, {1});
  check_loss(
      [&](auto& a, auto& b, auto r) {
        return binary_cross_entropy_with_logits(a, b, {.weight = weight, .reduction = r, .pos_weight = positive});
      },
      [&](double a, double t) {
        const double p = 1 / (1 + std::exp(-a));
        return 2 * (-3 * t * std::log(p) - (1 - t) * std::log(1 - p));
      },
      logits, y);
  expect_values(binary_cross_entropy(f64({0, 1, 0}, {3}), f64({1, 1, 0}, {3}), {.reduction = Reduction::none}), {3},
                {100, 0, 0});
  expect_values(
      binary_cross_entropy_with_logits(f64({1000, -1000}, {2}), f64({1, 1}, {2}), {.reduction = Reduction::none}), {2},
      {0, 1000});
  check_loss([](auto& a, auto& b, auto r) { return kl_div(a, b, r); },
             [](double a, double t) { return t * (std::log(t) - a); }, logits, y);
  check_loss([](auto& a, auto& b, auto r) { return kl_div(a, b, r, true); },
             [](double a, double t) { return std::exp(t) * (t - a); }, logits, y);
  expect_values(kl_div(f64({-1}, {1}), f64({0}, {1})), {}, {0});
  check_loss([](auto& a, auto& b, auto r) { return poisson_nll_loss(a, b, {.reduction = r}); },
             [](double a, double t) { return std::exp(a) - t * a; }, logits, y);
  const Array counts({3, 4}, 5, 0.5, 4);
  check_loss([](auto& a, auto& b,
                auto r) { return poisson_nll_loss(a, b, {.log_input = false, .full = true, .reduction = r}); },
             [](double a, double t) {
               const double stirling = t > 1 ? t * std::log(t) - t + std::log(2 * std::numbers::pi * t) / 2 : 0;
               return a - t * std::log(a + 1e-8) + stirling;
             },
             x, counts);
  check_loss(
      [](auto& a, auto& b, auto r) { return gaussian_nll_loss(a, b, f64({0.5}, {1}), {.full = true, .reduction = r}); },
      [](double a, double t) { return (std::log(0.5) + (a - t) * (a - t) / 0.5 + std::log(2 * std::numbers::pi)) / 2; },
      logits, y);
  EXPECT_EQ(gaussian_nll_loss(x.tensor(), y.tensor(), f64({1, 2, 3}, {3}), {.reduction = Reduction::none}).shape(),
            Ints({3, 4}));
  expect_error([&] { binary_cross_entropy(x.tensor(), counted({4})); },
               "[binary_cross_entropy] an input of shape (3, 4)");
  expect_error([&] { binary_cross_entropy(x.tensor(), y.tensor(), {.pos_weight = positive}); }, "with_logits");
}

TEST(Losses, OfMargins) {
  const Array x({3, 4}, 1, -3, 3), other({3, 4}, 3, -3, 3);
  Array y({3, 4}, 2);
  for (double& v : y.values) v = v < 0 ? -1 : 1;
  check_loss([](auto& a, auto& b, auto r) { return soft_margin_loss(a, b, r); },
             [](double a, double t) { return std::log1p(std::exp(-t * a)); }, x, y);
  check_loss([](auto& a, auto& b, auto r) { return hinge_embedding_loss(a, b, 1.5, r); },
             [](double a, double t) { return t > 0 ? a : std::max(0.0, 1.5 - a); }, x, y);
  expect_near(margin_ranking_loss(x.tensor(), other.tensor(), y.tensor(), 0.5, Reduction::none), {3, 4},
              [&](const Place& p) { return std::max(0.0, -y.at(p) * (x.at(p) - other.at(p)) + 0.5); });
  const auto dot = [](const Array& a, const Array& b, std::int64_t n) {
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) sum += a.at({n, k}) * b.at({n, k});
    return sum;
  };
  const Tensor signs = f64({1, -1, -1}, {3});
  expect_near(cosine_embedding_loss(x.tensor(), other.tensor(), signs, 0.1, Reduction::none), {3}, [&](const Place& p) {
    const double cosine = dot(x, other, p[0]) / std::sqrt(dot(x, x, p[0]) * dot(other, other, p[0]));
    return p[0] == 0 ? 1 - cosine : std::max(0.0, cosine - 0.1);
  });
  const Array third({3, 4}, 4, -3, 3);
  const auto apart = [](const Array& a, const Array& b, std::int64_t n) {
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) sum += std::pow(a.at({n, k}) - b.at({n, k}) + 1e-6, 2);
    return std::sqrt(sum);
  };
  for (const bool swap : {false, true})
    expect_near(triplet_margin_loss(x.tensor(), other.tensor(), third.tensor(),
                                    {.margin = 2, .swap = swap, .reduction = Reduction::none}),
                {3}, [&](const Place& p) {
                  const double far = apart(x, third, p[0]);
                  return std::max(0.0,
                                  apart(x, other, p[0]) - (swap ? std::min(far, apart(other, third, p[0])) : far) + 2);
                });
}

/// -log of the softmax along axis 1 at a place.
double minus_log(const Array& x, Place at) {
  double sum = 0;
  const double own = x.at(at);
  for (at[1] = 0; at[1] < x.shape[1]; ++at[1]) sum += std::exp(x.at(at));
  return std::log(sum) - own;
}

TEST(CrossEntropy, OfClasses) {
  const Array x({4, 3, 2}, 1, -3, 3), w({3}, 2, 0.5, 2);
  const std::vector<std::int64_t> classes = {0, 2, 1, 7, 2, 2, 7, 0};
  const Tensor target = i64(classes, {4, 2});
  for (const double smoothing : {0.0, 0.2})
    for (const bool weighted : {false, true}) {
      const auto weight = [&](std::int64_t c) { return weighted ? w.at({c}) : 1; };
      double sum = 0, weights = 0;
      const auto each = [&](const Place& p) {
        const std::int64_t c = classes[static_cast<std::size_t>(p[0] * 2 + p[1])];
        if (c == 7) return 0.0;
        double out = (1 - smoothing) * weight(c) * minus_log(x, {p[0], c, p[1]});
        for (std::int64_t k = 0; k < 3; ++k) out += smoothing / 3 * weight(k) * minus_log(x, {p[0], k, p[1]});
        return out;
      };
      for_each_place({4, 2}, [&](const Place& p) {
        const std::int64_t c = classes[static_cast<std::size_t>(p[0] * 2 + p[1])];
        sum += each(p), weights += c == 7 ? 0 : weight(c);
      });
      CrossEntropyOptions o = {.ignore_index = 7, .label_smoothing = smoothing, .reduction = Reduction::none};
      if (weighted) o.weight = w.tensor();
      expect_near(cross_entropy(x.tensor(), target, o), {4, 2}, each);
      o.reduction = Reduction::sum;
      expect_near(cross_entropy(x.tensor(), target, o), {}, [&](const Place&) { return sum; });
      o.reduction = Reduction::mean;
      expect_near(cross_entropy(x.tensor(), target, o), {}, [&](const Place&) { return sum / weights; });
    }
  expect_near(nll_loss(x.tensor().log_softmax(1), target, {.ignore_index = 7}), {},
              [&](const Place&) { return cross_entropy(x.tensor(), target, {.ignore_index = 7}).item(); });
  EXPECT_NEAR(cross_entropy(f64({0, 0}, {2}), i64({1}, {})).item(), std::log(2), 1e-12);
}

TEST(CrossEntropy, OfProbabilities) {
  const Array x({2, 3}, 1, -3, 3), w({3}, 2, 0.5, 2), p({2, 3}, 4, 0, 1);
  const auto each = [&](const Place& at) {
    double out = 0;
    for (std::int64_t k = 0; k < 3; ++k)
      out += (p.at({at[0], k}) * 0.9 + 0.1 / 3) * w.at({k}) * minus_log(x, {at[0], k});
    return out;
  };
  CrossEntropyOptions o = {.weight = w.tensor(), .label_smoothing = 0.1, .reduction = Reduction::none};
  expect_near(cross_entropy(x.tensor(), p.tensor(), o), {2}, each);
  o.reduction = Reduction::mean;
  expect_near(cross_entropy(x.tensor(), p.tensor(), o), {}, [&](const Place&) { return (each({0}) + each({1})) / 2; });
}

TEST(CrossEntropy, ErrorsNameTheShapes) {
  const Tensor x = counted({2, 3});
  expect_error([&] { cross_entropy(x, i64({1})); }, "classes of shape (1,); (2,) is expected");
  expect_error([&] { cross_entropy(x, counted({2})); },
               "[cross_entropy] an input of shape (2, 3) does not match a target of shape (2,)");
  expect_error([&] { cross_entropy(x, i64({1, 2}), {.weight = counted({2})}); },
               "a weight of shape (2,) does not match 3 classes");
  expect_error([&] { cross_entropy(x, i64({1, 2}), {.label_smoothing = 2}); }, "the label smoothing is 2");
  expect_error([&] { nll_loss(x, x); }, "[nll_loss] the classes have dtype f64");
  expect_error([&] { nll_loss(Tensor(1.0).to("INTERP"), i64({1}, {})); }, "[nll_loss] the input is a scalar");
}

TEST(Losses, Gradients) {
  const auto slope = [](const std::function<Tensor(const Many&)>& f, const std::vector<Ints>& shapes, double low = -1,
                        double high = 1) { expect_gradients(f, shapes, 1e-5, low, high); };
  const Tensor classes = i64({1, 0, 5}), signs = f64({1, -1, 1}, {3});
  slope(
      [&](const Many& x) {
        return cross_entropy(x[0], classes, {.weight = f64({1, 2}, {2}), .ignore_index = 5, .label_smoothing = 0.1});
      },
      {{3, 2}});
  slope([&](const Many& x) { return cross_entropy(x[0], x[1]); }, {{3, 2}, {3, 2}});
  slope([&](const Many& x) { return nll_loss(x[0], classes, {.ignore_index = 5}); }, {{3, 2}});
  slope([&](const Many& x) { return mse_loss(x[0], x[1]); }, {{3}, {3}});
  slope([&](const Many& x) { return l1_loss(x[0], x[1]); }, {{3}, {3}});
  slope([&](const Many& x) { return smooth_l1_loss(x[0], x[1], 0.5); }, {{4}, {4}});
  slope([&](const Many& x) { return huber_loss(x[0], x[1], 0.5); }, {{4}, {4}});
  slope([&](const Many& x) { return binary_cross_entropy(x[0], x[1]); }, {{3}, {3}}, 0.1, 0.9);
  slope([&](const Many& x) { return binary_cross_entropy_with_logits(x[0], x[1], {.pos_weight = f64({2}, {1})}); },
        {{3}, {3}});
  slope([&](const Many& x) { return kl_div(x[0], x[1]); }, {{3}, {3}}, 0.1, 0.9);
  slope([&](const Many& x) { return poisson_nll_loss(x[0], x[1], {.full = true}); }, {{3}, {3}}, 0.1, 3);
  slope([&](const Many& x) { return gaussian_nll_loss(x[0], x[1], x[2]); }, {{3}, {3}, {3}}, 0.1, 0.9);
  slope([&](const Many& x) { return soft_margin_loss(x[0], signs); }, {{3}});
  slope([&](const Many& x) { return hinge_embedding_loss(x[0], signs); }, {{3}});
  slope([&](const Many& x) { return cosine_embedding_loss(x[0], x[1], signs); }, {{3, 2}, {3, 2}});
  slope([&](const Many& x) { return margin_ranking_loss(x[0], x[1], signs); }, {{3}, {3}});
  slope([&](const Many& x) { return triplet_margin_loss(x[0], x[1], x[2]); }, {{2, 2}, {2, 2}, {2, 2}});
}

TEST(Losses, LabelsThatAreNoClass) {
  const Tensor logs = f64({-1, -2, -3, -1, -2, -3}, {2, 3}), known = i64({1, 3}, {2});
  expect_error([&] { nll_loss(logs, known); }, "[nll_loss] class 3 at (1,) is outside of a range: 0 to 2, and -100");
  expect_error([&] { multi_margin_loss(logs, known); },
               "[multi_margin_loss] class 3 at (1,) is outside of a range: 0 to 2");
  const std::vector<double> each = nll_loss(logs, known + 0, {.reduction = Reduction::none}).to_vector<double>();
  EXPECT_EQ(each[0], 2);
  EXPECT_TRUE(std::isnan(each[1]));
  EXPECT_TRUE(std::isnan(cross_entropy(logs, known + 0).item()));
  EXPECT_EQ(nll_loss(logs, known, {.ignore_index = 3}).item(), 2);
}

}  // namespace
}  // namespace strata::test
