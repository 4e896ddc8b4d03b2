// `strata run`, `strata inspect` and `strata export`.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "strata/nn/npy.h"
#include "strata/onnx/reader.h"
#include "tests/onnx/model_writer.h"
#include "tests/tools/command_line.h"

namespace strata::tools {
namespace {

using namespace onnx_writer;

/// A folder of its own, removed at the end.
class OnnxFolder {
 public:
  OnnxFolder() : path_(testing::TempDir() + "strata_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(path_);
  }
  ~OnnxFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

std::string product_and_relu() {
  return model({.nodes = {node("MatMul", {"x", "w"}, {"p"}), node("Relu", {"p"}, {"y"}), node("Shape", {"y"}, {"s"})},
                .inputs = {port("x", kFloat, {-1, 2})},
                .outputs = {port("y", kFloat, {-1, 2}), port("s", kInt64, {2})},
                .initializers = {floats("w", {2, 2}, {1, -1, 2, 3})}});
}

TEST(OnnxCommands, Run) {
  if (!onnx::has_reader()) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path = folder.write("m.onnx", product_and_relu());
  const std::vector<float> x = {1, 2, 3, 4};
  write_npy(folder.file("x.npy"), {dtypes::float32, {2, 2}, Buffer::fromCPU(x)});
  const Output ran = run({"run", path, "--device", "INTERP", "--input", folder.file("x.npy"), "--output",
                          folder.file("y.npy"), "--output", "s=" + folder.file("s.npy")});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.out.find("output      y: f32(2, 2)\n            5.0 5.0 11.0 9.0\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("s: i64(2,)\n            2 2\n"), std::string::npos) << ran.out;
  EXPECT_EQ(read_npy(folder.file("y.npy")).data[3].as_double(), 9);
  EXPECT_EQ(read_npy(folder.file("s.npy")).data[0].as_int(), 2);
  const Output random = run({"run", path, "--device", "INTERP", "--random", "--size", "n=5", "--json"});
  EXPECT_EQ(random.status, 0) << random.err;
  EXPECT_NE(random.out.find("{\"outputs\":[{\"name\":\"y\",\"type\":\"f32(5, 2)\",\"elements\":"), std::string::npos)
      << random.out;
}

TEST(OnnxCommands, RunRefuses) {
  if (!onnx::has_reader()) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path = folder.write("m.onnx", product_and_relu());
  const Output missing = run({"run", path, "--device", "INTERP"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.err.find("the input \"x\" (f32[n, 2]) is missing"), std::string::npos) << missing.err;
  EXPECT_EQ(run({"run", path, "--size", "n"}).status, 2);
  EXPECT_EQ(run({"run", path, "--random", "--size", "n"}).status, 2);
  EXPECT_EQ(run({"run", path, "--random", "--size", "n=-1"}).status, 2);
  EXPECT_EQ(run({"run", folder.write("bad.onnx", "no model")}).status, 1);
  EXPECT_EQ(run({"run", path, "--device", "INTERP", "--random", "--output", "z=" + folder.file("z.npy")}).status, 1);
}

TEST(OnnxCommands, Inspect) {
  if (!onnx::has_reader()) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path = folder.write("m.onnx", product_and_relu());
  const Output shown = run({"inspect", path, "--device", "INTERP", "--size", "n=4"});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_EQ(shown.out,
            "operator  node  outputs\n"
            "MatMul    p     f32(4, 2)\n"
            "Relu      y     f32(4, 2)\n"
            "Shape     s     i64(2,)\n"
            "\n"
            "opset       ai.onnx 17\n"
            "inputs      x: f32[n, 2]\n"
            "outputs     y: f32[n, 2]\n"
            "            s: i64[2]\n"
            "operators   MatMul 1, Relu 1, Shape 1\n"
            "parameters  4  (16 bytes)\n"
            "memory      0 bytes of intermediate results\n"
            "            32 bytes of inputs\n"
            "            48 bytes of outputs\n");
  const Output json = run({"inspect", path, "--device", "INTERP", "--json"});
  EXPECT_NE(json.out.find(R"("operators":{"MatMul":1,"Relu":1,"Shape":1},"parameters":4,"parameter_bytes":16,)"
                          R"("input_bytes":8,"output_bytes":24,"intermediate_bytes":0,"unshared_bytes":0,"loops":0})"),
            std::string::npos)
      << json.out;
}

/// Products in a row: each reads all of the one in front, so each is a kernel of its own.
std::string products() {
  return model({.nodes = {node("MatMul", {"x", "w"}, {"a"}), node("MatMul", {"a", "w"}, {"b"}),
                          node("MatMul", {"b", "w"}, {"c"}), node("MatMul", {"c", "w"}, {"y"})},
                .inputs = {port("x", kFloat, {-1, 16})},
                .outputs = {port("y", kFloat, {-1, 16})},
                .initializers = {floats("w", {16, 16}, std::vector<float>(256, 1))}});
}

TEST(OnnxCommands, InspectPlansMemory) {
  if (!onnx::has_reader()) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path = folder.write("m.onnx", products());
  const auto shown = [&](const std::string& size) {
    return run({"inspect", path, "--device", "INTERP", "--size", size}).out;
  };
  // Two results are alive at a time; rows of 64 bytes.
  EXPECT_NE(shown("n=8").find("memory      1.00 KiB of intermediate results  (1.50 KiB without reuse)\n"
                              "            512 bytes of inputs\n            512 bytes of outputs\n"),
            std::string::npos)
      << shown("n=8");
  EXPECT_NE(
      shown("n=1..8").find("memory      at most 1.00 KiB of intermediate results  (at most 1.50 KiB without reuse)\n"
                           "            at most 512 bytes of inputs\n"),
      std::string::npos)
      << shown("n=1..8");
}

TEST(OnnxCommands, InspectSaysWhyMemoryIsUnknown) {
  if (!onnx::has_reader()) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path =
      folder.write("m.onnx", model({.nodes = {node("Relu", {"k"}, {"p"}), node("Expand", {"x", "p"}, {"y"})},
                                    .inputs = {port("x", kFloat, {1}), port("k", kInt64, {1})},
                                    .outputs = {port("y", kFloat, {-1})}}));
  const Output out = run({"inspect", path, "--device", "INTERP"});
  EXPECT_NE(
      out.out.find("memory      that of intermediate results is known in a run alone: elements of the input \"k\" "
                   "decide on a branch, a loop or a size\n"),
      std::string::npos)
      << out.out << out.err;
  const Output json = run({"inspect", path, "--device", "INTERP", "--json"});
  EXPECT_NE(json.out.find(R"("memory_unknown":"elements of the input \"k\" decide on)"), std::string::npos) << json.out;
}

TEST(OnnxCommands, InspectShowsWhatIsRefused) {
  if (!onnx::has_reader()) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path =
      folder.write("m.onnx", model({.nodes = {node("Frobnicate", {"x"}, {"y"}), node("Relu", {"y"}, {"z"})},
                                    .inputs = {port("x", kFloat, {2})},
                                    .outputs = {port("z", kFloat, {2})}}));
  const Output shown = run({"inspect", path, "--device", "INTERP"});
  EXPECT_EQ(shown.status, 1);
  EXPECT_NE(shown.out.find("Frobnicate  y\nRelu        z\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.err.find("1 nodes need operators that Strata lacks:\n  node \"y\" (Frobnicate) of version 17"),
            std::string::npos)
      << shown.err;
}

std::string text_of_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(OnnxCommands, Export) {
  if (!onnx::has_reader()) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path = folder.write("m.onnx", product_and_relu()), to = folder.file("net");
  const Output written = run({"export", path, "--device", "INTERP", "-o", to, "--size", "n=4", "--selftest"});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_NE(written.out.find("files       " + to + ".h"), std::string::npos) << written.out;
  EXPECT_NE(written.out.find(to + "_test.c"), std::string::npos) << written.out;
  const std::string header = text_of_file(to + ".h");
  EXPECT_NE(header.find("const float *x,\n    float *y,\n    int64_t *s,"), std::string::npos) << header;
  EXPECT_NE(header.find("#define NET_X_ELEMENTS 8\n"), std::string::npos) << header;
  EXPECT_NE(text_of_file(to + "_test.c").find("y_known"), std::string::npos);
  const Output json = run({"export", path, "--device", "INTERP", "--output=" + to, "--weights", "pointer", "--json"});
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_NE(json.out.find("net.bin\"],\"arena_bytes\":"), std::string::npos) << json.out;
}

TEST(OnnxCommands, ExportForSeveralTargets) {
  if (!onnx::has_reader()) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path = folder.write("m.onnx", product_and_relu()), to = folder.file("net");
  const std::vector<std::string> words = {"export", path, "--device", "INTERP", "-o", to, "--target"};
  const auto with = [&](const char* targets) {
    auto out = words;
    out.emplace_back(targets);
    return run(out);
  };
  const Output written = with("avx512,avx2,generic");
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_NE(text_of_file(to + ".h").find("for the targets avx512,avx2,generic"), std::string::npos);
  EXPECT_NE(with("avx2,generc").err.find("--target has 'generc', not one of"), std::string::npos);
  EXPECT_NE(with("generic,avx2,plain").err.find("has \"generic\", which is in front of it"), std::string::npos);
}

TEST(OnnxCommands, ExportOfKernels) {
  if (!onnx::has_reader()) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path = folder.write("m.onnx", product_and_relu()), to = folder.file("net");
  const Output written = run({"export", path, "--device", "INTERP", "-o", to, "--kernels", "cuda"});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_NE(written.out.find("files       " + to + ".json"), std::string::npos) << written.out;
  EXPECT_NE(text_of_file(to + ".cu").find("__global__ void net_k0("), std::string::npos);
  const Output refused = run({"export", path, "--device", "INTERP", "-o", to, "--kernels", "metal"});
  EXPECT_NE(refused.err.find("cannot be written in metal: [render] Metal has no i64"), std::string::npos)
      << refused.err;
  EXPECT_EQ(run({"export", path, "-o", to, "--kernels", "glsl"}).status, 2);
}

TEST(OnnxCommands, ExportOfAnObject) {
  if (!onnx::has_reader() || !STRATA_HAS_LLVM) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path = folder.write("m.onnx", product_and_relu()), to = folder.file("net");
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"export", path, "--device", "INTERP", "-o", to});
    return run(more);
  };
  const Output written = with({"--object", "aarch64", "--cpu", "cortex-a53", "--features", "+fullfp16"});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_NE(written.out.find(to + "_kernels.o"), std::string::npos) << written.out;
  EXPECT_NE(written.out.find(", code of kernels "), std::string::npos) << written.out;
  EXPECT_EQ(text_of_file(to + "_kernels.o").substr(1, 3), "ELF");
  EXPECT_NE(with({"--object", "aarch64", "--json"}).out.find("\"code_bytes\":"), std::string::npos);
  EXPECT_NE(with({"--object", "aarch64", "--cpu", "i486"}).err.find("LLVM knows no CPU \"i486\""), std::string::npos);
  EXPECT_NE(with({"--object", "mips"}).err.find("the object \"mips\" is unknown"), std::string::npos);
  EXPECT_NE(with({"--cpu", "cortex-a53"}).err.find("the CPU \"cortex-a53\" is of an object"), std::string::npos);
  EXPECT_NE(with({"--object", "x86_64", "--max-flash", "1"}).err.find("code of kernels"), std::string::npos);
}

TEST(OnnxCommands, ExportWithAConstant) {
  if (!onnx::has_reader()) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path =
      folder.write("m.onnx", model({.nodes = {node("Reshape", {"x", "to"}, {"r"}), node("Neg", {"r"}, {"x.1"})},
                                    .inputs = {port("x", kFloat, {6}), port("to", kInt64, {2})},
                                    .outputs = {port("x.1", kFloat, {-1, -1}), port("r", kFloat, {-1, -1})}}));
  write_npy(folder.file("to.npy"), {dtypes::int64, {2}, Buffer::fromCPU(std::vector<std::int64_t>{2, 3})});
  const std::string to = folder.file("net");
  const std::vector<std::string> words = {"export", path, "--device", "INTERP", "-o", to};
  auto with = words;
  with.insert(with.end(), {"--constant", "to=" + folder.file("to.npy")});
  const Output written = run(with);
  EXPECT_EQ(written.status, 0) << written.err;
  const std::string header = text_of_file(to + ".h");
  EXPECT_NE(header.find("    const float *x,\n    float *x1,\n    float *r,\n    void *arena,"), std::string::npos)
      << header;
  auto given = words;
  given.insert(given.end(), {"--input", "to=" + folder.file("to.npy")});
  const Output refused = run(given);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(
      refused.err.find("elements of the input \"to\" decide a size or a branch: they are needed before the export, "
                       "by --constant to=FILE"),
      std::string::npos)
      << refused.err;
}

TEST(OnnxCommands, ExportRefuses) {
  if (!onnx::has_reader()) GTEST_SKIP();
  const OnnxFolder folder;
  const std::string path = folder.write("m.onnx", product_and_relu()), to = folder.file("net");
  EXPECT_EQ(run({"export", path}).status, 2);
  EXPECT_EQ(run({"export", path, "-o", to, "--target", "vax"}).status, 2);
  EXPECT_EQ(run({"export", path, "-o", to, "--constant", "x"}).status, 2);
  const Output name = run({"export", path, "--device", "INTERP", "-o", folder.file("2x")});
  EXPECT_EQ(name.status, 1);
  EXPECT_NE(name.err.find("\"2x\" is no name of a model"), std::string::npos) << name.err;
  EXPECT_EQ(run({"export", path, "--device", "INTERP", "-o", "/no/such/folder/net"}).status, 1);
  const std::string sequence = folder.write("s.onnx", model({.nodes = {node("SequenceConstruct", {"x", "x"}, {"y"})},
                                                             .inputs = {port("x", kFloat, {2})},
                                                             .outputs = {port("y", kFloat, {2})}}));
  const Output list = run({"export", sequence, "--device", "INTERP", "-o", to});
  EXPECT_EQ(list.status, 1);
  EXPECT_NE(list.err.find("the output \"y\" is sequence of 2: a captured call has tensors alone"), std::string::npos)
      << list.err;
  const std::string bad = folder.write("b.onnx", model({.nodes = {node("MatMul", {"x", "x"}, {"y"})},
                                                        .inputs = {port("x", kFloat, {2, 3})},
                                                        .outputs = {port("y", kFloat, {2, 3})}}));
  EXPECT_NE(run({"export", bad, "--device", "INTERP", "-o", to}).err.find("node \"y\" (MatMul)"), std::string::npos);
}

}  // namespace
}  // namespace strata::tools
