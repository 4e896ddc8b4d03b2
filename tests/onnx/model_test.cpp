// Models that the tests write: inputs and outputs by name, parameters, sizes of each call, functions, control flow.
#include "strata/onnx/model.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

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

/// The elements of the model's output.
std::vector<float> run_on(const Model& m, const Tensor& x) { return m(x).to_vector<float>(); }

TEST(OnnxModel, ShapesAreComputedOnTheHost) {
  if (!has_reader()) GTEST_SKIP();
  // y = x.reshape(x.shape[1], x.shape[0] * 1): the shape is made by Shape, Gather, Mul, Unsqueeze and Concat.
  const auto m =
      parse(model({.nodes = {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"rows"}),
                             node("Gather", {"s", "one"}, {"columns"}), node("Mul", {"rows", "one"}, {"r"}),
                             node("Unsqueeze", {"r", "axis"}, {"r1"}), node("Unsqueeze", {"columns", "axis"}, {"c1"}),
                             node("Concat", {"c1", "r1"}, {"shape"}, {attribute("axis", 0)}),
                             node("Reshape", {"x", "shape"}, {"y"})},
                   .inputs = {port("x", kFloat, {-1, 3})},
                   .outputs = {port("y", kFloat, {3, -1})},
                   .initializers = {tensor("zero", kInt64, {}, raw(Sizes{0})), tensor("one", kInt64, {}, raw(Sizes{1})),
                                    integers("axis", {0})}}));
  const Tensor y = (*m)(Tensor::ones({4, 3}) * 2);
  EXPECT_FALSE(y.is_realized());
  EXPECT_EQ(sizes_of(y), (Sizes{3, 4}));
  EXPECT_EQ(sizes_of((*m)(Tensor::ones({7, 3}))), (Sizes{3, 7}));
}

/// A loop of n steps that doubles v and collects it.
std::string doubling_loop() {
  const std::string body =
      graph({.nodes = {node("Add", {"v", "v"}, {"w"}), node("Identity", {"go"}, {"goes"}),
                       node("Add", {"w", "outer"}, {"c"})},
             .inputs = {port("i", kInt64, {}), port("go", kBool, {}), port("v", kFloat, {2})},
             .outputs = {port("goes", kBool, {}), port("w", kFloat, {2}), port("c", kFloat, {2})}});
  return model({.nodes = {node("Relu", {"x"}, {"outer"}),
                          node("Loop", {"n", "", "x"}, {"last", "all"}, {graph_attribute("body", body)})},
                .inputs = {port("x", kFloat, {2}), port("n", kInt64, {})},
                .outputs = {port("last", kFloat, {2}), port("all", kFloat, {-1, 2})}});
}

TEST(OnnxModel, LoopsCarryAndCollect) {
  if (!has_reader()) GTEST_SKIP();
  const auto m = parse(doubling_loop());
  const Tensor x = Tensor::from({1.0F, -1.0F});
  const NamedValues three = (*m)({{"x", x}, {"n", Tensor(std::int64_t{3})}});
  EXPECT_EQ(three[0].second.tensor().to_vector<float>(), (std::vector<float>{8, -8}));
  EXPECT_EQ(three[1].second.tensor().to_vector<float>(), (std::vector<float>{3, -2, 5, -4, 9, -8}));
  const NamedValues none = (*m)({{"x", x}, {"n", Tensor(std::int64_t{0})}});
  EXPECT_EQ(none[0].second.tensor().to_vector<float>(), (std::vector<float>{1, -1}));
  EXPECT_EQ(none[1].second.type_text(), "f32(0, 2)");
}

/// How often each operator runs in a call.
std::map<std::string, int> runs_of(const Model& m, const NamedValues& inputs) {
  std::map<std::string, int> out;
  m.run(inputs, [&](const Node& n, const std::vector<Datum>&) { ++out[n.op]; });
  return out;
}

TEST(OnnxModel, ALoopIsOneNode) {
  if (!has_reader()) GTEST_SKIP();
  const NamedValues inputs = {{"x", Tensor::from({1.0F, -1.0F})}, {"n", Tensor(std::int64_t{5})}};
  // The body is traced once, whatever the count.
  const auto m = parse(doubling_loop());
  EXPECT_EQ(runs_of(*m, inputs), (std::map<std::string, int>{{"Add", 2}, {"Identity", 1}, {"Loop", 1}, {"Relu", 1}}));
  EXPECT_FALSE((*m)(inputs)[0].second.tensor().is_realized());
  EXPECT_EQ((*m)(inputs)[0].second.tensor().to_vector<float>(), (std::vector<float>{32, -32}));
  // A shape that follows from elements: the steps run on the host.
  const auto body = [](const std::string& more) {
    return graph(
        {.nodes = {node("Add", {"v", "v"}, {"w"}), node("Identity", {"go"}, {"goes"}), node(more, {"v"}, {"s"})},
         .inputs = {port("i", kInt64, {}), port("go", kBool, {}), port("v", kFloat, {2})},
         .outputs = {port("goes", kBool, {}), port("w", kFloat, {2})}});
  };
  const auto looping = [&](const std::string& more) {
    return parse(model({.nodes = {node("Loop", {"n", "", "x"}, {"y"}, {graph_attribute("body", body(more))})},
                        .inputs = {port("x", kFloat, {2}), port("n", kInt64, {})},
                        .outputs = {port("y", kFloat, {2})}}));
  };
  EXPECT_EQ(runs_of(*looping("Shape"), inputs)["Add"], 1);
  EXPECT_EQ(runs_of(*looping("NonZero"), inputs)["Add"], 5);
  EXPECT_EQ((*looping("NonZero"))(inputs)[0].second.tensor().to_vector<float>(), (std::vector<float>{32, -32}));
}

TEST(OnnxModel, StepsOfALoopCountAsNodes) {
  if (!has_reader()) GTEST_SKIP();
  const auto m = parse(doubling_loop(), {.most_steps = 40});
  const auto run = [&](std::int64_t n) { return runs_of(*m, {{"x", Tensor::from({1.0F, -1.0F})}, {"n", Tensor(n)}}); };
  EXPECT_EQ(run(9)["Add"], 2);  // 9 * (3 + 1) + 2
  EXPECT_THROW(run(10), Error);
}

TEST(OnnxModel, BranchesSeeNamesAround) {
  if (!has_reader()) GTEST_SKIP();
  const auto branch = [](const std::string& op, const std::string& name) {
    return graph({.nodes = {node(op, {"x", "w"}, {name})}, .outputs = {port(name, kFloat, {2})}});
  };
  const auto m = parse(model({.nodes = {node("If", {"c"}, {"y"},
                                             {graph_attribute("then_branch", branch("Add", "a")),
                                              graph_attribute("else_branch", branch("Mul", "b"))})},
                              .inputs = {port("x", kFloat, {2}), port("c", kBool, {})},
                              .outputs = {port("y", kFloat, {2})},
                              .initializers = {floats("w", {2}, {10, 20})}}));
  const Tensor x = Tensor::from({1.0F, 2.0F});
  EXPECT_EQ((*m)({{"x", x}, {"c", Tensor(true)}})[0].second.tensor().to_vector<float>(), (std::vector<float>{11, 22}));
  EXPECT_EQ((*m)({{"x", x}, {"c", Tensor(false)}})[0].second.tensor().to_vector<float>(), (std::vector<float>{10, 40}));
}

TEST(OnnxModel, FunctionsGetAttributesOfTheCall) {
  if (!has_reader()) GTEST_SKIP();
  const std::string reference = bytes(1, "alpha") + integer(20, 1) + bytes(21, "slope");
  const std::string function = bytes(25, bytes(1, "Leak") + bytes(4, "a") + bytes(5, "b") + bytes(6, "slope") +
                                             bytes(7, node("LeakyRelu", {"a"}, {"b"}, {reference})) +
                                             bytes(9, integer(2, 17)) + bytes(10, "mine"));
  const std::string half = bytes(1, "slope") + number(2, 0.5F) + integer(20, 1);
  const auto m =
      parse(model({.nodes = {node("Leak", {"x"}, {"h"}, {half}, "mine"), node("Leak", {"h"}, {"y"}, {}, "mine")},
                   .inputs = {port("x", kFloat, {2})},
                   .outputs = {port("y", kFloat, {2})}}) +
            opset(1, "mine") + function);
  // The second call leaves the attribute out: LeakyRelu has its default, 0.01.
  EXPECT_EQ(run_on(*m, Tensor::from({4.0F, -200.0F})), (std::vector<float>{4, -1}));
}

TEST(OnnxModel, InputsWithValuesMayBeGiven) {
  if (!has_reader()) GTEST_SKIP();
  const auto m = parse(model({.nodes = {node("Add", {"x", "w"}, {"y"})},
                              .inputs = {port("x", kFloat, {1}), port("w", kFloat, {1})},
                              .outputs = {port("y", kFloat, {1})},
                              .initializers = {floats("w", {1}, {5})}}));
  EXPECT_EQ(m->inputs().size(), 1U);
  EXPECT_EQ(m->optional_inputs()[0].name, "w");
  const Tensor x = Tensor::from({1.0F});
  EXPECT_EQ(run_on(*m, x), std::vector<float>{6});
  EXPECT_EQ((*m)({{"x", x}, {"w", x}})[0].second.tensor().to_vector<float>(), std::vector<float>{2});
  m->state_dict()[0].second.assign(Tensor::from({7.0F}));
  EXPECT_EQ(run_on(*m, x), std::vector<float>{8});
}

TEST(OnnxModel, ThreadsShareAModel) {
  if (!has_reader()) GTEST_SKIP();
  const auto m = parse(
      model({.nodes = {node("Mul", {"x", "x"}, {"s"}), node("ReduceSum", {"s"}, {"y"}, {attribute("keepdims", 0)})},
             .inputs = {port("x", kFloat, {-1})},
             .outputs = {port("y", kFloat, {})}}));
  std::vector<std::thread> threads;
  std::vector<float> sums(4);
  for (std::size_t k = 0; k < sums.size(); ++k)
    threads.emplace_back([&, k] { sums[k] = run_on(*m, Tensor::ones({static_cast<std::int64_t>(k) + 1}) * 2)[0]; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, (std::vector<float>{4, 8, 12, 16}));
}

TEST(OnnxModel, RefusesInputsThatDoNotFit) {
  if (!has_reader()) GTEST_SKIP();
  const std::string bytes_of_model = model({.nodes = {node("Add", {"x", "z"}, {"y"})},
                                            .inputs = {port("x", kFloat, {-1, 2}), port("z", kFloat, {-1, 2})},
                                            .outputs = {port("y", kFloat, {-1, 2})}});
  const auto m = parse(bytes_of_model);
  const auto refusal = [&](const NamedValues& given) {
    try {
      (*m)(given);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const Tensor a = Tensor::ones({3, 2}), b = Tensor::ones({4, 2});
  EXPECT_EQ(refusal({{"x", a}}), "[onnx] the input \"z\" (f32[n, 2]) is missing");
  EXPECT_EQ(refusal({{"x", a}, {"z", b}}), "[onnx] the input \"z\" is f32[n, 2], not f32(4, 2): n is 3 already");
  EXPECT_EQ(refusal({{"x", a}, {"z", Texts{{1}, {"t"}}}}), "[onnx] the input \"z\" is f32[n, 2], not texts[1]");
  EXPECT_EQ(refusal({{"x", a}, {"z", a}, {"w", a}}), "[onnx] the model has no input \"w\"");
  EXPECT_EQ(refusal({{"x", a}, {"x", a}, {"z", a}}), "[onnx] the input \"x\" is given twice");
  EXPECT_EQ(refusal({{"x", a}, {"z", a}}), "");
  // Without the check the operators decide.
  const auto lenient = parse(bytes_of_model, {.checks_sizes = false});
  EXPECT_EQ(sizes_of((*lenient)({{"x", Tensor::ones({1, 5})}, {"z", Tensor::ones({3, 5})}})[0].second.tensor()),
            (Sizes{3, 5}));
}

}  // namespace
}  // namespace strata::onnx
