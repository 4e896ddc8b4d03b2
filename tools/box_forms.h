// forms_of(): the contents of the box (box_text.h) in all notations: chain, C++, Python, CuTe, C, LaTeX, a command. For
// the page and the request `read`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/box_text.h"

namespace strata::tools {

struct BoxForm {
  std::string_view name;  ///< "text", "chain", "C++", "Python", "CuTe", "expression", "C", "LaTeX", "command"
  std::string text;
};

/// All notations in which the contents can be written. A View that is a layout has a CuTe form, and a layout has a form
/// as a View.
std::vector<BoxForm> forms_of(const Box& box, Work& work);

/// The declarations of `variables` in the box, e.g. `n: 1..100; `.
std::string bounds_text(const std::vector<Variable>& variables);
/// `word` quoted for a shell, if necessary.
std::string shell_word(std::string_view word);

}  // namespace strata::tools
