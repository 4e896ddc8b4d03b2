// Rendered programs through the compilers that there are: C is run and compared with `interpret`, CUDA goes to PTX,
// OpenCL is checked by clang. A compiler that is absent is said in the output.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "strata/base/check.h"
#include "strata/render/cstyle.h"
#include "strata/runtime/posix_io.h"
#include "tests/base/files.h"
#include "tests/render/host.h"
#include "tests/render/random_list.h"

namespace strata {
namespace {

using test::random_kernel;
using test::RandomKernel;

/// How many random kernels; STRATA_RENDER_KERNELS asks for more.
std::uint64_t kernel_count() {
  const char* asked = std::getenv("STRATA_RENDER_KERNELS");
  return asked == nullptr ? 60 : std::strtoull(asked, nullptr, 10);
}

bool is_absent(const std::string& program, std::string_view name) {
  if (program.empty()) std::cout << "ABSENT: " << name << ", its check of rendered programs is left out\n";
  return program.empty();
}

std::string name_of(std::uint64_t seed) { return "k" + std::to_string(seed); }

/// One text, all kernels.
std::string source_of(const Language& language, const std::vector<RandomKernel>& kernels, bool entry) {
  std::string out;
  for (std::size_t k = 0; k < kernels.size(); ++k)
    out += uops_to_cstyle(language, name_of(k), kernels[k].list, {.entry = entry});
  return out;
}

std::vector<RandomKernel> kernels_of(std::uint64_t count, const test::RandomOptions& options = {}) {
  std::vector<RandomKernel> out;
  for (std::uint64_t seed = 0; seed < count; ++seed) out.push_back(random_kernel(seed, options));
  return out;
}

std::vector<void*> pointers(RandomKernel& kernel) {
  std::vector<void*> out;
  for (auto& b : kernel.buffers) out.push_back(b.data.data());
  return out;
}

void interpret_kernel(RandomKernel& kernel) {
  std::vector<Memory> memory;
  for (auto& b : kernel.buffers) memory.push_back({b.data.data(), b.size});
  interpret(kernel.list, memory, kernel.values);
}

/// Two NaN are alike; other floats may be 1 ulp apart where the last op was computed in another way.
bool is_close(const Scalar& a, const Scalar& b) {
  if (!a.dtype().is_float()) return a == b;
  return ulp_distance(a, b) <= 1;
}

::testing::AssertionResult agree(const RandomKernel& got, const RandomKernel& expected) {
  for (std::size_t slot = 0; slot < got.buffers.size(); ++slot) {
    const auto& b = got.buffers[slot];
    const std::size_t width = b.dtype.itemsize();
    for (std::size_t k = 0; k < static_cast<std::size_t>(b.size); ++k) {
      const Scalar a = load_scalar(b.dtype, b.data.data() + k * width);
      const Scalar e = load_scalar(b.dtype, expected.buffers[slot].data.data() + k * width);
      if (!is_close(a, e))
        return ::testing::AssertionFailure()
               << "data" << slot << "[" << k << "] is " << a.text() << ", not " << e.text();
    }
  }
  return ::testing::AssertionSuccess();
}

/// Compiles all of it without a warning, runs each kernel, and compares.
void check_c(std::string_view compiler, const std::vector<std::string>& flags) {
  const std::string program = test::find_program(compiler);
  if (is_absent(program, compiler)) return;
  const PrivateFolder folder;
  const std::vector<RandomKernel> kernels = kernels_of(kernel_count());
  const std::string source = write_file(folder.file("k.c"), source_of(CLanguage(), kernels, true));
  const std::string object = folder.file("k.so");
  std::vector<std::string> command{program, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"};
  command.insert(command.end(), flags.begin(), flags.end());
  for (const char* a : {"-shared", "-fPIC", "-o"}) command.emplace_back(a);
  command.push_back(object);
  command.push_back(source);
  command.emplace_back("-lm");
  const test::Outcome outcome = test::run_program(command);
  ASSERT_EQ(outcome.status, 0) << outcome.output.substr(0, 4000);
  const test::SharedObject library(object);
  for (std::uint64_t seed = 0; seed < kernels.size(); ++seed) {
    RandomKernel expected = random_kernel(seed), got = random_kernel(seed);
    interpret_kernel(expected);
    const std::vector<long long> values{static_cast<long long>(got.values[0].second)};
    const auto entry = reinterpret_cast<test::Entry>(library.symbol(name_of(seed) + "_entry"));
    entry(pointers(got).data(), values.data());
    EXPECT_TRUE(agree(got, expected)) << "seed " << seed << "\n"
                                      << expected.list.text() << uops_to_cstyle(CLanguage(), "k", got.list);
  }
}

TEST(CStyleRun, GccAgreesWithInterpret) { check_c("gcc", {"-O1"}); }
// NOTE: clang 19 warns of its own features on processors with AVX10.
TEST(CStyleRun, ClangAgreesWithInterpret) {
  check_c("clang-19", {"-O1", "-march=native", "-Wno-invalid-feature-combination"});
}

void check_syntax(const Language& language, std::string_view compiler, const char* file,
                  const std::vector<std::string>& flags) {
  const std::string program = test::find_program(compiler);
  if (is_absent(program, compiler)) return;
  const PrivateFolder folder;
  const std::string source = write_file(folder.file(file), source_of(language, kernels_of(kernel_count() / 2), false));
  std::vector<std::string> command{program};
  command.insert(command.end(), flags.begin(), flags.end());
  command.push_back(source);
  if (compiler == "nvcc") {
    command.emplace_back("-o");
    command.push_back(folder.file("k.ptx"));
  }
  const test::Outcome outcome = test::run_program(command);
  EXPECT_EQ(outcome.status, 0) << outcome.output.substr(0, 4000);
}

TEST(CStyleRun, OpenCLIsAccepted) {
  check_syntax(
      OpenCLLanguage(), "clang-19", "k.cl",
      {"-x", "cl", "-cl-std=CL1.2", "-fsyntax-only", "-Xclang", "-finclude-default-header", "-Wall", "-Werror"});
}

TEST(CStyleRun, CUDAIsAccepted) { check_syntax(CUDALanguage(), "nvcc", "k.cu", {"-ptx", "-Werror=all-warnings"}); }

}  // namespace
}  // namespace strata
