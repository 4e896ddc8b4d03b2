// From a list of UOps to the text of a program in a language of C's family.
//
//   uops_to_cstyle(CLanguage(), "E_n2", uops)
//   void E_n2(float* restrict data0) {
//     data0[0] = (2.0f+3.0f);
//   }
//
// Buffers are parameters by slot, then the variables in the order of the list. Constants and values that are used once
// stand where they are used; what is used more often is a variable. Values without a use are left out. Floats of 16
// bits are held as f32 and rounded after each op.
#pragma once

#include <string>
#include <string_view>

#include "strata/codegen/polls.h"
#include "strata/ir/uop.h"
#include "strata/render/language.h"
#include "strata/render/source_lines.h"

namespace strata {

using rendering::Language;

// The languages, by the specification's names.
const Language& CLanguage();  ///< GNU C 11: gcc and clang, alone and without warnings
const Language& CUDALanguage();
const Language& OpenCLLanguage();
const Language& OpenCLLanguageWithoutHalf();  ///< for devices without cl_khr_fp16, too
const Language& MetalLanguage();
const Language& WGSLLanguage();

// GCC and clang warn of a deprecated field where they make the constructors.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// What else the text of a kernel has.
struct CStyleOptions {
  /// Also `void NAME_entry(void* const* buffers, const long long* values)`, which calls the kernel. C alone.
  bool entry = false;
  /// Where it asks whether to go on: buffers[polls.slot] of the entry is `int poll(void)`. C alone.
  Polls polls = {};
  SourceLines* lines = nullptr;  ///< where not null, gets what each line says
  [[deprecated("renamed to polls")]] Polls looks = {};
};

#pragma GCC diagnostic pop

/// The program. @throws Error (domain) for a list that `verify` refuses, a name that is none, or an op or dtype that
/// the language lacks, naming it.
std::string uops_to_cstyle(const Language& language, std::string_view function_name,
                           const UOpGraph& uops, const CStyleOptions& options = {});

}  // namespace strata
