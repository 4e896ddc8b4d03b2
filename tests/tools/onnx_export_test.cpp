// `strata export --size NAME=MIN..MAX`: C files for all sizes of a range, compiled and run beside `strata run`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "strata/base/flags.h"
#include "strata/nn/npy.h"
#include "strata/onnx/reader.h"
#include "strata/onnx/to_onnx.h"
#include "strata/runtime/subprocess.h"
#include "strata/tensor/random.h"
#include "tests/onnx/model_writer.h"
#include "tests/tools/command_line.h"

namespace strata::tools {
namespace {

using namespace onnx_writer;

const std::filesystem::path kCompiler = "/usr/bin/gcc";
const std::string kOutside = "a size is outside of its bounds\n";

/// A program that runs a model of one input and one output, for the sizes and counts of elements that its words give.
std::string program_text(const std::string& model, std::size_t sizes, const std::string& output) {
  std::string up, given;
  for (const char c : model) up += static_cast<char>(c - 'a' + 'A');
  for (std::size_t k = 0; k < sizes; ++k) given += "atoll(words[" + std::to_string(k + 1) + "]), ";
  const std::string counts = std::to_string(sizes + 1);
  return "#include \"" + model + ".h\"\n#include <stdio.h>\n#include <stdlib.h>\n" + up + "_ALIGNAS(" + up +
         "_ALIGNMENT) static unsigned char arena[" + up + "_ARENA_BYTES + 1];\nstatic float x[" + up +
         "_X_ELEMENTS], y[" + up + "_" + output + "_ELEMENTS];\nint main(int count, char **words) {\n" +
         "  FILE *const in = fopen(\"x.bin\", \"rb\"), *const out = fopen(\"y.bin\", \"wb\");\n  " + model +
         "_status status;\n  if (count != " + std::to_string(sizes + 2) +
         " || fread(x, 1, sizeof x, in) == 0) { return 3; }\n  status = " + model + "_run(x, y, " + given +
         "arena, sizeof arena, 0, 0);\n  puts(" + model + "_status_text(status));\n  if (status == " + up +
         "_SIZE_OUT_OF_BOUNDS) { return 2; }\n  if (status != " + up +
         "_OK) { return 1; }\n  fwrite(y, 4, (size_t)atoll(words[" + counts +
         "]), out);\n  fclose(out);\n  return 0;\n}\n";
}

/// A model in a folder, exported for ranges and compiled.
class Exported {
 public:
  Exported(const std::string& name, const std::string& bytes, const std::vector<std::string>& ranges,
           const std::string& output = "Y")
      : folder_(testing::TempDir() + "strata_" + testing::UnitTest::GetInstance()->current_test_info()->name()),
        ranges_(ranges) {
    std::filesystem::create_directories(folder_);
    const ScopedFlag on(flags::DETERMINISTIC, true);
    std::ofstream(file("m.onnx"), std::ios::binary) << bytes;
    const auto is_range = [](const std::string& range) { return range.find("..") != std::string::npos; };
    const auto sizes = static_cast<std::size_t>(std::count_if(ranges.begin(), ranges.end(), is_range));
    std::ofstream(file("main.c")) << program_text(name, sizes, output);
    std::vector<std::string> words = {"export", file("m.onnx"), "-o", file(name), "--selftest"};
    words.insert(words.end(), {"--deterministic", "--target", "plain"});
    for (const std::string& range : ranges) words.insert(words.end(), {"--size", range});
    const Output written = run(words);
    EXPECT_EQ(written.status, 0) << written.err;
    compile({name + ".c", "main.c"}, "main");
    compile({name + ".c", name + "_test.c"}, "selftest");
    if (STRATA_HAS_LLVM) {
      EXPECT_EQ(ran({file("selftest")}), name + ": worst difference 0\n");
    }
    std::ifstream in(file(name + ".h"));
    header.assign(std::istreambuf_iterator<char>(in), {});
  }
  ~Exported() { std::filesystem::remove_all(folder_); }

  /// Runs the program and `strata run` on the same elements: the results have the same bits as on LLVM, and are near
  /// those of INTERP, whose functions are others.
  void check(const std::vector<std::int64_t>& sizes, const Ints& shape) {
    const ScopedFlag on(flags::DETERMINISTIC, true);
    write_npy(file("x.npy"), nn::to_array(randn(shape, dtypes::float32, Generator(1))));
    const std::vector<float> exact = floats_of(run_on("INTERP"));
    EXPECT_EQ(status_of(sizes, exact.size(), bytes_of(read_npy(file("x.npy")))), "no error\n");
    std::ifstream in(file("y.bin"), std::ios::binary);
    const std::string got(std::istreambuf_iterator<char>(in), {});
    ASSERT_EQ(got.size(), 4 * exact.size()) << render(shape);
    for (std::size_t k = 0; k < exact.size(); ++k) {
      float y = 0;
      std::memcpy(&y, got.data() + 4 * k, 4);
      EXPECT_NEAR(y, exact[k], 1e-5 * std::max(1.0F, std::abs(exact[k]))) << render(shape) << " at " << k;
    }
    if (STRATA_HAS_LLVM) {
      EXPECT_EQ(run_on("LLVM"), got) << render(shape);
    }
  }
  /// What the program says of the sizes.
  std::string status_of(const std::vector<std::int64_t>& sizes, std::size_t count, const std::string& x = "0000") {
    std::ofstream(file("x.bin"), std::ios::binary) << x;
    std::vector<std::string> words = {file("main")};
    for (const std::int64_t size : sizes) words.push_back(std::to_string(size));
    words.push_back(std::to_string(count));
    return ran(words);
  }

  std::string header;

 private:
  /// The bytes of the output of `strata run`.
  std::string run_on(const std::string& device) const {
    std::vector<std::string> words = {"run", file("m.onnx"), "--device", device, "--input", file("x.npy")};
    for (const std::string& range : ranges_) words.insert(words.end(), {"--size", range});
    words.insert(words.end(), {"--output", file("y.npy")});
    const Output shown = run(words);
    EXPECT_EQ(shown.status, 0) << shown.err;
    return bytes_of(read_npy(file("y.npy")));
  }
  static std::vector<float> floats_of(const std::string& bytes) {
    std::vector<float> out(bytes.size() / 4);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  static std::string bytes_of(const HostArray& array) {
    std::int64_t count = 1;
    for (const std::int64_t size : array.shape) count *= size;
    return {static_cast<const char*>(static_cast<const void*>(array.data.data())), static_cast<std::size_t>(count) * 4};
  }
  std::string ran(const std::vector<std::string>& words) const {
    strata::Command command;
    command.words = words;
    command.folder = folder_.string();
    return run_process(command).output;
  }
  void compile(const std::vector<std::string>& files, const std::string& to) const {
    std::vector<std::string> words = {kCompiler.string(), "-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic"};
    words.insert(words.end(), {"-Wconversion", "-Werror", "-ffp-contract=off"});
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), {"-o", to});
    EXPECT_EQ(ran(words), "");
  }

  std::filesystem::path folder_;
  std::vector<std::string> ranges_;
};

std::vector<float> some(std::int64_t count) { return randn({count}, dtypes::float32, Generator(7)).to_vector<float>(); }

bool is_possible() { return onnx::has_reader() && std::filesystem::exists(kCompiler); }

TEST(OnnxExport, AnMlpForABatchOfARange) {
  if (!is_possible()) GTEST_SKIP() << "no reader of ONNX files, or no gcc";
  Exported m("mlp",
             model({.nodes = {node("Gemm", {"x", "w", "b"}, {"a"}), node("Relu", {"a"}, {"r"}),
                              node("MatMul", {"r", "v"}, {"s"}), node("Softmax", {"s"}, {"y"})},
                    .inputs = {port("x", kFloat, {-1, 8})},
                    .outputs = {port("y", kFloat, {-1, 3})},
                    .initializers = {floats("w", {8, 16}, some(128)), floats("b", {16}, some(16)),
                                     floats("v", {16, 3}, some(48))}}),
             {"n=2..33"});
  EXPECT_NE(m.header.find("#define MLP_N_MIN 2\n#define MLP_N_MAX 33\n"), std::string::npos) << m.header;
  for (const std::int64_t n : {2, 3, 16, 33}) m.check({n}, {n, 8});
  for (const std::int64_t n : {1, 34, 0, -1}) EXPECT_EQ(m.status_of({n}, 0), kOutside);
}

TEST(OnnxExport, AConvolutionWithGlobalPoolingForABatchOfARange) {
  if (!is_possible()) GTEST_SKIP() << "no reader of ONNX files, or no gcc";
  Exported m("net",
             model({.nodes = {node("Conv", {"x", "w", "b"}, {"a"}, {attribute("pads", Sizes{1, 1, 1, 1})}),
                              node("Relu", {"a"}, {"r"}), node("GlobalAveragePool", {"r"}, {"g"}),
                              node("Flatten", {"g"}, {"f"}), node("MatMul", {"f", "v"}, {"y"})},
                    .inputs = {port("x", kFloat, {-1, 2, 6, 5})},
                    .outputs = {port("y", kFloat, {-1, 3})},
                    .initializers = {floats("w", {4, 2, 3, 3}, some(72)), floats("b", {4}, some(4)),
                                     floats("v", {4, 3}, some(12))}}),
             {"n=1..9"});
  for (const std::int64_t n : {1, 4, 9}) m.check({n}, {n, 2, 6, 5});
  EXPECT_EQ(m.status_of({10}, 0), kOutside);
}

/// A block of attention and two layers for sequences of `t` rows, as to_onnx() writes it.
std::string transformer_block() {
  const auto weight = [generator = Generator(3)](const Ints& shape) {
    return (randn(shape, dtypes::float32, generator) * 0.3).realize();
  };
  const Tensor q = weight({8, 8}), k = weight({8, 8}), v = weight({8, 8}), out = weight({8, 8}), up = weight({8, 16}),
               down = weight({16, 8});
  auto block = jit([&](const Tensor& x) {
    const auto heads = [&](const Tensor& w) { return x.matmul(w).reshape({2, x.size(1), 2, 4}).permute({0, 2, 1, 3}); };
    const Tensor scores = (heads(q).matmul(heads(k).transpose(2, 3)) * 0.5).softmax(-1);
    const Tensor seen = scores.matmul(heads(v)).permute({0, 2, 1, 3}).reshape({2, x.size(1), 8}).matmul(out) + x;
    return seen.matmul(up).relu().matmul(down) + seen;
  });
  const Variable t("t", 1, 12);
  const Tensor all = Tensor::ones({2, 12, 8}).realize();
  for (const std::int64_t n : {3, 4}) block(all.shrink({{0, 2}, {0, t.bind(n)}, {0, 8}}).contiguous().realize());
  return onnx::to_onnx_bytes(block);
}

TEST(OnnxExport, ATransformerBlockForSequencesOfARange) {
  if (!is_possible()) GTEST_SKIP() << "no reader of ONNX files, or no gcc";
  Exported m("block", transformer_block(), {"t=1..12"});
  EXPECT_NE(m.header.find("#define BLOCK_T_MAX 12\n"), std::string::npos) << m.header;
  for (const std::int64_t t : {1, 2, 7, 12}) m.check({t}, {2, t, 8});
  EXPECT_EQ(m.status_of({13}, 0), kOutside);
}

/// x of two symbolic sizes, whose rows are summed and joined with a constant row.
std::string two_sizes() {
  const auto sized = [](const std::string& name, const Names& dims) {
    std::string shape;
    for (const std::string& size : dims) shape += bytes(1, size == "3" ? integer(1, 3) : bytes(2, size));
    return bytes(1, name) + bytes(2, bytes(1, integer(1, kFloat) + bytes(2, shape)));
  };
  return model({.nodes = {node("Tanh", {"x"}, {"h"}), node("Add", {"h", "c"}, {"y"})},
                .inputs = {sized("x", {"y", "batch size", "3"})},
                .outputs = {sized("y", {"y", "batch size", "3"})},
                .initializers = {floats("c", {3}, {1, 2, 3})}});
}

TEST(OnnxExport, SeveralRangesAndNamesThatMeet) {
  if (!is_possible()) GTEST_SKIP() << "no reader of ONNX files, or no gcc";
  // The size "y" has the name of the output, and "batch size" is no name in C.
  Exported m("two", two_sizes(), {"y=1..3", "batch size=1..5"}, "Y_2");
  m.check({2, 5}, {2, 5, 3});
  m.check({3, 1}, {3, 1, 3});
  EXPECT_EQ(m.status_of({4, 1}, 0), kOutside);
  EXPECT_EQ(m.status_of({1, 6}, 0), kOutside);
}

TEST(OnnxExport, OneSizeIsNoArgument) {
  if (!is_possible()) GTEST_SKIP() << "no reader of ONNX files, or no gcc";
  Exported m("two", two_sizes(), {"y=3", "batch size=1..5"});
  EXPECT_EQ(m.header.find("_Y_MAX"), std::string::npos);
}

TEST(OnnxExport, Refuses) {
  if (!onnx::has_reader()) GTEST_SKIP() << "no reader of ONNX files";
  const std::filesystem::path folder = testing::TempDir() + "strata_onnx_export_refuses";
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const std::string& content) {
    std::ofstream(folder / name, std::ios::binary) << content;
    return (folder / name).string();
  };
  const std::string path = write("m.onnx", model({.nodes = {node("Split", {"x"}, {"a", "b"})},
                                                  .inputs = {port("x", kFloat, {-1, 2})},
                                                  .outputs = {port("a", kFloat, {-1, 2}), port("b", kFloat, {-1, 2})}},
                                                 13));
  const auto error_of = [&](const std::string& command, const std::vector<std::string>& sizes, int status) {
    std::vector<std::string> words = {command, path, "--device", "INTERP"};
    if (command == "export") words.insert(words.end(), {"-o", (folder / "m").string()});
    if (command == "run") words.emplace_back("--random");
    for (const std::string& size : sizes) words.insert(words.end(), {"--size", size});
    const Output shown = run(words);
    EXPECT_EQ(shown.status, status) << shown.err;
    return shown.err;
  };
  const auto expect = [&](const std::vector<std::string>& sizes, const std::string& part, int status) {
    for (const char* command : {"export", "run"}) {
      const std::string error = error_of(command, sizes, status);
      EXPECT_NE(error.find(part), std::string::npos) << part << " is not in " << error;
    }
  };
  expect({"n"}, "--size n: expected NAME=N or NAME=MIN..MAX", 2);
  expect({"=4"}, "--size =4: expected NAME=N or NAME=MIN..MAX", 2);
  expect({"n="}, "--size n=: '' is not an integer", 2);
  expect({"n=1.."}, "--size n=1..: '' is not an integer", 2);
  expect({"n=..4"}, "--size n=..4: '' is not an integer", 2);
  expect({"n=1..4..8"}, "'4..8' is not an integer", 2);
  expect({"n=1...8"}, "'.8' is not an integer", 2);
  expect({"n=a..8"}, "'a' is not an integer", 2);
  expect({"n=0"}, "--size n=0: a size is at least 1", 2);
  expect({"n=0..8"}, "--size n=0..8: a size is at least 1", 2);
  expect({"n=-2..8"}, "a size is at least 1", 2);
  expect({"n=8..4"}, "--size n=8..4: the range is empty, 8 is more than 4", 2);
  expect({"n=1..4", "n=4"}, "--size n=4: n is given twice", 2);
  expect({"n=1..99999999999999999999"}, "does not fit in 64 bits", 2);
  expect({"m=1..4"}, "bounds of \"m\", which is no symbolic size of an input; there are: n", 1);
  expect({"m=4"}, "bounds of \"m\", which is no symbolic size of an input; there are: n", 1);
  expect({"n=1..4"}, "node \"a\" (Split): an axis of n does not split into 2 equal parts", 1);
  EXPECT_NE(error_of("export", {"n=1..4"}, 1).find("one size is written by --size n=4"), std::string::npos);
  EXPECT_EQ(error_of("export", {"n=6"}, 0), "");
  write_npy((folder / "x.npy").string(), nn::to_array(Tensor::ones({5, 2})));
  const Output other =
      run({"run", path, "--device", "INTERP", "--size", "n=2..4", "--input", (folder / "x.npy").string()});
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("\"x\" is f32[n, 2], and n is 5, outside of its bounds 2 and 4"), std::string::npos)
      << other.err;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace strata::tools
