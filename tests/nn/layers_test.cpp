// Modules: names, states, files, training and not; layers against what they are made of.

#include "strata/nn/layers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "strata/engine/generator.h"
#include "strata/nn/optim.h"
#include "strata/runtime/posix_io.h"

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
  EXPECT_EQ(names, (std::vector<std::string>{"hidden.weight", "hidden.bias", "norm.weight",
                                             "norm.bias", "norm.running_mean", "norm.running_var",
                                             "out.weight", "out.bias"}));
  EXPECT_EQ(net.parameters().size(), 6U);
  struct Twice : nn::Module {
    nn::Linear a{1, 1}, b{1, 1};
    Twice() { add("a", a), add("a", b); }
  };
  EXPECT_THROW(Twice(), Error);
}

TEST(Module, StatesGoThroughFiles) {
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
    const double gate = sigmoid(0.5 * v + 0.5 * s + 1),
                 next = std::tanh(0.5 * v + 0.5 + gate * (0.5 * s + 0.5));
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
