// The texts of random kernels in all languages: what builds by different compilers have to agree on.
//
//   kernel_texts --count N --seed S      a line for each text: the kernel's seed, what it is, a hash
//   kernel_texts --only KERNEL_SEED      the texts themselves
//
// `./test` compares what g++'s build prints with what clang's does: the order in which a compiler evaluates arguments
// is no part of a kernel.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "strata/codegen/kernel.h"
#include "strata/render/cstyle.h"
#include "strata/render/llvm.h"
#include "tests/codegen/random_chain.h"
#include "tests/codegen/random_kernel.h"
#include "tests/fuzz/flags.h"

namespace strata::oracle {
namespace {

struct Text {
  std::string_view what;
  std::string text;
};

/// The text, or why there is none.
template <class F>
std::string text_or_reason(const F& make) {
  try {
    return make();
  } catch (const Error& error) {
    return detail::message("none: ", error.what(), "\n");
  }
}

void add_texts(const LazyOp& sink, const Target& target, const std::vector<Opt>* opts, std::vector<Text>& out) {
  std::optional<Kernel> kernel;
  const std::string_view list = target.instances ? "instances" : "list";
  out.push_back({list, text_or_reason([&] {
                   kernel = opts == nullptr ? compile_kernel(sink, target) : compile_kernel(sink, target, *opts);
                   return kernel->uops.text();
                 })});
  if (!kernel) return;
  const auto add = [&](std::string_view what, const Language& language) {
    out.push_back({what, text_or_reason([&] { return uops_to_cstyle(language, "k", kernel->uops); })});
  };
  if (!target.instances) {
    add("c", CLanguage());
    out.push_back({"llvm", text_or_reason([&] { return uops_to_llvm("k", kernel->uops); })});
    return;
  }
  add("opencl", OpenCLLanguage());
  add("opencl without half", OpenCLLanguageWithoutHalf());
  add("cuda", CUDALanguage());
  add("metal", MetalLanguage());
  add("wgsl", WGSLLanguage());
}

std::vector<Text> texts_of(std::uint64_t seed) {
  Choices kernel(seed), choices(seed ^ 0x9e3779b97f4a7c15U);
  const RandomKernel made = made_kernel(kernel);
  Target target;
  if (choices.chance(40)) target = target.deterministic();
  target.vector_bytes = choices.of<int>({16, 32, 64});
  std::optional<std::vector<Opt>> opts;
  if (!choices.chance(40)) opts = random_opts(choices, made.sink, 9).opts;
  std::vector<Text> out = {{"kernel", made.sink.text()}};
  for (const bool has_instances : {false, true}) {
    target.instances = has_instances;
    add_texts(made.sink, target, opts ? &*opts : nullptr, out);
  }
  return out;
}

/// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t out = 0xcbf29ce484222325U;
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return out;
}

int main_of(int argc, char** argv) {
  std::uint64_t count = 2000, seed = 1;
  std::optional<std::uint64_t> only;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string_view flag = argv[k];
    const std::uint64_t number = number_of(flag, argv[k + 1]);
    if (flag == "--count") {
      count = number;
    } else if (flag == "--seed") {
      seed = number;
    } else if (flag == "--only") {
      only = number;
    } else {
      std::fprintf(stderr, "unknown flag %s\n", argv[k]);
      return 2;
    }
  }
  std::mt19937_64 random(seed);
  for (std::uint64_t n = 0; n < (only ? 1 : count); ++n) {
    const std::uint64_t mine = only ? *only : random();
    for (const Text& t : texts_of(mine)) {
      if (only)
        std::printf("--- %.*s\n%s\n", static_cast<int>(t.what.size()), t.what.data(), t.text.c_str());
      else
        std::printf("%llu %.*s %016llx\n", static_cast<unsigned long long>(mine), static_cast<int>(t.what.size()),
                    t.what.data(), static_cast<unsigned long long>(hash_of(t.text)));
    }
  }
  return 0;
}

}  // namespace
}  // namespace strata::oracle

int main(int argc, char** argv) { return strata::oracle::main_of(argc, argv); }
