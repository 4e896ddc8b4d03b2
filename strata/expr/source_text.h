// What the readers of text share: LaTeX turned into the infix grammar, columns that point into the original, and the
// sentences of parse errors. Internal to expr/.
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

/// A text to read: as it is, or, when it holds a backslash, its translation from LaTeX.
class SourceText {
 public:
  /// @throws Error (parse) for LaTeX that `render` does not write.
  explicit SourceText(std::string_view original);
  std::string_view infix() const { return translated_ ? std::string_view(infix_) : original_; }
  /// The column in the original text for a column of `infix()`.
  std::size_t column(std::size_t infix_column) const;

  /// Throws the error that the grammar reports.
  [[noreturn]] void fail(Fault fault, std::string_view what, std::string_view token,
                         std::size_t column) const;

 private:
  std::string_view original_;
  bool translated_ = false;
  std::string infix_;
  std::vector<std::size_t> columns_;  // of each byte of infix_
};

/// Names to positions, with an answer for misspelt ones.
class NameTable {
 public:
  /// @throws Error (domain) when a name occurs twice, (parse) for a reserved word.
  explicit NameTable(std::vector<std::string_view> names);
  /// @throws Error (parse) for an unknown name, with a suggestion when one is close.
  std::size_t find(std::string_view name, std::size_t column) const;

 private:
  std::vector<std::string_view> names_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

namespace detail {
/// LaTeX, as `render` writes it, to the infix grammar; `columns` gets the original column of each byte.
std::string translate_latex(std::string_view text, std::vector<std::size_t>& columns);
}  // namespace detail

}  // namespace strata
