#include "tools/ask_kernel.h"

#include <utility>

namespace strata::tools {

KernelText read_kernel(const std::string& text) {
  try {
    return parse_kernel(text);
  } catch (const Error& e) {
    throw TextError(e, text, "");
  }
}

std::optional<std::vector<Opt>> read_opts(const std::string& text, std::string_view where) {
  if (text == "auto") return std::nullopt;
  if (text == "none") return std::vector<Opt>();
  try {
    return parse_opts(text);
  } catch (const Error& e) {
    throw TextError(e, text, where);
  }
}

KernelAnswer ask_kernel(const KernelQuestion& question, Work& work) {
  work.charge(question.text.size());
  KernelText text = read_kernel(question.text);
  KernelRecord record;
  Kernel kernel = compile_kernel(text.kernel, question.target, question.opts, &record);
  return {std::move(text), std::move(kernel), std::move(record)};
}

}  // namespace strata::tools
