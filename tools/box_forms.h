// All spellings of what stands in the box.
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

/// The forms that exist: each says the same. A View that is a layout has CuTe's, a layout has a View's.
std::vector<BoxForm> forms_of(const Box& box, Work& work);

/// The statements that give `variables` their bounds in the box: `n: 1..100; `.
std::string bounds_text(const std::vector<Variable>& variables);
/// A word of a command line as a shell reads it.
std::string shell_word(std::string_view word);

}  // namespace strata::tools
