// The question about a kernel's text that `strata kernel` and `strata batch` answer: compiled for a language, never for the
// processor that answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/kernel.h"
#include "strata/ops/kernel_text.h"
#include "strata/render/kernel_source.h"
#include "tools/ask.h"

namespace strata::tools {

/// What is told of a kernel, in the order in which it is printed.
inline constexpr std::string_view kKernelSections[] = {"ast", "axes",  "uops",  "source",
                                                       "asm", "proof", "passes"};
/// What is told where nobody asks for something else.
inline constexpr std::string_view kShownSections = "axes,uops,source,proof";

struct KernelQuestion {
  std::string text;
  const KernelLanguage* language;
  Target target;
  std::optional<std::vector<Opt>> opts;  ///< none: the heuristic's
};

struct KernelAnswer {
  KernelText text;
  Kernel kernel;
  KernelRecord record;
};

/// @throws TextError with the column in the text or the opts
KernelText read_kernel(const std::string& text);
/// "auto", which is none, "none", or Opts separated by commas. `where`: what they are called where they come from.
std::optional<std::vector<Opt>> read_opts(const std::string& text, std::string_view where);

/// @throws what read_kernel and compile_kernel throw; Error (budget)
KernelAnswer ask_kernel(const KernelQuestion& question, Work& work);

}  // namespace strata::tools
