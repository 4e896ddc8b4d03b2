// Sizes in the brackets of a kernel's text: they are read as expressions over its variables. Internal to graph/.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "strata/ops/kernel_expression.h"

namespace strata::kernel_words {

class SizeReader {
 public:
  SizeReader(Scope& scope, std::span<const Token> tokens) : scope_(scope), tokens_(tokens) {}

  /// The index of the token `close` that ends the bracket before `from`, or of the comma that ends the first item.
  /// @throws Error (parse) where it is not there
  std::size_t find_end(std::size_t from, std::string_view close, bool until_comma = false) const;
  /// The items of [from, to), which may stand in brackets of their own.
  SizeItems items(std::size_t from, std::size_t to);

 private:
  Int size(std::size_t from, std::size_t to);
  std::size_t separator(std::size_t from, std::size_t to, std::string_view symbol) const;
  bool unwrap(std::size_t& from, std::size_t& to) const;
  SizeItem item(std::size_t from, std::size_t to);

  Scope& scope_;
  std::span<const Token> tokens_;
};

}  // namespace strata::kernel_words
