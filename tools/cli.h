// The command line: one table of commands and options, from which parsing, --help, shell completion and the
// manual page are generated.
//
// Options are long only (`--name value`, `--name=value`); a text that begins with one dash, as `-a + 3`, is an ordinary
// argument, and after `--` everything is. Exit status: 0 done, 1 failed, 2 wrong usage.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/split.h"

namespace strata::tools {

/// Where a command writes. Colours are on only where that is a terminal that shows them.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool colour_out = false;
  bool colour_err = false;
};

enum class Style { bold, dim, red, green };
/// `text` in `style`, or as it is where `colour` is false.
std::string paint(bool colour, Style style, std::string_view text);

struct Option {
  std::string_view name;      ///< "--var"
  std::string_view argument;  ///< "NAME=MIN..MAX", empty for a switch
  std::string_view choices;   ///< "spec|c|python" where only these are legal
  bool repeats = false;       ///< may be given more than once
  std::string_view help;      ///< one line
};

struct Example {
  std::string_view line;
  std::string_view note;
};

class Invocation;

struct Command {
  std::string_view name;
  std::string_view arguments;  ///< "TEXT", "[FILE...]"
  std::size_t least = 0, most = 0;
  std::string_view completes;  ///< of the arguments: "" nothing, "FILE", "COMMAND", "bash|zsh|fish", "FILE|expr"
  std::string_view summary;  ///< one line
  std::string_view description;
  std::string_view failure;  ///< when the exit status is 1, but for what can happen to each: ""
  std::span<const Option> options;
  std::span<const Example> examples;
  int (*run)(const Invocation&, Console&);
  std::string_view nests = {};  ///< "expr|view": from such an argument on, all words are those of that command
};

/// All commands, in the order that --help shows.
std::span<const Command> commands();
const Command* find_command(std::string_view name);

/// The command line does not say what to do: exit status 2.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& message, const Command* command = nullptr)
      : std::runtime_error(message), command_(command) {}
  const Command* command() const { return command_; }

 private:
  const Command* command_;
};

/// A command with its arguments, checked against the table.
class Invocation {
 public:
  /// @throws UsageError for unknown options, missing values, wrong numbers of arguments.
  Invocation(const Command& command, std::span<const std::string> words);

  const Command& command() const { return *command_; }
  const std::vector<std::string>& arguments() const { return arguments_; }
  bool has(std::string_view option) const { return value(option).has_value(); }
  /// The last value of the option; "" for a switch that is there.
  std::optional<std::string> value(std::string_view option) const;
  std::vector<std::string> values(std::string_view option) const;
  /// All options with their values, in the order in which they were given.
  std::span<const std::pair<std::string_view, std::string>> options() const { return options_; }
  bool wants_help() const { return help_; }

 private:
  std::size_t read_option(std::span<const std::string> words, std::size_t at);

  const Command* command_;
  std::vector<std::string> arguments_;
  std::vector<std::pair<std::string_view, std::string>> options_;
  bool help_ = false;
};

/// The choice nearest to `word` where one is near enough to be meant, else "".
std::string_view nearest(std::string_view word, std::span<const std::string_view> choices);

/// `text` with blanks behind it, `width` bytes in all; a longer one as it is.
std::string padded(std::string_view text, std::size_t width);

inline constexpr std::string_view program_summary =
    "a tensor compiler, and the exact index algebra below it";
inline constexpr std::string_view program_description =
    "Simplifies and proves integer expressions, draws Views and layouts, compiles kernels and runs "
    "them.";

/// "0 done; 1 the text is refused; 2 the command line is wrong"
std::string exit_status_text(const Command& command);

std::string help_text(bool colour);
std::string help_text(const Command& command, bool colour);

/// The completion script. @throws UsageError for a shell other than bash, zsh, fish.
std::string completion_script(std::string_view shell);

/// The manual page strata(1), in roff.
std::string man_page();

/// Runs the program on the words after its name and returns the exit status; reports every error on `console.err`.
int run_program(std::span<const std::string> words, Console& console);

}  // namespace strata::tools
