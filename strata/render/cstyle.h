// uops_to_cstyle(): renders a kernel, a list of UOps, as source code in C, CUDA, OpenCL C, Metal or WGSL. The languages
// are data (language.h). Devices call it through kernel_source.h.
//
//   uops_to_cstyle(CLanguage(), "E_n2", uops)
//   void E_n2(float* restrict data0) {
//     data0[0] = (2.0f+3.0f);
//   }
//
// The parameters are the buffers, ordered by slot, then the variables, in the order of the list. A constant, and a
// value with one use, is written inside the expression that uses it; a value with several uses becomes a local
// variable; a value without a use is left out. f16 and bf16 values are held as f32 and rounded after each op.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/polls.h"
#include "strata/ir/uop.h"
#include "strata/render/language.h"
#include "strata/render/source_lines.h"

namespace strata {

using rendering::Language;

// The languages. Their names are those of the specification.
const Language& CLanguage();  ///< GNU C 11: gcc and clang, alone and without warnings
/// C of files that others compile (export/): ISO C 11 that is also C++, with the types of stdint.h and without libm.
/// Names at file scope begin with "strata_", which the file replaces by a prefix of its own. A vector is an array.
const Language& plain_c_language();
/// The same with GNU vectors. NOTE: it has no f16 in vectors.
const Language& vector_c_language();
const Language& CUDALanguage();
const Language& OpenCLLanguage();
const Language& OpenCLLanguageWithoutHalf();  ///< also for devices without cl_khr_fp16
const Language& MetalLanguage();
const Language& WGSLLanguage();

/// Additions to the text of a kernel.
struct CStyleOptions {
  /// Adds `void NAME_entry(void* const* buffers, const long long* values)`, which calls the kernel. Only in C.
  bool entry = false;
  /// The loops in which the kernel asks whether to stop; buffers[polls.slot] of the entry is then the address of `int
  /// poll(void)`, which answers 1 to stop. Only in C.
  Polls polls = {};
  SourceLines* lines = nullptr;  ///< if not null, gets the UOps of each line
  /// The former name of polls, for one version. NOTE: not [[deprecated]], of which g++ warns in each initializer list.
  Polls looks = {};
};

/// The text of a kernel in parts, for files with several kernels.
struct CStyleParts {
  std::vector<std::string> helpers;  ///< functions and macros that the kernel calls, in the order of their definitions
  std::string types;                 ///< typedefs, a line each
  std::string function;
};
/// The parts of uops_to_cstyle(). @pre `options` asks for nothing @throws as uops_to_cstyle()
CStyleParts uops_to_cstyle_parts(const Language& language, std::string_view function_name, const UOpGraph& uops);

/// The source text of a kernel with the name `function_name`.
/// @throws Error (domain) if verify() refuses the list, the name is not an identifier or is reserved, the language
///   lacks an op or a dtype of the list (the message names it), or the language does not have what `options` ask for
std::string uops_to_cstyle(const Language& language, std::string_view function_name, const UOpGraph& uops,
                           const CStyleOptions& options = {});

}  // namespace strata
