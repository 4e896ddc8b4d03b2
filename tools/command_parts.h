// Functions that several commands share: parsing of integers and variables in options, labelled output lines, and error
// messages with a caret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ask.h"
#include "tools/cli.h"

namespace strata::tools {

/// @throws UsageError, naming `where`, unless `text` is an integer of 64 bits
std::int64_t parse_integer(std::string_view text, const std::string& where, const Command& command);

/// The variables of all options `--var NAME=MIN..MAX`, in order. @throws UsageError for another form, or a name that
/// occurs twice
std::vector<Variable> read_variables(const Invocation& invocation);

/// Whether to print colours: as --color says; by default if the console shows them.
bool wants_colour(const Invocation& invocation, const Console& console);

/// Prints the error with a caret below its text, and a hint to --var if a name has no bounds. Returns the exit status.
int report_text_error(const TextError& e, const std::vector<Variable>& variables, Console& console);

/// Prints lines of a label in bold, a text, and a note in parentheses.
class Lines {
 public:
  Lines(Console& console, bool colour, std::size_t width = 12) : console_(console), colour_(colour), width_(width) {}
  void print(std::string_view label, std::string_view text, std::string_view note = "");

 private:
  Console& console_;
  bool colour_;
  std::size_t width_;
};

}  // namespace strata::tools
