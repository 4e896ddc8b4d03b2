// The requests about kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "tests/tools/answers.h"
#include "tests/tools/command_line.h"
#include "tools/ask_kernel.h"
#include "tools/batch.h"

namespace strata::tools {
namespace {

std::string request(const std::string& text, const std::string& more = "") {
  return R"({"do":"kernel","text":")" + text + '"' + more + "}";
}

/// The keys of an object of JSON.
std::vector<std::string> keys_of(const std::string& json) {
  JsonDocument document;
  document.read(json);
  std::vector<std::string> out;
  for (const auto& m : document.root().as_object("answer")) out.emplace_back(m.key);
  return out;
}

/// The text of a member.
std::string member(const std::string& json, std::string_view key) {
  JsonDocument document;
  document.read(json);
  for (const auto& m : document.root().as_object("answer"))
    if (m.key == key) return m.value.raw();
  return "none";
}

using Keys = std::vector<std::string>;

TEST(BatchKernel, Keys) {
  const Keys always = {"name", "device", "target", "vector_bytes", "buffers", "opts", "first"};
  const auto shown = [&](const char* show, const Keys& more) {
    Keys expected = always;
    expected.insert(expected.end(), more.begin(), more.end());
    EXPECT_EQ(keys_of(answer(request("a: f32[8]; b = a*2", show))), expected) << show;
  };
  shown("", {"axes", "loops", "uops", "ops", "source", "lines", "proof", "accesses"});
  shown(R"(,"show":"ast")", {"ast"});
  shown(R"(,"show":"source,axes")", {"axes", "loops", "source", "lines"});
  shown(R"(,"show":"all")",
        {"ast", "axes", "loops", "uops", "ops", "source", "lines", "asm", "proof", "accesses", "cycles"});
  shown(R"(,"show":"passes,proof")", {"proof", "accesses", "passes"});
  shown(R"(,"show":"time")", {"cycles"});
  shown(R"(,"show":"")", {});
}

TEST(BatchKernel, NoClockUnlessPassesAreAskedFor) {
  const std::string text = "a: f32[100000]; c = a.sum()", all = answer(request(text, R"(,"show":"all")"));
  EXPECT_EQ(all, answer(request(text, R"(,"show":"all")")));
  EXPECT_EQ(all.find("seconds"), std::string::npos);
  EXPECT_NE(answer(request(text, R"(,"show":"proof,passes")")).find("seconds"), std::string::npos);
}

TEST(BatchKernel, DataOfALoop) {
  const std::string out = answer(request("n: 1..50; a: f32[n,4]; c = a + 1", R"(,"opts":"LANES 1 4")"));
  EXPECT_EQ(member(out, "loops"),
            R"([{"axis":0,"kind":"output","group":null,"order":0,"size":"n","dims":[0],"sizes":["n"],"padded":false,)"
            R"("segments":[{"begin":0,"size":"n","parts":[{"kind":"loop","size":"n","inside":false}]}],)"
            R"("counters":[{"name":"ridx0","op":6}]},)"
            R"({"axis":1,"kind":"output","group":null,"order":1,"size":4,"dims":[1],"sizes":[4],"padded":false,)"
            R"("segments":[{"begin":0,"size":4,"parts":[{"kind":"loop","size":1,"inside":false},)"
            R"({"kind":"lanes","size":4,"inside":false}]}],"counters":[]}])");
  EXPECT_NE(out.find(R"("ops":[{"op":"CONST","dtype":"i32","arg":"0","srcs":[],"text":"   0 UOps.CONST )"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find(R"(,"loop":null,"counter":"ridx0"})"), std::string::npos) << out;
  EXPECT_NE(out.find(R"j("buffer":1,"kind":"load","index":"((ridx0*4)+lane_a1s0p1)","valid":"1",)j"
                     R"j("min":0,"max":199,"size":"(n*4)","by":"algebra"})j"),
            std::string::npos)
      << member(out, "accesses");
}

TEST(BatchKernel, Targets) {
  const std::pair<const char*, const char*> words[] = {
      {"c", R"("device":"CLANG","target":"c","vector_bytes":32)"},
      {"llvm", R"("device":"LLVM","target":"llvm","vector_bytes":32)"},
      {"opencl", R"("device":"OPENCL","target":"opencl","vector_bytes":16)"},
      {"cuda", R"("device":"CUDA","target":"cuda","vector_bytes":16)"},
      {"metal", R"("device":"METAL","target":"metal","vector_bytes":16)"},
      {"wgsl", R"("device":"WGSL","target":"wgsl","vector_bytes":16)"}};
  for (const auto& [word, text] : words) {
    const std::string out = answer(request("a: f32[640]; b = a + 1", std::string(R"(,"target":")") + word + '"'));
    EXPECT_NE(out.find(text), std::string::npos) << out;
  }
  const std::string wide = answer(request("a: f32[640]; b = a + 1", R"(,"vector_bytes":64)"));
  EXPECT_NE(wide.find("typedef float f32x16 "), std::string::npos) << wide;
}

// What no processor decides is what `strata kernel --json` says; there is more there.
TEST(BatchKernel, TheCommandSaysTheSame) {
  for (const char* text : {"a: f32[8,16]; c = softmax(a, 1)", "a: i32[64]; c = a.sum()"}) {
    for (const KernelLanguage& language : kernel_languages()) {
      const std::string word(language.word);
      const Output command =
          run({"kernel", text, "--target", word, "--vector-bytes", "16", "--opts", "none", "--json"});
      ASSERT_EQ(command.status, 0) << command.err;
      const std::string out =
          answer(request(text, R"(,"opts":"none","vector_bytes":16,"show":"all","target":")" + word + '"'));
      for (const std::string& key : keys_of(out))
        if (key != "proof" && key != "asm") {
          EXPECT_EQ(member(out, key), member(command.out, key)) << key;
        }
      EXPECT_NE(member(command.out, "passes"), "none");
    }
  }
}

TEST(BatchKernel, KernelsThatRunFirst) {
  const std::string out = answer(request("a: i32[100]; b = a.sum()", R"(,"opts":"SPLITREDUCE 1 4","show":"axes")"));
  EXPECT_NE(out.find(R"("first":[{"name":"r_4_25","opts":)"), std::string::npos) << out;
  EXPECT_NE(out.find("(temporary)"), std::string::npos) << out;
}

TEST(BatchKernel, Errors) {
  const auto refusal = [](const std::string& text, const std::string& more = "") {
    return member(answer(request(text, more)), "error");
  };
  EXPECT_EQ(refusal("a: f32[8]; b = a +"),
            R"({"kind":"parse","message":"[kernel] expected a value, found the end of the statement","column":19})");
  EXPECT_EQ(refusal("a: f32[8]; b = a", R"(,"opts":"UPCAST 0 x")").find(R"({"kind":"parse")"), 0U);
  EXPECT_NE(refusal("a: f32[8]; b = a", R"(,"opts":"UPCAST 0 x")").find("(in opts)"), std::string::npos);
  EXPECT_NE(refusal("a: f32[8]; b = a", R"(,"opts":"UPCAST 3 2")").find("there is no axis 3"), std::string::npos);
  EXPECT_NE(refusal("a: f32[8]; b = a", R"(,"target":"ptx")")
                .find("there is no target 'ptx': there are c, llvm, opencl, cuda, metal, wgsl"),
            std::string::npos);
  EXPECT_NE(refusal("a: f32[8]; b = a", R"(,"show":"sauce")").find("'sauce'"), std::string::npos);
  EXPECT_EQ(error_kind(request("a: f32[8]; b = a", R"(,"vector_bytes":48)")), "request");
  EXPECT_EQ(error_kind(request("a: f32[8]; b = a", R"(,"device":"CLANG")")), "request");
  EXPECT_NE(refusal("a: f64[8]; b = a", R"(,"target":"wgsl")").find("WGSL has no f64"), std::string::npos);
}

std::string repeated(int count, const std::string& text) {
  std::string out;
  for (int k = 0; k < count; ++k) out += text;
  return out;
}

// Long kernels end in an answer or in `budget`; the deadline is kept in each pass.
TEST(BatchKernel, WorkIsBounded) {
  BatchOptions small;
  const std::string exps = request("a: f32[1000]; c = " + repeated(300, "exp(") + "a" + repeated(300, ")"));
  EXPECT_EQ(error_kind(exps), "no error");
  small.budget = 100;
  EXPECT_EQ(error_kind(exps, small), "budget");
  BatchOptions soon;
  soon.deadline = 0.02;
  const std::string long_one = request("a: f32[1000]; c = " + repeated(3000, "exp(") + "a" + repeated(3000, ")"));
  const auto begin = std::clock();
  EXPECT_EQ(error_kind(long_one, soon), "budget");
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, STRATA_SANITIZED ? 20.0 : 2.0);
}

}  // namespace
}  // namespace strata::tools
