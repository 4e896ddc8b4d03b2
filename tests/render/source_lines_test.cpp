// Which UOps each line of a text says.
#include "strata/render/source_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "strata/ops/kernel_text.h"
#include "strata/render/kernel_source.h"
#include "strata/render/usage.h"
#include "tests/codegen/random_kernel.h"

namespace strata {
namespace {

Kernel compiled(const char* text, const char* opts, const KernelLanguage& language) {
  return compile_kernel(parse_kernel(text).kernel, language.target(), parse_opts(opts));
}

/// The text, each line behind the places of what it says.
std::string told(const char* text, const char* opts, std::string_view word) {
  const KernelLanguage& language = *find_kernel_language(word);
  const Kernel kernel = compiled(text, opts, language);
  SourceLines lines;
  std::string source = language.source(kernel, "k", &lines), out;
  for (const std::vector<std::uint32_t>& line : lines) {
    for (const std::uint32_t u : line) out += std::to_string(u) + " ";
    out += "| " + source.substr(0, source.find('\n') + 1);
    source.erase(0, source.find('\n') + 1);
  }
  return out + source;
}

// 0 and 1 are the buffers, 2 the index, 3 the load; 4 and 5, the constant and the sum, stand in the line of the
// store, 6.
TEST(SourceLines, AnExpressionIsSaidByTheLineThatItStandsIn) {
  EXPECT_EQ(told("a: f32[1]; c = a + 1", "", "c"),
            "0 1 | void k(float* restrict data0, const float* restrict data1) {\n"
            "1 2 3 |   float val0 = data1[0];\n"
            "0 2 4 5 6 |   data0[0] = (val0+1.0f);\n"
            "| }\n");
}

TEST(SourceLines, AssignmentsOfLlvmAreSaidByThePhiNodes) {
  const std::string out = told("a: i32[9]; c = a.sum()", "", "llvm");
  const std::size_t at = out.find("= phi i32 [ 0, %entry ], [ %alu");
  ASSERT_NE(at, std::string::npos) << out;
  const std::size_t begin = out.rfind('\n', at) + 1;
  const Kernel kernel = compiled("a: i32[9]; c = a.sum()", "", *find_kernel_language("llvm"));
  const std::string line = " " + out.substr(begin, at - begin);
  for (const UOp u : kernel.uops) {
    if (u.op() != UOps::PHI && u.op() != UOps::DEFINE_ACC) continue;
    EXPECT_NE(line.find(" " + std::to_string(u.num()) + " "), std::string::npos) << out;
  }
}

void check_lines(const KernelLanguage& language, const Kernel& kernel, std::uint64_t seed) {
  SourceLines lines;
  std::string text;
  try {
    text = language.source(kernel, "k", nullptr);
  } catch (const Error&) {
    return;  // the language lacks a dtype
  }
  ASSERT_EQ(language.source(kernel, "k", &lines), text) << seed;
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
  std::vector<bool> said(kernel.uops.size());
  for (const std::vector<std::uint32_t>& line : lines) {
    EXPECT_TRUE(std::is_sorted(line.begin(), line.end())) << seed;
    for (const std::uint32_t u : line) said.at(u) = true;
  }
  const rendering::Usage usage(kernel.uops);
  for (const UOp u : kernel.uops) {
    if (!usage.live(u)) continue;
    EXPECT_TRUE(said[u.num()]) << language.word << " " << seed << ": no line says " << u.num() << "\n"
                               << kernel.uops.text() << text;
  }
}

TEST(SourceLines, EachUOpThatIsUsedIsSaid) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    oracle::Choices choices(seed), of_opts(seed ^ 0x9e3779b97f4a7c15U);
    const oracle::RandomKernel made = oracle::random_kernel(choices);
    const std::vector<Opt> opts = oracle::random_opts(of_opts, made.sink, 6).opts;
    for (const KernelLanguage& language : kernel_languages()) {
      Target target = language.target();
      try {
        check_lines(language, compile_kernel(made.sink, target, opts), seed);
      } catch (const Error&) {
        continue;  // Opts that the target forbids
      }
    }
  }
}

}  // namespace
}  // namespace strata
