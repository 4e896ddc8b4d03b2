// The text of a kernel as those who run it have it, and the languages that there are.
//
//   find_kernel_language("wgsl")->source(kernel, kernel.name, nullptr)
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "strata/codegen/kernel.h"
#include "strata/render/source_lines.h"

namespace strata {

/// C, with the polls of kernels that run long, and with an entry for the host where `entry` says so.
std::string kernel_to_c(const Kernel& kernel, std::string_view name, SourceLines* lines = nullptr,
                        bool entry = false);
/// LLVM IR, with polls; products are fused into sums where the kernel's target may.
std::string kernel_to_llvm(const Kernel& kernel, std::string_view name, SourceLines* lines = nullptr);
/// OpenCL C in which nothing but MULACC is contracted, also for devices without cl_khr_fp16.
std::string kernel_to_opencl(const Kernel& kernel, std::string_view name, SourceLines* lines = nullptr);

/// A language that kernels are shown in.
struct KernelLanguage {
  std::string_view word;    ///< "c"
  std::string_view device;  ///< "CLANG": what runs it, or would
  bool instances;           ///< iterations of the parallel loop are instances of a launch
  /// `lines`, where not null, gets what each line says.
  std::string (*source)(const Kernel& kernel, std::string_view name, SourceLines* lines);

  /// Where no machine says it.
  Target target() const { return instances ? Target::of_instances() : Target(); }
};

std::span<const KernelLanguage> kernel_languages();
/// "c, llvm, ...": the words.
std::string kernel_language_words();
/// Null where the word is none.
const KernelLanguage* find_kernel_language(std::string_view word);

}  // namespace strata
