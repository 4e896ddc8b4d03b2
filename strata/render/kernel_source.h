// The source text of a kernel, as devices compile it (kernel_to_c() and others), and the table of languages in which
// tools and the page show kernels.
//
//   find_kernel_language("wgsl")->source(kernel, kernel.name, nullptr)
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "strata/codegen/kernel.h"
#include "strata/render/source_lines.h"

namespace strata {

/// The kernel in C. A long kernel asks whether to stop (codegen/polls.h). `entry` adds the entry function that
/// ClangProgram calls.
std::string kernel_to_c(const Kernel& kernel, std::string_view name, SourceLines* lines = nullptr, bool entry = false);
/// The kernel in LLVM IR. A long kernel asks whether to stop. A product and a sum may become an fma if kernel.contract.
std::string kernel_to_llvm(const Kernel& kernel, std::string_view name, SourceLines* lines = nullptr);
/// The kernel in OpenCL C, also for devices without cl_khr_fp16. FP_CONTRACT is off, so the compiler forms no fma of
/// its own.
std::string kernel_to_opencl(const Kernel& kernel, std::string_view name, SourceLines* lines = nullptr);

/// A language in which kernels are shown.
struct KernelLanguage {
  std::string_view word;    ///< its name in requests and commands, e.g. "c"
  std::string_view device;  ///< the device that runs it, e.g. "CLANG", or would run it: "CUDA"
  bool instances;           ///< iterations of the parallel loop are work-items of a launch
  /// The source text of a kernel. `lines`, if not null, gets the UOps of each line.
  std::string (*source)(const Kernel& kernel, std::string_view name, SourceLines* lines);

  /// A target for this language that does not depend on the machine.
  Target target() const { return instances ? Target::of_instances() : Target(); }
};

/// All languages: C, LLVM IR, OpenCL C, CUDA, Metal, WGSL.
std::span<const KernelLanguage> kernel_languages();
/// Their words, for messages: "c, llvm, ...".
std::string kernel_language_words();
/// The language with that word; null if there is none.
const KernelLanguage* find_kernel_language(std::string_view word);

}  // namespace strata
