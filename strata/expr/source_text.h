// The common part of all text readers: translation of LaTeX to the infix grammar, columns that refer to the original
// text, and the sentences of parse errors. Internal to expr/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "strata/base/check.h"
#include "strata/expr/grammar.h"

namespace strata {

/// A text to read: the original, or its translation when the original is LaTeX (holds a backslash).
class SourceText {
 public:
  /// @throws Error (parse) for LaTeX in a form that `render` does not write.
  explicit SourceText(std::string_view original);
  std::string_view infix() const { return translated_ ? std::string_view(infix_) : original_; }
  /// The column in the original text of a column in `infix()`.
  std::size_t column(std::size_t infix_column) const;

  /// Throws the Error for a fault that the grammar reports.
  [[noreturn]] void fail(Fault fault, std::string_view what, std::string_view token, std::size_t column) const;

 private:
  std::string_view original_;
  bool translated_ = false;
  std::string infix_;
  std::vector<std::size_t> columns_;  // the original column of each byte of infix_
};

/// A map from names to positions, which suggests a name for a misspelt one.
class NameTable {
 public:
  /// @throws Error (domain) when a name occurs twice; (parse) for a reserved word.
  explicit NameTable(std::vector<std::string_view> names);
  /// The position of `name`. @throws Error (parse) for an unknown name, with a suggestion when a known name is close.
  std::size_t find(std::string_view name, std::size_t column) const;

 private:
  std::vector<std::string_view> names_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

namespace detail {
/// Translates LaTeX in the form that `render` writes. `columns` gets the original column of each byte of the result.
std::string translate_latex(std::string_view text, std::vector<std::size_t>& columns);
}  // namespace detail

}  // namespace strata
