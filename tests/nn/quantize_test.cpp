// Quantised layers in C++: a network of a user's, its names, files and refusals, and the arithmetic beside plain loops.

#include "strata/nn/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "strata/nn/layers.h"
#include "strata/runtime/posix_io.h"
#include "tests/base/errors.h"

namespace strata::test {
namespace {

struct BytesNet : nn::Module {
  nn::Conv2d first{2, 5, 3, {.stride = 2, .padding = 1}};
  nn::Linear hidden{5 * 12, 7}, out{7, 3, false};
  BytesNet() { add("first", first), add("hidden", hidden), add("out", out); }
  Tensor operator()(const Tensor& x) const { return out(hidden(first(x).relu().flatten(1)).relu()); }
};

std::vector<float> wave(std::size_t count, float step) {
  std::vector<float> out;
  for (std::size_t k = 0; k < count; ++k) out.push_back(std::sin(static_cast<float>(k) * step) * 2 + 0.25F);
  return out;
}
Tensor pictures(float step) { return Tensor::from(wave(3 * 2 * 8 * 6, step), {3, 2, 8, 6}); }

/// What quantize.h says of one Linear layer, in plain loops.
std::vector<float> by_loops(const std::vector<float>& x, const nn::Linear& layer, float low, float high,
                            const std::vector<float>& w, const std::vector<float>& b) {
  const auto in = static_cast<std::size_t>(layer.weight.size(1).value()), out = b.size();
  const float input_scale = (high - low) / 255;
  const auto zero = static_cast<std::int32_t>(std::min(std::nearbyint(-low / input_scale), 255.0F));
  std::vector<float> y;
  for (std::size_t row = 0; row < x.size() / in; ++row)
    for (std::size_t o = 0; o < out; ++o) {
      float most = 0;
      for (std::size_t k = 0; k < in; ++k) most = std::max(most, std::abs(w[o * in + k]));
      const float step = std::max({most / 127, std::abs(b[o]) / (input_scale * 0x1p30F), 0x1p-60F});
      const float scale = input_scale * step;
      auto sum = static_cast<std::int32_t>(std::nearbyint(b[o] / scale));
      for (std::size_t k = 0; k < in; ++k) {
        const float q = std::nearbyint(x[row * in + k] / input_scale) + static_cast<float>(zero);
        const auto byte = static_cast<std::int32_t>(std::clamp(q, 0.0F, 255.0F));
        sum += (byte - zero) * static_cast<std::int32_t>(std::nearbyint(w[o * in + k] / step));
      }
      y.push_back(static_cast<float>(sum) * scale);
    }
  return y;
}

TEST(Quantize, ALayerIsWhatLoopsCompute) {
  nn::Linear layer(9, 4);
  layer.eval();
  const std::vector<float> w = layer.weight.to_vector<float>(), b = layer.bias->to_vector<float>(), x = wave(27, 0.7F);
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const Tensor input = Tensor::from(x, {3, 9});
  nn::quantize(layer, {input});
  EXPECT_EQ(layer.weight.dtype(), dtypes::int8);
  EXPECT_EQ(layer(input).to_vector<float>(), by_loops(x, layer, std::min(*low, 0.0F), std::max(*high, 0.0F), w, b));
}

TEST(Quantize, ANetworkOfAUser) {
  const PrivateFolder folder;
  BytesNet net, other;
  net.eval(), other.eval();
  std::vector<std::string> names;
  for (const auto& [name, module] : net.named_modules()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"", "first", "hidden", "out"}));
  const Tensor x = pictures(0.37F);
  const std::vector<float> before = net(x).to_vector<float>();
  nn::quantize(net, {x, pictures(0.2F)}, {.exclude = {"out"}});
  EXPECT_TRUE(net.first.is_quantized() && net.hidden.is_quantized() && !net.out.is_quantized());
  EXPECT_EQ(net.parameters().size(), 1U);
  const std::vector<float> after = net(x).to_vector<float>();
  float most = 0, worst = 0;
  for (std::size_t k = 0; k < before.size(); ++k) {
    most = std::max(most, std::abs(before[k]));
    worst = std::max(worst, std::abs(before[k] - after[k]));
  }
  EXPECT_GT(worst, 0);
  EXPECT_LT(worst, most * 0.05F);
  const std::string path = folder.file("net.safetensors");
  nn::save(net, path);
  EXPECT_THROW(nn::load(other, path), Error);  // floats
  nn::quantize(other, {x}, {.exclude = {"out"}});
  nn::load(other, path);
  EXPECT_EQ(other(x).to_vector<float>(), after);
}

TEST(Quantize, NamesOfDerivedClasses) {
  struct Scaled : nn::Linear {
    Tensor scale = Tensor::ones({1});
    explicit Scaled(const char* name) : nn::Linear(2, 2) { add_member(name, scale); }
  };
  Scaled free("scale"), taken("input_scale");
  free.eval(), taken.eval();
  const Tensor x = Tensor::ones({1, 2});
  nn::quantize(free, {x});
  EXPECT_TRUE(free.is_quantized());
  EXPECT_NE(complaint([&] { nn::quantize(taken, {x}); }).find("input_scale is given twice"), std::string::npos);
  EXPECT_FALSE(taken.is_quantized());
  EXPECT_EQ(taken.state_dict().size(), 3U);
}

TEST(Quantize, WhatIsRefusedChangesNothing) {
  BytesNet net;
  const Tensor x = pictures(0.3F);
  const auto refuse = [&](std::string_view words, const auto& run) {
    const std::string said = complaint(run);
    EXPECT_NE(said.find(words), std::string::npos) << words << ": " << said;
    EXPECT_FALSE(net.first.is_quantized() || net.hidden.is_quantized() || net.out.is_quantized());
  };
  refuse("is in training", [&] { nn::quantize(net, {x}); });
  net.eval();
  refuse("no calibration inputs", [&] { nn::quantize(net, std::vector<Tensor>{}); });
  refuse("no calibration input reached the layer first", [&] { nn::quantize(net, std::function<void()>([] {})); });
  refuse("layer first are not all finite", [&] { nn::quantize(net, {x, x / 0.0}); });
  refuse("there is no module last", [&] { nn::quantize(net, {x}, {.exclude = {"last"}}); });
  refuse("a percentile of 101.0", [&] { nn::quantize(net, {x}, {.percentile = 101}); });
  refuse("weight is of f32, not i8", [&] {
    net.out.set_quantized({{"weight", net.out.weight}, {"bias", x}, {"output_scale", x}, {"a", x}, {"b", x}});
  });
}

}  // namespace
}  // namespace strata::test
