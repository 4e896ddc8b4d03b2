// Writing C++ and Python for what stands in the box. Internal to box_*.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strata/layout/layout.h"
#include "tools/box_text.h"

namespace strata::tools {

enum class CodeLanguage : std::uint8_t { cpp, python };

/// One snippet: what is needed before the value, and pieces of it.
class CodeText {
 public:
  CodeText(CodeLanguage language, const std::vector<Variable>& variables)
      : language_(language), variables_(variables) {}

  bool is_cpp() const { return language_ == CodeLanguage::cpp; }
  /// False where a variable's name is a word of the language.
  bool can_declare() const;
  /// What a value of these names needs in front: imports in Python, variables.
  std::string head(std::string_view imported) const;
  std::string_view scope() const { return is_cpp() ? "::" : "."; }

  std::string number(const Int& n) const;
  /// `{2, 3}` or `(2, 3)`.
  std::string tuple(const std::vector<std::string>& items) const;
  std::string numbers(const Ints& list) const;
  std::string pairs(const Padding& list) const;
  std::string mask(const Mask& mask) const;
  std::string view(const View& view) const;
  std::string stack(const std::vector<View>& views) const;
  std::string parsed(std::string_view text) const;  ///< an expression from its text
  /// @returns "" where Python's tuples cannot say a size
  std::string layout(const Layout& layout) const;

 private:
  std::string variable_list() const;
  CodeLanguage language_;
  const std::vector<Variable>& variables_;
};

}  // namespace strata::tools
