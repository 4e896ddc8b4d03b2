// to_onnx() in C++, and the writer of files: what is written reads back as the same Definition.
#include "strata/onnx/to_onnx.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "strata/nn/layers.h"
#include "strata/onnx/model.h"
#include "strata/onnx/reader.h"
#include "strata/onnx/writer.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/random.h"

namespace strata::onnx {
namespace {

namespace fs = std::filesystem;

Tensor result_of(const Model& m, const NamedValues& given) { return m(given)[0].second.tensor(); }

TEST(ToOnnx, WritesACapturedFunction) {
  if (!has_reader()) GTEST_SKIP();
  const nn::Linear layer(3, 2);
  auto f = jit([&](const Tensor& x) { return layer(x).relu(); });
  const Tensor x = rand({4, 3});
  f(x), f(x);
  const auto m = parse(to_onnx_bytes(f, {.inputs = {"in"}, .outputs = {"out"}, .parameters = layer.state_dict()}));
  EXPECT_EQ(m->inputs()[0].type_text(), "f32[4, 3]");
  EXPECT_EQ(m->outputs()[0].name, "out");
  std::vector<std::string> names;
  for (const auto& [name, p] : m->named_parameters()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"weight", "bias"}));
  const std::vector<float> expected = layer(x).relu().to_vector<float>(),
                           got = result_of(*m, {{"in", x}}).to_vector<float>();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], expected[k], 1e-6);
}

TEST(ToOnnx, FilesAreReplacedAtOnceOrNotAtAll) {
  if (!has_reader()) GTEST_SKIP();
  const fs::path folder = fs::path(testing::TempDir()) / "to_onnx_files";
  fs::remove_all(folder);
  fs::create_directory(folder);
  const fs::path path = folder / "f.onnx";
  std::ofstream(path) << "before";
  auto bad = jit([](const Tensor& x) { return x.bitcast(dtypes::int32); });
  const Tensor x = Tensor::ones({2});
  bad(x), bad(x);
  EXPECT_THROW(to_onnx(bad, path), Error);
  EXPECT_EQ(fs::file_size(path), 6U);
  auto good = jit([](const Tensor& t) { return t + 1; });
  EXPECT_THROW(to_onnx(good, path), Error);  // never called
  good(x);
  EXPECT_THROW(to_onnx(good, path), Error);  // not captured
  good(x);
  EXPECT_THROW(to_onnx(good, folder / "none" / "f.onnx"), Error);
  to_onnx(good, path);
  EXPECT_EQ(result_of(*load(path.string()), {{"x", x}}).to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST(ToOnnx, TracingLeavesEverythingAsItWas) {
  if (!has_reader()) GTEST_SKIP();
  Tensor w = Tensor::ones({2});
  w.requires_grad(true);
  Tensor total = Tensor::zeros({2}).realize();
  auto f = jit([&](const Tensor& x) {
    w.set_grad(std::nullopt);
    const Tensor loss = (x * w).sum();
    loss.backward();
    total.assign(total + x);
    return loss;
  });
  const Tensor x = Tensor::full({2}, 3);
  f(x), f(x);
  const std::vector<float> gradient = w.grad()->to_vector<float>();
  try {
    to_onnx_bytes(f);
    FAIL() << "a function with state was written";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_EQ(e.kind(), ErrorKind::undefined);
    EXPECT_NE(text.find("2 operations"), std::string::npos) << text;
    EXPECT_NE(text.find("assigns to a tensor of shape (2,)"), std::string::npos) << text;
    EXPECT_NE(text.find("changes the gradient of a tensor of shape (2,)"), std::string::npos) << text;
  }
  EXPECT_EQ(total.to_vector<float>(), (std::vector<float>{6, 6}));
  EXPECT_EQ(w.grad()->to_vector<float>(), gradient);
  f(x);
  EXPECT_EQ(total.to_vector<float>(), (std::vector<float>{9, 9}));
}

TEST(ToOnnx, GradientsAreFunctionsLikeOthers) {
  if (!has_reader()) GTEST_SKIP();
  const Tensor w = rand({3, 3});
  auto f = jit([&](const Tensor& x) { return grad([&](const Tensor& t) { return (t.matmul(w)).tanh().sum(); })(x); });
  const Tensor x = rand({2, 3});
  f(x), f(x);
  const auto m = parse(to_onnx_bytes(f));
  const std::vector<float> expected = f(x).to_vector<float>(), got = result_of(*m, {{"x", x}}).to_vector<float>();
  for (std::size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], expected[k], 1e-5);
}

/// Every model of ONNX's own tests, written and read again, is the same file from then on.
TEST(OnnxWriter, WritesWhatTheReaderReads) {
  const fs::path data = "/usr/include/onnx/backend/test/data";
  if (!has_reader() || !fs::exists(data)) GTEST_SKIP();
  std::size_t same = 0, refused = 0;
  for (const auto& entry : fs::recursive_directory_iterator(data)) {
    if (entry.path().filename() != "model.onnx" || fs::file_size(entry.path()) > 1 << 20) continue;
    try {
      const Definition first = read_model(entry.path().string());
      const std::string once = write_definition(first);
      const Definition second = read_definition(once, "", "written");
      ASSERT_EQ(second.graphs.size(), first.graphs.size());
      for (std::size_t g = 0; g < first.graphs.size(); ++g) {
        ASSERT_EQ(second.graphs[g].nodes.size(), first.graphs[g].nodes.size());
        ASSERT_EQ(second.graphs[g].initializers.size(), first.graphs[g].initializers.size());
        for (std::size_t k = 0; k < first.graphs[g].nodes.size(); ++k)
          ASSERT_EQ(second.graphs[g].nodes[k].text(), first.graphs[g].nodes[k].text());
      }
      ASSERT_EQ(write_definition(second), once) << entry.path();
      ++same;
    } catch (const Error& e) {
      ASSERT_EQ(e.kind(), ErrorKind::undefined) << entry.path() << e.what();
      ++refused;
    }
  }
  EXPECT_GT(same, 900U);
  EXPECT_LT(refused, 120U);
}

}  // namespace
}  // namespace strata::onnx
