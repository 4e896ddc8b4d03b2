// Models that the tests write: inputs and outputs by name, parameters, sizes of each call, functions, control flow.
#include "strata/onnx/model.h"

#include <gtest/gtest.h>

#include "strata/onnx/reader.h"
#include "tests/onnx/model_writer.h"

namespace strata::onnx {
namespace {

using namespace onnx_writer;

TEST(OnnxModel, RunsByName) {
  if (!has_reader()) GTEST_SKIP();
  const auto m = parse(model({.nodes = {node("MatMul", {"x", "w"}, {"y"}), node("Relu", {"y"}, {"z"})},
                              .inputs = {port("x", kFloat, {-1, 2})},
                              .outputs = {port("z", kFloat, {-1, 2})},
                              .initializers = {floats("w", {2, 2}, {1, -1, 2, 3})}}));
  EXPECT_EQ(m->inputs()[0].type_text(), "f32[n, 2]");
  EXPECT_EQ(m->named_parameters()[0].first, "w");
  const NamedValues z = (*m)({{"x", Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2})}});
  EXPECT_EQ(z[0].first, "z");
  EXPECT_EQ(z[0].second.tensor().to_vector<float>(), (std::vector<float>{5, 5, 11, 9}));
  EXPECT_EQ((*m)(Tensor::ones({1, 2})).to_vector<float>(), (std::vector<float>{3, 2}));
}

}  // namespace
}  // namespace strata::onnx
