// Optimisers against their formulas, step by step; schedules; clipping; captured steps.

#include "strata/nn/optim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "strata/engine/realize.h"
#include "strata/tensor/jit.h"

namespace strata::test {
namespace {

using Doubles = std::vector<double>;

Tensor parameter(const Doubles& values) {
  Tensor out = Tensor::from(values, {static_cast<std::int64_t>(values.size())}).to("INTERP").realize();
  out.requires_grad(true);
  return out;
}
/// The gradient of sum(a*w^2/2) by w is a*w.
void descend(nn::Optimizer& optimizer, const Tensor& w, const Tensor& v) {
  optimizer.zero_grad();
  ((w * w * 0.5).sum() + (v * v).sum()).backward();
  optimizer.step();
}

/// One number's way under a rule, on the host.
using Rule = std::function<double(double w, double g, int step)>;

void expect_follows(nn::Optimizer& optimizer, const Tensor& w, const Tensor& v, Rule rule_w, Rule rule_v) {
  double a = w.to_vector<double>()[0], b = v.to_vector<double>()[1];
  for (int step = 1; step <= 4; ++step) {
    descend(optimizer, w, v);
    a = rule_w(a, a, step), b = rule_v(b, 2 * b, step);
    EXPECT_NEAR(w.to_vector<double>()[0], a, 1e-6) << "step " << step;
    EXPECT_NEAR(v.to_vector<double>()[1], b, 1e-6) << "step " << step;
  }
}

Rule sgd(double momentum, double dampening, double decay, bool nesterov) {
  return [=, v = 0.0](double w, double g, int step) mutable {
    g += decay * w;
    v = step == 1 ? g : momentum * v + (1 - dampening) * g;
    return w - 0.125 * (momentum == 0 ? g : nesterov ? g + momentum * v : v);
  };
}
Rule adam(double decay, bool decoupled) {
  return [=, m = 0.0, v = 0.0](double w, double g, int step) mutable {
    if (!decoupled) g += decay * w;
    m = 0.9 * m + 0.1 * g, v = 0.999 * v + 0.001 * g * g;
    const double by = m / (1 - std::pow(0.9, step)) / (std::sqrt(v / (1 - std::pow(0.999, step))) + 1e-8);
    return w * (decoupled ? 1 - 0.125 * decay : 1) - 0.125 * by;
  };
}
Rule rmsprop(double momentum) {
  return [=, s = 0.0, v = 0.0](double w, double g, int) mutable {
    s = 0.99 * s + 0.01 * g * g;
    v = momentum * v + g / (std::sqrt(s) + 1e-8);
    return w - 0.125 * v;
  };
}

TEST(Optim, FollowsItsFormula) {
  const auto check = [](auto make, const std::function<Rule()>& rule) {
    const Tensor w = parameter({1, -2, 3}), v = parameter({-1, 2});
    auto optimizer = make(std::vector{w, v});
    expect_follows(*optimizer, w, v, rule(), rule());
  };
  using P = std::vector<Tensor>;
  check([](P p) { return std::make_unique<nn::SGD>(p, nn::SgdOptions{.lr = 0.125}); },
        [] { return sgd(0, 0, 0, false); });
  check(
      [](P p) { return std::make_unique<nn::SGD>(p, nn::SgdOptions{.lr = 0.125, .momentum = 0.5, .dampening = 0.25}); },
      [] { return sgd(0.5, 0.25, 0, false); });
  check(
      [](P p) {
        return std::make_unique<nn::SGD>(
            p, nn::SgdOptions{.lr = 0.125, .momentum = 0.5, .weight_decay = 0.25, .nesterov = true});
      },
      [] { return sgd(0.5, 0, 0.25, true); });
  check([](P p) { return std::make_unique<nn::Adam>(p, nn::AdamOptions{.lr = 0.125, .weight_decay = 0.5}); },
        [] { return adam(0.5, false); });
  check([](P p) { return std::make_unique<nn::AdamW>(p, nn::AdamOptions{.lr = 0.125, .weight_decay = 0.5}); },
        [] { return adam(0.5, true); });
  check([](P p) { return std::make_unique<nn::RMSprop>(p, nn::RmspropOptions{.lr = 0.125}); },
        [] { return rmsprop(0); });
  check([](P p) { return std::make_unique<nn::RMSprop>(p, nn::RmspropOptions{.lr = 0.125, .momentum = 0.5}); },
        [] { return rmsprop(0.5); });
}

TEST(Optim, LambScalesEachToItsSize) {
  const Tensor w = parameter({3, 4}), v = parameter({0, 0});
  nn::LAMB optimizer({w, v}, {.lr = 0.125, .eps = 1e-6});
  descend(optimizer, w, v);
  // Adam's first direction is the sign: of length sqrt(2), beside a weight of length 5.
  EXPECT_NEAR(w.to_vector<double>()[0], 3 - 0.125 * 5 / std::sqrt(2), 1e-5);
  EXPECT_EQ(v.to_vector<double>(), (Doubles{0, 0}));
}

TEST(Optim, AStepIsFewKernels) {
  class Counting final : public RunListener {
   public:
    void ran(RanKernel) override { ++count; }
    int count = 0;
  };
  const auto kernels = [](std::int64_t parameters) {
    std::vector<Tensor> all;
    for (std::int64_t k = 1; k <= parameters; ++k) all.push_back(parameter(Doubles(static_cast<std::size_t>(k), 1)));
    nn::Adam optimizer(all);
    for (const Tensor& p : all) p.set_grad((p.detach() * 2).realize());
    const Counting counting;
    optimizer.step();
    return counting.count;
  };
  // Gradients that are there already are brought to their places, one kernel each; the step itself is one.
  EXPECT_EQ(kernels(20), 21);
}

TEST(Optim, SeesWhatIsAssigned) {
  const Tensor w = parameter({1, 2}), v = parameter({1, 1});
  nn::SGD optimizer({w, v}, {.lr = 0.5});
  descend(optimizer, w, v);
  w.assign(Tensor::from(Doubles{8, 8}, {2}).to("INTERP"));
  descend(optimizer, w, v);
  EXPECT_EQ(w.to_vector<double>(), (Doubles{4, 4}));
  EXPECT_EQ(v.to_vector<double>(), (Doubles{0, 0}));
}

TEST(Optim, ACapturedStepIsTheSame) {
  const auto train = [](bool captured) {
    const Tensor w = parameter({1, -2, 3});
    nn::Adam optimizer({w}, {.lr = 0.1});
    auto step = jit([&](const Tensor& x) {
      optimizer.zero_grad();
      const Tensor loss = (w * x).square().sum();
      loss.backward();
      optimizer.step();
      return loss;
    });
    Doubles losses;
    for (int k = 0; k < 8; ++k) {
      optimizer.set_lr(0.1 / (1 + k));
      const Tensor x = Tensor::from(Doubles{1, 0.5, static_cast<double>(k)}, {3}).to("INTERP");
      if (captured) {
        losses.push_back(step(x).item());
        continue;
      }
      optimizer.zero_grad();
      const Tensor loss = (w * x).square().sum();
      loss.backward();
      optimizer.step();
      losses.push_back(loss.item());
    }
    losses.push_back(w.sum().item());
    return losses;
  };
  const Doubles plain = train(false), captured = train(true);
  for (std::size_t k = 0; k < plain.size(); ++k) EXPECT_DOUBLE_EQ(plain[k], captured[k]) << k;
}

TEST(Optim, ClipsGradients) {
  const Tensor w = parameter({3, 4}), v = parameter({0, 6});
  const std::vector<Tensor> both = {w, v};
  EXPECT_THROW(nn::clip_grad_norm(both, 1), Error);
  (w * w * 0.5).sum().backward();
  (v * v).sum().backward();
  EXPECT_NEAR(nn::clip_grad_norm(both, 6.5).item(), 13, 1e-6);
  EXPECT_NEAR(w.grad()->to_vector<double>()[1], 2, 1e-5);
  nn::clip_grad_value(both, 1);
  EXPECT_EQ(v.grad()->to_vector<double>(), (Doubles{0, 1}));
}

TEST(Optim, Schedules) {
  EXPECT_DOUBLE_EQ(nn::step_schedule(1, 25, 10, 0.1), 0.1 * 0.1);
  EXPECT_DOUBLE_EQ(nn::exponential_schedule(1, 3, 0.5), 0.125);
  EXPECT_DOUBLE_EQ(nn::cosine_schedule(2, 5, 10), 1);
  EXPECT_DOUBLE_EQ(nn::cosine_schedule(2, 50, 10, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(nn::warmup_cosine_schedule(2, 5, 10, 100), 1);
  EXPECT_DOUBLE_EQ(nn::warmup_cosine_schedule(2, 10, 10, 100), 2);
}

TEST(Optim, RefusesWhatItCannotDo) {
  EXPECT_THROW(nn::SGD(std::vector<Tensor>{}), Error);
  EXPECT_THROW(nn::SGD({Tensor::ones({2})}), Error);
  EXPECT_THROW(nn::SGD({parameter({1})}, {.nesterov = true}), Error);
  nn::SGD optimizer({parameter({1})});
  EXPECT_THROW(optimizer.step(), Error);
}

TEST(Optim, LeaveWhatHasNoGradient) {
  for (const bool is_adam : {true, false}) {
    const Tensor w = parameter({1, -2}), v = parameter({3, 0.5, 2}), u = parameter({4});
    const std::vector<Tensor> all = {w, v, u};
    std::unique_ptr<nn::Optimizer> optimizer;
    if (is_adam)
      optimizer = std::make_unique<nn::AdamW>(all, nn::AdamOptions{.lr = 0.1, .weight_decay = 0.5});
    else
      optimizer = std::make_unique<nn::SGD>(all, nn::SgdOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.5});
    descend(*optimizer, w, v);
    EXPECT_EQ(u.to_vector<double>(), Doubles({4}));
    const Doubles v1 = v.to_vector<double>(), w1 = w.to_vector<double>();
    const nn::NamedTensors before = optimizer->state_dict();
    optimizer->zero_grad();
    (w * w).sum().backward();
    optimizer->step();
    EXPECT_EQ(v.to_vector<double>(), v1);
    EXPECT_NE(w.to_vector<double>(), w1);
    for (const auto& [name, tensor] : optimizer->state_dict())
      if (name.starts_with("state.1.")) {
        EXPECT_EQ(tensor.to_vector<double>(), nn::tensor_named(before, name).to_vector<double>());
      }
  }
}

TEST(OptimizerState, TakesUpWhereItWas) {
  const Tensor w = parameter({1, -2}), v = parameter({3, 0.5, 2});
  nn::Adam through({w, v}, {.lr = 0.1});
  for (int k = 0; k < 3; ++k) descend(through, w, v);
  const nn::NamedTensors state = through.state_dict();
  const Tensor w2 = parameter(w.to_vector<double>()), v2 = parameter(v.to_vector<double>());
  for (int k = 0; k < 2; ++k) descend(through, w, v);  // what was taken stays as it was
  nn::Adam again({w2, v2}, {.lr = 7});
  again.load_state_dict(state);
  EXPECT_EQ(again.lr(), 0.1);
  for (int k = 0; k < 2; ++k) descend(again, w2, v2);
  EXPECT_EQ(w2.to_vector<double>(), w.to_vector<double>());
  EXPECT_EQ(v2.to_vector<double>(), v.to_vector<double>());
  ASSERT_EQ(state.size(), 6U);
  EXPECT_EQ(state[4].first, "state.1.0");
  EXPECT_EQ(state[4].second.shape(), Ints({3}));
}

TEST(OptimizerState, RefusesWhatDoesNotFit) {
  const Tensor w = parameter({1, -2});
  nn::SGD optimizer({w}, {.lr = 0.1, .momentum = 0.5});
  nn::NamedTensors state = optimizer.state_dict();
  state[2].second = Tensor::ones({3}, dtypes::float64);
  EXPECT_THROW(optimizer.load_state_dict(state), Error);
  state[2].first = "state.1.0";
  EXPECT_THROW(optimizer.load_state_dict(state), Error);
  state.pop_back();
  EXPECT_THROW(optimizer.load_state_dict(state), Error);
  EXPECT_THROW(nn::SGD({w}, {.lr = -1}), Error);
  EXPECT_THROW(nn::Adam({w}, {.beta2 = 1}), Error);
}

}  // namespace
}  // namespace strata::test
