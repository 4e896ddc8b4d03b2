// `strata kernel` and `strata devices`: sections, runs, JSON, errors, the examples of their help.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "strata/base/json.h"
#include "strata/ops/kernel_text.h"
#include "strata/runtime/device.h"
#include "tests/tools/command_line.h"
#include "tools/cli.h"
#include "tools/kernel_run.h"

namespace strata::tools {
namespace {

const std::string kAdd = "a: f32[2,4]; b: f32[4]; c = a + b";

TEST(CliKernel, Sections) {
  const Output all = run({"kernel", kAdd, "--device", "CLANG", "--opts", "none", "--show", "all"});
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_TRUE(has(all.out,
                  "kernel      E_2_4  (CLANG)\n"
                  "buffers     c: f32[8]  (data0, written)\n"
                  "            a: f32[8]  (data1, read)\n"
                  "            b: f32[4]  (data2, read)\n"
                  "\nast\n   0 BufferOps.LOAD"))
      << all.out;
  for (const char* part : {"\naxes\n0 output 2: loop 2\n1 output 4: loop 4\nopts: none\n", "\nuops\n   0 UOps.",
                           "\nsource\nvoid E_2_4(float* restrict data0, ", "\nasm\n", "\nproof\n3 accesses proven",
                           "\ntime\npredicted   ", "\npasses\nabsorb  "})
    EXPECT_TRUE(has(all.out, part)) << part << all.out;
  const std::string some = run({"kernel", kAdd, "--device", "NULL"}).out;
  EXPECT_TRUE(has(some, "\naxes\n") && has(some, "\nuops\n") && has(some, "\nproof\n")) << some;
  EXPECT_FALSE(has(some, "\nast\n") || has(some, "\nasm\n") || has(some, "\x1b")) << some;
  EXPECT_TRUE(has(run({"kernel", kAdd, "--device", "NULL"}, true).out, "\x1b[1maxes\x1b[0m\n"));
  const std::string opts = run({"kernel", kAdd, "--device", "NULL", "--opts", "UPCAST 0 2", "--show", "axes"}).out;
  EXPECT_TRUE(has(opts, "opts: UPCAST 0 2\n")) << opts;
}

TEST(CliKernel, BuffersHaveTheNamesOfTheSource) {
  const std::string out = run({"kernel", "data0: 1..9; a: f32[data0]; y = a + 1", "--device", "CLANG"}).out;
  EXPECT_TRUE(has(out, "(data0x, written)") && has(out, "(data1, read)")) << out;
}

TEST(CliKernel, Targets) {
  const auto source = [](const std::vector<std::string>& options) {
    std::vector<std::string> line = {"kernel", "a: f32[640]; b = a + 1", "--show", "source"};
    line.insert(line.end(), options.begin(), options.end());
    const Output out = run(line);
    EXPECT_EQ(out.status, 0) << out.err;
    return out.out;
  };
  const std::pair<const char*, const char*> words[] = {{"c", "void E_640(float* restrict data0"},
                                                       {"llvm", "define internal void @E_640("},
                                                       {"opencl", "__kernel void"},
                                                       {"cuda", "__global__ void"},
                                                       {"metal", "kernel void E_640("},
                                                       {"wgsl", "@compute @workgroup_size"}};
  for (const auto& [word, text] : words)
    EXPECT_TRUE(has(source({"--target", word}), text)) << word << source({"--target", word});
  EXPECT_EQ(source({"--target", "c"}), source({"--device", "CLANG"}));
  for (const auto& [bytes, type] : {std::pair("16", "f32x4"), {"32", "f32x8"}, {"64", "f32x16"}}) {
    const std::string text = source({"--target", "c", "--vector-bytes", bytes});
    EXPECT_TRUE(has(text, detail::message("typedef float ", type, " "))) << bytes << text;
  }
  const Output ran = run({"kernel", "a: i32[640]; b = a + 1", "--target", "c", "--vector-bytes", "16", "--run",
                          "--repeat", "3", "--json"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* key :
       {R"("device":"CLANG","target":"c","vector_bytes":16,)", R"("agrees":true)", R"("iterations":3,)"})
    EXPECT_TRUE(has(ran.out, key)) << key << ran.out;
}

TEST(CliKernel, TargetsThatAreNone) {
  const auto refusal = [](const std::vector<std::string>& options) {
    std::vector<std::string> line = {"kernel", kAdd, "--show", ""};
    line.insert(line.end(), options.begin(), options.end());
    const Output out = run(line);
    EXPECT_NE(out.status, 0);
    return out.err;
  };
  EXPECT_TRUE(has(refusal({"--target", "ptx"}), "not one of c|llvm|opencl|cuda|metal|wgsl"))
      << refusal({"--target", "ptx"});
  EXPECT_TRUE(has(refusal({"--target", "c", "--device", "LLVM"}), "--device and --target"));
  EXPECT_TRUE(has(refusal({"--vector-bytes", "48"}), "not one of 16|32|64"));
  EXPECT_TRUE(has(refusal({"--vector-bytes", "wide"}), "--vector-bytes"));
  EXPECT_TRUE(has(refusal({"--target", "cuda", "--run"}), "nothing here runs CUDA"));
}

TEST(CliKernel, Runs) {
  const Output null = run({"kernel", kAdd, "--device", "NULL", "--run", "--repeat", "3", "--show", ""});
  EXPECT_TRUE(has(null.out, "check       not checked: NULL runs nothing\n")) << null.out;
  EXPECT_TRUE(has(null.out, "(median of 3 runs, ")) << null.out;
  const Output interp = run({"kernel", "n: 1..9; a: i32[n]; b = a*2", "--device", "INTERP", "--run", "--values", "n=5",
                             "--opts", "none", "--show", "proof"});
  EXPECT_EQ(interp.status, 0) << interp.err;
  EXPECT_TRUE(has(interp.out, "INTERP is the oracle itself")) << interp.out;
  EXPECT_TRUE(has(interp.out, "roofline    none: INTERP is not a machine\n")) << interp.out;
}

TEST(CliKernel, ComparesWithTheOracle) {
  ASSERT_EQ(Device::get("CLANG").missing(), "");  // what built this test compiles C
  const CompiledKernel kernel = compile(parse_kernel("a: f32[8,16]; c = a.sum(1)").kernel, Device::get("CLANG"));
  const KernelRun result = run_kernel(kernel, Device::get("CLANG"), {}, 2);
  EXPECT_EQ(result.agrees, true) << result.check;
  EXPECT_EQ(result.seconds.size(), 2U);
  EXPECT_EQ(result.work.operations, 8 * 16);
  EXPECT_EQ(result.work.bytes, 4 * (8 * 16 + 8));
}

/// A program that computes nothing.
class Wrong final : public Program {
 public:
  const std::string& name() const override { return name_; }
  void run(std::span<void* const>, std::span<const std::int64_t>) override {}

 private:
  std::string name_ = "wrong";
};

TEST(CliKernel, FindsWrongResults) {
  const Device& device = Device::get("CLANG");
  for (const char* text : {"a: f32[8]; c = a + 100", "a: i32[8]; c = a + 1000"}) {
    const CompiledKernel kernel(compile_kernel(parse_kernel(text).kernel, device.target()), std::make_shared<Wrong>());
    EXPECT_EQ(run_kernel(kernel, device, {}, 1).agrees, false) << text;
  }
}

// A reduction in parts is two kernels, and both are told.
TEST(CliKernel, ToldInParts) {
  const std::string sum = "a: i32[100]; b = a.sum()";
  const Output text = run({"kernel", sum, "--device", "NULL", "--opts", "SPLITREDUCE 1 4", "--show", "axes"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(has(text.out, "(temporary): i32[4]")) << text.out;
  EXPECT_TRUE(has(text.out, "first r_4_25:") && has(text.out, "then:")) << text.out;
  const Output json = run({"kernel", sum, "--device", "NULL", "--opts", "SPLITREDUCE 1 4", "--json"});
  EXPECT_TRUE(has(json.out, R"("first":[{"name":"r_4_25")")) << json.out;
}

TEST(CliKernel, Json) {
  const Output r = run({"kernel", "n: 1..99; a: f32[n]; b = a*2", "--device", "NULL", "--json"});
  EXPECT_EQ(r.status, 0) << r.err;
  JsonDocument document;
  document.read(r.out);
  std::string keys;
  for (const auto& member : document.root().as_object("kernel")) keys += std::string(member.key) + " ";
  EXPECT_EQ(keys,
            "name device target vector_bytes buffers opts first ast axes loops uops ops source "
            "lines asm proof "
            "accesses cycles passes ");
  EXPECT_TRUE(has(r.out, R"("buffers":[{"name":"b","dtype":"f32","size":"n","read":false,"written":true})")) << r.out;
  EXPECT_TRUE(has(r.out, R"("asm":null)")) << r.out;
  const Output run_too = run({"kernel", kAdd, "--device", "NULL", "--json", "--run", "--repeat", "1"});
  document.read(run_too.out);
  EXPECT_TRUE(has(run_too.out, R"("run":{"agrees":null)")) << run_too.out;
}

TEST(CliKernel, Errors) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> usage = {
      {{"kernel"}, "'kernel' needs TEXT"},
      {{"kernel", kAdd, "--device", "GPU"}, "not one of LLVM|CLANG|OPENCL|INTERP|NULL"},
      {{"kernel", kAdd, "--show", "axes,foo"}, "--show foo: there are"},
      {{"kernel", kAdd, "--repeat", "2"}, "go with --run"},
      {{"kernel", kAdd, "--run", "--repeat", "0"}, "at least 1"},
      {{"kernel", kAdd, "--run", "--values", "n"}, "expected NAME=VALUE"},
  };
  for (const auto& [words, message] : usage) {
    const Output r = run(words);
    EXPECT_EQ(r.status, 2) << message;
    EXPECT_TRUE(has(r.err, message)) << r.err << " lacks " << message;
  }
  const std::vector<std::pair<std::vector<std::string>, std::string>> failures = {
      {{"kernel", "a: f32[2]; c = a +"}, "found the end of the statement\na: f32[2]; c = a +\n                  ^\n"},
      {{"kernel", kAdd, "--device", "NULL", "--opts", "FOO 1"}, "(in --opts)\nFOO 1\n^\n"},
      {{"kernel", kAdd, "--device", "NULL", "--opts", "UPCAST 7 2"}, "UPCAST 7 2"},
      {{"kernel", "n: 1..99; a: f32[n]; b = a", "--device", "NULL", "--run"}, "--values n=99"},
      {{"kernel", "n: 1..99; a: f32[n]; b = a", "--device", "NULL", "--run", "--values", "n=100"},
       "outside of its bounds"},
      {{"kernel", "a: f32[100000,100000]; b = a*2", "--device", "NULL", "--run"}, "more than a trial may take"},
  };
  for (const auto& [words, message] : failures) {
    const Output r = run(words);
    EXPECT_EQ(r.status, 1) << message << r.err;
    EXPECT_TRUE(has(r.err, message)) << r.err << " lacks " << message;
    EXPECT_EQ(r.out, "") << message;
  }
}

TEST(CliDevices, AllAreThere) {
  const std::string text = run({"devices"}).out;
  std::string names;
  for (const Device* d : Device::all()) {
    names += (names.empty() ? "" : "|") + std::string(d->name());
    EXPECT_TRUE(has("\n" + text, "\n" + std::string(d->name()) + " ")) << text;
    EXPECT_TRUE(d->missing().empty() || has(text, d->missing())) << text;
  }
  EXPECT_EQ(find_command("kernel")->options.front().choices, names);
  std::istringstream json(run({"devices", "--json"}).out);
  std::size_t count = 0;
  for (std::string line; std::getline(json, line); ++count) {
    JsonDocument document;
    document.read(line);
    EXPECT_TRUE(has(line, R"("usable":)")) << line;
  }
  EXPECT_EQ(count, Device::all().size());
}

TEST(CliKernel, ExamplesOfTheHelpAreReal) {
  for (const std::string_view name : {"kernel", "devices"}) {
    for (const Example& example : find_command(name)->examples) {
      std::vector<std::string> words = words_of(example.line);
      words.erase(words.begin());
      const Output r = run(words);
      EXPECT_EQ(r.status, 0) << example.line << r.err;
      EXPECT_TRUE(has("\n" + r.out, "\n" + std::string(example.note) + "\n")) << example.line << '\n' << r.out;
    }
  }
}

}  // namespace
}  // namespace strata::tools
