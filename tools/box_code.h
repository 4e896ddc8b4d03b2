// CodeText: writes C++ and Python code for the contents of the box, for forms_of() (box_forms.h). Internal to
// box_*.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strata/layout/layout.h"
#include "tools/box_text.h"

namespace strata::tools {

enum class CodeLanguage : std::uint8_t { cpp, python };

/// Writes the pieces of one snippet of code.
class CodeText {
 public:
  CodeText(CodeLanguage language, const std::vector<Variable>& variables)
      : language_(language), variables_(variables) {}

  bool is_cpp() const { return language_ == CodeLanguage::cpp; }
  /// False if a variable's name is a keyword of the language.
  bool can_declare() const;
  /// The code before the value: in Python the import of `imported`, then the declarations of the variables.
  std::string head(std::string_view imported) const;
  std::string_view scope() const { return is_cpp() ? "::" : "."; }

  std::string number(const Int& n) const;
  /// `{2, 3}` in C++, `(2, 3)` in Python.
  std::string tuple(const std::vector<std::string>& items) const;
  std::string numbers(const Ints& list) const;
  std::string pairs(const Padding& list) const;
  std::string mask(const Mask& mask) const;
  std::string view(const View& view) const;
  std::string stack(const std::vector<View>& views) const;
  std::string parsed(std::string_view text) const;  ///< a call that parses `text` as an expression
  /// @returns "" if a size cannot be written in a Python tuple
  std::string layout(const Layout& layout) const;

 private:
  std::string variable_list() const;
  CodeLanguage language_;
  const std::vector<Variable>& variables_;
};

}  // namespace strata::tools
