// ask_kernel(): compiles the text of a kernel, for `strata kernel` and the request `kernel`. The target is that of a
// language, not of the processor that answers, so every machine gives the same answer.
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

/// The sections that can be shown of a kernel, in the order in which they are printed.
inline constexpr std::string_view kKernelSections[] = {"ast", "axes",  "uops", "source",
                                                       "asm", "proof", "time", "passes"};
/// The sections that are shown by default.
inline constexpr std::string_view kShownSections = "axes,uops,source,proof";

struct KernelQuestion {
  std::string text;
  const KernelLanguage* language;
  Target target;
  std::optional<std::vector<Opt>> opts;  ///< nothing: the heuristic chooses them
};

struct KernelAnswer {
  KernelText text;
  Kernel kernel;
  KernelRecord record;
};

/// Parses the text of a kernel (ops/kernel_text.h). @throws TextError with the column
KernelText read_kernel(const std::string& text);
/// Parses Opts: "auto" gives nothing, "none" an empty list, else Opts separated by commas. `where` is their name in
/// errors.
/// @throws TextError with the column
std::optional<std::vector<Opt>> read_opts(const std::string& text, std::string_view where);

/// Compiles the kernel. @throws as read_kernel() and compile_kernel(); Error (budget)
KernelAnswer ask_kernel(const KernelQuestion& question, Work& work);

}  // namespace strata::tools
