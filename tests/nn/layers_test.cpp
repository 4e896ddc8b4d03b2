// Modules: names, states, files, training and not; layers against what they are made of.

#include "strata/nn/layers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include "strata/base/flags.h"
#include "strata/engine/generator.h"
#include "strata/nn/optim.h"
#include "strata/runtime/posix_io.h"
#include "strata/tensor/access.h"
#include "strata/tensor/random.h"
#include "tests/base/errors.h"

namespace strata::test {
namespace {

struct Net : nn::Module {
  nn::Linear hidden{4, 8}, out{8, 2};
  nn::BatchNorm norm{8};
  nn::Dropout drop{0.5};
  Net() { add("hidden", hidden), add("norm", norm), add("drop", drop), add("out", out); }
  Tensor operator()(const Tensor& x) const { return out(drop(norm(hidden(x)).relu())); }
};

std::vector<float> floats(const Tensor& t) { return t.to_vector<float>(); }

TEST(Module, NamesWhatItHas) {
  const Net net;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : net.state_dict()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"hidden.weight", "hidden.bias", "norm.weight", "norm.bias",
                                             "norm.running_mean", "norm.running_var", "out.weight", "out.bias"}));
  EXPECT_EQ(net.parameters().size(), 6U);
  struct Twice : nn::Module {
    nn::Linear a{1, 1}, b{1, 1};
    Twice() { add("a", a), add("a", b); }
  };
  EXPECT_THROW(Twice(), Error);
}

TEST(Module, StatesGoThroughFiles) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);  // weights lie in memory in other ways
  const PrivateFolder folder;
  const std::string path = folder.file("layers.safetensors");
  Net a, b;
  a.eval(), b.eval();
  const Tensor x = Tensor::from(std::vector<float>{1, -2, 3, 0.5, 2, 2, -1, 0}, {2, 4});
  EXPECT_NE(floats(a(x)), floats(b(x)));
  nn::save(a, path);
  nn::load(b, path);
  EXPECT_EQ(floats(a(x)), floats(b(x)));
  EXPECT_TRUE(b.out.weight.requires_grad());
  std::filesystem::remove(path);
  EXPECT_THROW(nn::load(b, path), Error);
}

TEST(Module, AStateThatDoesNotFitChangesNothing) {
  const Net net;
  const std::vector<float> before = floats(net.hidden.weight);
  nn::NamedTensors state = net.state_dict();
  state.front().second = Tensor::zeros({8, 4});
  state.back().second = Tensor::zeros({3});
  EXPECT_THROW(net.load_state_dict(state), Error);
  state.pop_back();
  EXPECT_THROW(net.load_state_dict(state), Error);
  state.emplace_back("nobody", Tensor::zeros({2}));
  EXPECT_THROW(net.load_state_dict(state), Error);
  EXPECT_EQ(floats(net.hidden.weight), before);
}

TEST(Layers, TrainingAndNot) {
  Net net;
  const Tensor x = Tensor::from(std::vector<float>{1, -2, 3, 0.5, 2, 2, -1, 0}, {2, 4});
  const std::vector<float> before = floats(net.norm.running_mean);
  net(x).realize();
  EXPECT_NE(floats(net.norm.running_mean), before);
  net.eval();
  const std::vector<float> after = floats(net.norm.running_mean);
  EXPECT_EQ(floats(net(x)), floats(net(x)));
  EXPECT_EQ(floats(net.norm.running_mean), after);
  net.train();
  EXPECT_TRUE(net.drop.is_training());
}

TEST(Layers, BeginWithinTheirBounds) {
  manual_seed(5);
  const nn::Linear layer(64, 32);
  EXPECT_LE(layer.weight.abs().max().item(), 1.0 / 8);
  EXPECT_GE(layer.weight.abs().max().item(), 0.9 / 8);
  const nn::Conv2d conv(4, 8, 3);
  EXPECT_EQ(conv.weight.shape(), (Ints{8, 4, 3, 3}));
  EXPECT_LE(conv.weight.abs().max().item(), 1.0 / 6);
  EXPECT_NEAR(nn::kaiming_normal({200, 100}).std().item(), std::sqrt(2.0 / 100), 0.005);
  EXPECT_NEAR(nn::xavier_uniform({200, 100}).abs().max().item(), std::sqrt(6.0 / 300), 0.002);
  EXPECT_THROW(nn::fans({3}), Error);
  EXPECT_THROW(nn::Conv2d(3, 4, 3, {.groups = 2}), Error);
}

TEST(Layers, ShapesOfEach) {
  const Tensor sequence = Tensor::ones({2, 5, 8});
  EXPECT_EQ(nn::Conv1d(8, 4, 3, {.padding = 1})(Tensor::ones({2, 8, 6})).shape(), (Ints{2, 4, 6}));
  EXPECT_EQ(nn::Conv3d(2, 4, 2)(Tensor::ones({1, 2, 3, 3, 3})).shape(), (Ints{1, 4, 2, 2, 2}));
  EXPECT_EQ(nn::Embedding(10, 8)(Tensor::from({1, 2, 3})).shape(), (Ints{3, 8}));
  EXPECT_EQ(nn::LayerNorm({8})(sequence).shape(), sequence.shape());
  EXPECT_EQ(nn::RMSNorm({8})(sequence).shape(), sequence.shape());
  EXPECT_EQ(nn::GroupNorm(2, 8)(Tensor::ones({2, 8, 3})).shape(), (Ints{2, 8, 3}));
  EXPECT_EQ(nn::InstanceNorm(8)(Tensor::ones({2, 8, 3})).shape(), (Ints{2, 8, 3}));
  EXPECT_EQ(nn::MultiheadAttention(8, 2)(sequence, {.causal = true}).shape(), sequence.shape());
  EXPECT_EQ(nn::TransformerBlock(8, 2, 16)(sequence).shape(), sequence.shape());
  EXPECT_THROW(nn::MultiheadAttention(8, 3), Error);
  EXPECT_THROW(nn::LSTM(8, 4)(Tensor::ones({2, 8})), Error);
}

// --- tensors of modules ---

std::vector<std::string> names_of(const nn::NamedTensors& all) {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : all) out.push_back(name);
  return out;
}
bool is_same_tensor(const Tensor& a, const Tensor& b) { return TensorAccess::state(a) == TensorAccess::state(b); }
using Words = std::vector<std::string>;
template <class F>
void expect_refusal(const F& f, const std::string& part) {
  EXPECT_NE(complaint(f).find(part), std::string::npos) << complaint(f);
}

struct Holding : nn::Module {
  Tensor scale = Tensor::ones({2});
  std::optional<Tensor> shift;
  std::vector<Tensor> list = add_list("l", {Tensor::ones({1}), Tensor::zeros({3})});
  std::map<std::string, Tensor> table = add_map("d", {{"key", Tensor::ones({1})}});
  nn::Linear inner{2, 2, false};
  Holding() { add_member("scale", scale), add_member("shift", shift, {2}), add("inner", inner); }
};

TEST(Module, HasWhatItsMembersAre) {
  Holding net;
  EXPECT_EQ(names_of(net.named_parameters()), (Words{"l.0", "l.1", "d.key", "scale", "inner.weight"}));
  EXPECT_TRUE(is_same_tensor(net.parameters()[1], net.list[1]));
  EXPECT_TRUE(net.table.at("key").requires_grad());
  const Tensor t = Tensor::full({2}, 3.0).requires_grad(true);
  net.scale = t;
  net.shift = t;
  EXPECT_EQ(names_of(net.state_dict()), (Words{"l.0", "l.1", "d.key", "scale", "shift", "inner.weight"}));
  EXPECT_EQ(names_of(net.named_parameters()), (Words{"l.0", "l.1", "d.key", "scale", "inner.weight"}));
  EXPECT_EQ(net.parameters().size(), 5U);
  EXPECT_TRUE(is_same_tensor(net.parameters()[3], t));
  const Holding other;
  nn::NamedTensors state = net.state_dict();
  EXPECT_THROW(other.load_state_dict(state), Error);  // whose shift is absent
  std::erase_if(state, [](const auto& e) { return e.first == "scale"; });
  t.assign(Tensor::zeros({2}));
  net.load_state_dict(state);  // one of its names is enough
  std::erase_if(state, [](const auto& e) { return e.first == "shift"; });
  expect_refusal([&] { net.load_state_dict(state); }, "scale is missing");
}

TEST(Module, TakesTensorsThatFit) {
  Holding net;
  const Tensor w = Tensor::full({2, 2}, 0.5);
  net.set("inner.weight", w);
  EXPECT_TRUE(is_same_tensor(net.inner.weight, w) && w.requires_grad());
  EXPECT_TRUE(is_same_tensor(net.parameters().back(), w));
  net.set("shift", Tensor::ones({2}));
  EXPECT_EQ(net.parameters().size(), 6U);
  net.set("shift", std::nullopt);
  EXPECT_FALSE(net.shift.has_value());
  EXPECT_EQ(net.parameters().size(), 5U);
  const Tensor before = net.scale;
  expect_refusal([&] { net.set("scale", Tensor::ones({3})); }, "[Module] scale is of shape (2,), not (3,)");
  expect_refusal([&] { net.set("shift", Tensor::ones({3})); }, "[Module] shift is of shape (2,), not (3,)");
  expect_refusal([&] { net.set("scale", Tensor::ones({2}, dtypes::float64)); }, "is of f32, not f64");
  expect_refusal([&] { net.set("scale", std::nullopt); }, "[Module] scale may not be absent");
  expect_refusal([&] { net.set("scale", w[0] * 2); }, "cannot be the result of a computation with gradients");
  expect_refusal([&] { net.set("nothing", w); }, "[Module] there is no nothing");
  expect_refusal([&] { net.set("l.0", Tensor::ones({1})); }, "[Module] l.0 is not a data member");
  EXPECT_TRUE(is_same_tensor(net.scale, before));
  nn::BatchNorm norm(2);
  expect_refusal([&] { norm.set("running_mean", Tensor::ones({2}).requires_grad(true)); },
                 "running_mean is not a parameter");
  norm.set("running_mean", Tensor::ones({2}));
  EXPECT_FALSE(norm.running_mean.requires_grad());
}

TEST(Module, AnOptimiserHoldsWhatItWasGiven) {
  nn::Linear layer(2, 1, false);
  const Tensor old = layer.weight;
  nn::SGD optimizer(layer.parameters(), {.lr = 0.5});
  layer.weight = Tensor::ones({1, 2}).requires_grad(true);
  layer(Tensor::ones({1, 2})).sum().backward();
  expect_refusal([&] { optimizer.step(); }, "no parameter has a gradient");
  EXPECT_TRUE(is_same_tensor(optimizer.parameters()[0], old));
  EXPECT_EQ(floats(layer.weight), (std::vector<float>{1, 1}));
}

TEST(Layers, BeginUndefinedWhereThatIsSaid) {
  manual_seed(9);
  const std::vector<float> want = floats(rand({3}));
  manual_seed(9);
  {
    const nn::NoInitialValues none;
    const nn::TransformerBlock block(4, 2, 8);
    const nn::Embedding embedding(4, 2);
    const nn::Conv2d conv(2, 3, 3);
    const nn::LSTM lstm(2, 3);
    EXPECT_EQ(block.up.weight.shape(), (Ints{8, 4}));
  }
  EXPECT_EQ(floats(rand({3})), want);
}

/// All places in what would run are `line` of this file.
void expect_origin(const Tensor& y, const char* layer, unsigned line) {
  const std::string text = y.explain();
  const std::string want = detail::message(layer, ", written at ", __FILE__, ":", line, ")");
  std::size_t places = 0, ours = 0;
  for (std::size_t at = 0; (at = text.find("written at", at)) != std::string::npos; ++at) ++places;
  for (std::size_t at = 0; (at = text.find(want, at)) != std::string::npos; ++at) ++ours;
  EXPECT_GT(places, 0U) << layer;
  EXPECT_EQ(places, ours) << want << "\n" << text;
}

TEST(Layers, SayTheUsersLine) {
  const auto seen = [](const char* layer, const auto& l, const Tensor& x) {
    const auto y = l(x);
    const unsigned line = At::current().line() - 1;
    if constexpr (requires { y.output; })
      expect_origin(y.output, layer, line);
    else if constexpr (requires { y.first; })
      expect_origin(y.first, layer, line);
    else
      expect_origin(y, layer, line);
  };
  const Tensor row = rand({2, 4}), sequence = rand({1, 3, 4}), image = rand({1, 4, 3, 3}),
               volume = rand({1, 1, 4, 3, 3}), places = Tensor::from({0, 2});
  for (const Tensor& t : {row, sequence, image, volume, places}) t.realize();
  seen("Linear", nn::Linear(4, 2), row);
  seen("Conv", nn::Conv1d(3, 2, 1), sequence);
  seen("Conv", nn::Conv2d(4, 2, 1), image);
  seen("Conv", nn::Conv3d(1, 2, 1), volume);
  seen("Embedding", nn::Embedding(3, 2), places);
  seen("BatchNorm", nn::BatchNorm(4), image);
  seen("LayerNorm", nn::LayerNorm({4}), row);
  seen("GroupNorm", nn::GroupNorm(2, 4), image);
  seen("InstanceNorm", nn::InstanceNorm(4), image);
  seen("RMSNorm", nn::RMSNorm({4}), row);
  seen("Dropout", nn::Dropout(0.5), row);
  seen("MultiheadAttention", nn::MultiheadAttention(4, 2), sequence);
  seen("TransformerBlock", nn::TransformerBlock(4, 2, 8), sequence);
  seen("LSTM", nn::LSTM(4, 2), sequence);
  seen("GRU", nn::GRU(4, 2), sequence);
  const Tensor y = nn::kaiming_normal({3, 4});
  expect_origin(y, "kaiming_normal", At::current().line() - 1);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Layers, RecurrentOnesFollowTheirFormulas) {
  const auto all = [](const Tensor& t, float value) { t.assign(t.full_like(value)); };
  const Tensor x = Tensor::from(std::vector<float>{1, -1, 2}, {1, 3, 1});
  const nn::LSTM lstm(1, 1);
  for (const Tensor& t : lstm.parameters()) all(t, 0.5F);
  const nn::LSTM::Result y = lstm(x);
  double h = 0, c = 0;
  for (const double v : {1.0, -1.0, 2.0}) {
    const double gate = 0.5 * v + 0.5 * h + 1;
    c = sigmoid(gate) * c + sigmoid(gate) * std::tanh(gate);
    h = sigmoid(gate) * std::tanh(c);
  }
  EXPECT_NEAR(y.hidden.item(), h, 1e-6);
  EXPECT_NEAR(y.cell.item(), c, 1e-6);
  EXPECT_EQ(y.output.shape(), (Ints{1, 3, 1}));
  const nn::GRU gru(1, 1);
  for (const Tensor& t : gru.parameters()) all(t, 0.5F);
  double s = 0;
  for (const double v : {1.0, -1.0, 2.0}) {
    const double gate = sigmoid(0.5 * v + 0.5 * s + 1), next = std::tanh(0.5 * v + 0.5 + gate * (0.5 * s + 0.5));
    s = (1 - gate) * next + gate * s;
  }
  EXPECT_NEAR(gru(x).second.item(), s, 1e-6);
}

TEST(Layers, TwoLayersLearnExclusiveOr) {
  manual_seed(3);
  struct Xor : nn::Module {
    nn::Linear hidden{2, 8}, out{8, 1};
    Xor() { add("hidden", hidden), add("out", out); }
    Tensor operator()(const Tensor& x) const { return out(hidden(x).tanh()); }
  };
  const Xor net;
  const Tensor x = Tensor::from(std::vector<float>{0, 0, 0, 1, 1, 0, 1, 1}, {4, 2});
  const Tensor y = Tensor::from(std::vector<float>{0, 1, 1, 0}, {4, 1});
  nn::Adam optimizer(net.parameters(), {.lr = 0.05});
  double loss = 1;
  for (int step = 0; step < 200; ++step) {
    optimizer.zero_grad();
    const Tensor l = mse_loss(net(x), y);
    l.backward();
    optimizer.step();
    loss = l.item();
  }
  EXPECT_LT(loss, 0.01);
}

}  // namespace
}  // namespace strata::test
