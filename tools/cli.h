// The command line of the program `strata`: the types of the table of commands and options (commands.cpp). Parsing,
// --help, shell completion and the manual page are generated from that table.
//
// All options are long: `--name value` or `--name=value`; `-o` stands for `--output`. Any other word with one dash,
// e.g.
// `-a + 3`, is an argument, and so
// is every word after
// `--`. Exit status: 0 done, 1 failed, 2 wrong usage.
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

/// The output streams of a command. Colours are on for a stream that is a terminal with colours.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool colour_out = false;
  bool colour_err = false;
};

enum class Style { bold, dim, red, green };
/// `text` in `style`, by an escape sequence; unchanged if `colour` is false.
std::string paint(bool colour, Style style, std::string_view text);

struct Option {
  std::string_view name;      ///< "--var"
  std::string_view argument;  ///< e.g. "NAME=MIN..MAX"; empty for a switch; "WORD[,...]": choices with commas between
  std::string_view choices;   ///< e.g. "spec|c|python", the only legal values; empty: any value
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
  std::string_view arguments;       ///< for --help, e.g. "TEXT", "[FILE...]"
  std::size_t least = 0, most = 0;  ///< how many arguments
  std::string_view completes;       ///< of arguments: "", "FILE", "COMMAND", or words as "bash|zsh|fish"
  std::string_view summary;         ///< one line
  std::string_view description;
  std::string_view failure;  ///< when the exit status is 1, for --help; empty: only common failures
  std::span<const Option> options;
  std::span<const Example> examples;
  int (*run)(const Invocation&, Console&);
  /// E.g. "expr|view": after such an argument, all words are the arguments and options of that command.
  std::string_view nests = {};
};

/// All commands, in the order of --help.
std::span<const Command> commands();
/// The command of that name; null if there is none.
const Command* find_command(std::string_view name);

/// An invalid command line: exit status 2. `command` is the command whose --help the message recommends; null: the
/// program's.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& message, const Command* command = nullptr)
      : std::runtime_error(message), command_(command) {}
  const Command* command() const { return command_; }

 private:
  const Command* command_;
};

/// A command with its arguments and options, checked against the table.
class Invocation {
 public:
  /// Parses the words after the command's name.
  /// @throws UsageError for an unknown option, a missing or illegal value, or a wrong number of arguments
  Invocation(const Command& command, std::span<const std::string> words);

  const Command& command() const { return *command_; }
  const std::vector<std::string>& arguments() const { return arguments_; }
  bool has(std::string_view option) const { return value(option).has_value(); }
  /// The last value of the option; empty text for a switch; nothing if the option was not given.
  std::optional<std::string> value(std::string_view option) const;
  /// All values of the option, in the order in which they were given.
  std::vector<std::string> values(std::string_view option) const;
  /// All options with their values, in the order in which they were given.
  std::span<const std::pair<std::string_view, std::string>> options() const { return options_; }
  bool wants_help() const { return help_; }

 private:
  bool takes(std::string_view option) const;
  std::size_t read_option(std::span<const std::string> words, std::size_t at);

  const Command* command_;
  std::vector<std::string> arguments_;
  std::vector<std::pair<std::string_view, std::string>> options_;
  bool help_ = false;
};

/// The choice with the smallest edit distance to `word`; empty if none is near enough to be a misspelling.
std::string_view nearest(std::string_view word, std::span<const std::string_view> choices);

/// `text` followed by blanks, `width` bytes in all; unchanged if it is longer.
std::string padded(std::string_view text, std::size_t width);

inline constexpr std::string_view program_summary = "a tensor compiler, and the exact index algebra below it";
inline constexpr std::string_view program_description =
    "Simplifies and proves integer expressions, draws Views and layouts, compiles kernels and runs "
    "them.";

/// The meanings of the exit status, e.g. "0 done; 1 the text is refused; 2 the command line is wrong".
std::string exit_status_text(const Command& command);

/// The text of `strata --help`.
std::string help_text(bool colour);
/// The text of `strata COMMAND --help`.
std::string help_text(const Command& command, bool colour);

/// The completion script of a shell. @throws UsageError unless it is bash, zsh or fish
std::string completion_script(std::string_view shell);

/// The manual page strata(1), in roff.
std::string man_page();

/// Runs the program. `words` are the words after the program's name. Returns the exit status; prints errors to
/// `console.err`.
int run_program(std::span<const std::string> words, Console& console);

}  // namespace strata::tools
