#include "strata/render/kernel_source.h"

#include <algorithm>
#include <iterator>

#include "strata/codegen/polls.h"
#include "strata/render/cstyle.h"
#include "strata/render/llvm.h"

namespace strata {

namespace {

std::string in_c(const Kernel& kernel, std::string_view name, SourceLines* lines) {
  return kernel_to_c(kernel, name, lines);
}

template <const Language& (*of)()>
std::string in_language(const Kernel& kernel, std::string_view name, SourceLines* lines) {
  CStyleOptions options;
  options.lines = lines;
  return uops_to_cstyle(of(), name, kernel.uops, options);
}

// clang-format off
constexpr KernelLanguage kLanguages[] = {
    {"c",      "CLANG",  false, in_c},
    {"llvm",   "LLVM",   false, kernel_to_llvm},
    {"opencl", "OPENCL", true,  kernel_to_opencl},
    {"cuda",   "CUDA",   true,  in_language<CUDALanguage>},
    {"metal",  "METAL",  true,  in_language<MetalLanguage>},
    {"wgsl",   "WGSL",   true,  in_language<WGSLLanguage>},
};
// clang-format on

}  // namespace

std::string kernel_to_c(const Kernel& kernel, std::string_view name, SourceLines* lines, bool entry) {
  CStyleOptions options;
  options.entry = entry;
  options.polls = polls_of(kernel);
  options.lines = lines;
  return uops_to_cstyle(CLanguage(), name, kernel.uops, options);
}

std::string kernel_to_llvm(const Kernel& kernel, std::string_view name, SourceLines* lines) {
  LlvmOptions options;
  options.contract = kernel.contract;
  options.polls = polls_of(kernel);
  options.lines = lines;
  return uops_to_llvm(name, kernel.uops, options);
}

std::string kernel_to_opencl(const Kernel& kernel, std::string_view name, SourceLines* lines) {
  std::string out =
      detail::message("#pragma OPENCL FP_CONTRACT OFF\n", in_language<OpenCLLanguageWithoutHalf>(kernel, name, lines));
  if (lines != nullptr) lines->insert(lines->begin(), std::vector<std::uint32_t>());
  return out;
}

std::span<const KernelLanguage> kernel_languages() { return kLanguages; }

std::string kernel_language_words() {
  std::string out;
  for (const KernelLanguage& l : kLanguages) out += detail::message(out.empty() ? "" : ", ", l.word);
  return out;
}

const KernelLanguage* find_kernel_language(std::string_view word) {
  const auto* const row = std::find_if(std::begin(kLanguages), std::end(kLanguages),
                                       [&](const KernelLanguage& r) { return r.word == word; });
  return row == std::end(kLanguages) ? nullptr : row;
}

}  // namespace strata
