// What commands share: integers and variables among their options, labelled lines, errors with a caret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ask.h"
#include "tools/cli.h"

namespace strata::tools {

/// @throws UsageError unless `text` is an integer of 64 bits.
std::int64_t parse_integer(std::string_view text, const std::string& where, const Command& command);

/// Every `--var NAME=MIN..MAX`, in order. @throws UsageError for another form or a name that is there twice.
std::vector<Variable> read_variables(const Invocation& invocation);

/// Whether to write in colours: `--color`, or else where the console shows them.
bool wants_colour(const Invocation& invocation, const Console& console);

/// Prints the error with a caret below its text, and how to give a name its bounds where that is what is missing.
/// Returns the exit status.
int report_text_error(const TextError& e, const std::vector<Variable>& variables, Console& console);

/// `label` in bold, a text, and a note in brackets.
class Lines {
 public:
  Lines(Console& console, bool colour, std::size_t width = 12)
      : console_(console), colour_(colour), width_(width) {}
  void print(std::string_view label, std::string_view text, std::string_view note = "");

 private:
  Console& console_;
  bool colour_;
  std::size_t width_;
};

}  // namespace strata::tools
