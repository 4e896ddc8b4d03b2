// Parses the command line by the table of commands, suggests corrections, runs the command, and reports errors.
#include "tools/cli.h"

#include <algorithm>
#include <new>
#include <ostream>

#include "strata/base/check.h"
#include "strata/base/version.h"
#include "strata/runtime/scarcity.h"
#include "tools/trace_text.h"

namespace strata::tools {
namespace {

/// The edit distance of `a` and `b`: the least number of letters to insert, delete, replace, or swap with a neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0);
      d[i][j] = std::min({replaced, d[i - 1][j] + 1, d[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> choices) {
  const std::string_view best = nearest(word, choices);
  return best.empty() ? "" : "; did you mean '" + std::string(best) + "'?";
}

const Command& command_for(std::string_view name) {
  if (const Command* command = find_command(name)) return *command;
  std::vector<std::string_view> names;
  for (const Command& c : commands()) names.push_back(c.name);
  throw UsageError("unknown command '" + std::string(name) + "'" + did_you_mean(name, names));
}

int dispatch(std::span<const std::string> words, Console& console) {
  if (words.empty()) {
    console.err << help_text(console.colour_err);
    return 2;
  }
  const std::string& first = words.front();
  if (first == "--help" || first == "-h") {
    console.out << help_text(console.colour_out);
    return 0;
  }
  if (first == "--version") {
    console.out << "strata " << STRATA_VERSION << '\n';
    return 0;
  }
  if (first.starts_with("-")) throw UsageError("unknown option '" + first + "'");
  const Command& command = command_for(first);
  const Invocation invocation(command, words.subspan(1));
  if (invocation.wants_help()) {
    console.out << help_text(command, console.colour_out);
    return 0;
  }
  const DebugTrace debug(console.err);
  return command.run(invocation, console);
}

int report(Console& console, std::string_view message, int status) {
  console.err << paint(console.colour_err, Style::red, "strata:") << ' ' << message << '\n';
  return status;
}

}  // namespace

std::string paint(bool colour, Style style, std::string_view text) {
  static constexpr std::string_view codes[] = {"1", "2", "31", "32"};
  if (!colour) return std::string(text);
  return "\x1b[" + std::string(codes[static_cast<std::size_t>(style)]) + "m" + std::string(text) + "\x1b[0m";
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.resize(std::max(width, text.size()), ' ');
  return out;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> choices) {
  std::string_view best;
  std::size_t least = 1 + std::max<std::size_t>(1, word.size() / 3);
  if (word.size() > 64) return best;
  for (const std::string_view choice : choices) {
    const std::size_t distance = !word.empty() && choice.starts_with(word) ? 0 : edit_distance(word, choice);
    if (distance < least) {
      least = distance;
      best = choice;
    }
  }
  return best;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

Invocation::Invocation(const Command& command, std::span<const std::string> words) : command_(&command) {
  const auto nested = split(command.nests, '|');
  bool only_arguments = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_output = !only_arguments && word == "-o" && takes("--output");
    if (!is_output && (only_arguments || !word.starts_with("--"))) {
      if (!only_arguments && word == "-h") {
        help_ = true;
      } else {
        arguments_.push_back(word);
        const bool nests = std::find(nested.begin(), nested.end(), word) != nested.end();
        only_arguments = only_arguments || nests;
      }
    } else if (word == "--") {
      only_arguments = true;
    } else if (word == "--help") {
      help_ = true;
    } else {
      i += read_option(words, i);
    }
  }
  if (help_) return;
  if (arguments_.size() < command.least) {
    throw UsageError("'" + std::string(command.name) + "' needs " + std::string(command.arguments), &command);
  }
  if (arguments_.size() > command.most) {
    const std::string extra = arguments_[command.most];
    throw UsageError("unexpected argument '" + extra + "'" +
                         (extra.find(' ') == std::string::npos ? "; put a text with spaces in quotes" : ""),
                     &command);
  }
}

bool Invocation::takes(std::string_view option) const {
  return std::any_of(command_->options.begin(), command_->options.end(),
                     [&](const Option& o) { return o.name == option; });
}

/// Reads the option in words[at]. Returns the number of further words that it uses, 0 or 1.
std::size_t Invocation::read_option(std::span<const std::string> words, std::size_t at) {
  const std::string_view word = words[at] == "-o" ? "--output" : std::string_view(words[at]);
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string_view name = word.substr(0, equals);
  const bool attached = equals < word.size();
  const auto row =
      std::find_if(command_->options.begin(), command_->options.end(), [&](const Option& o) { return o.name == name; });
  if (row == command_->options.end()) {
    std::vector<std::string_view> names = {"--help"};
    for (const Option& o : command_->options) names.push_back(o.name);
    throw UsageError("unknown option '" + std::string(name) + "'" + did_you_mean(name, names), command_);
  }
  const std::string option(row->name);
  if (!row->repeats && has(option)) throw UsageError(option + " is given twice", command_);
  if (row->argument.empty()) {
    if (attached) throw UsageError(option + " takes no value", command_);
    options_.emplace_back(row->name, "");
    return 0;
  }
  if (!attached && at + 1 >= words.size()) {
    throw UsageError(option + " needs a value: " + option + " " + std::string(row->argument), command_);
  }
  const std::string value = attached ? std::string(word.substr(equals + 1)) : words[at + 1];
  const auto choices = split(row->choices, '|');
  const auto check = [&](std::string_view given) {
    if (choices.empty() || std::find(choices.begin(), choices.end(), given) != choices.end()) return;
    throw UsageError(option + (given == value ? " is '" : " has '") + std::string(given) + "', not one of " +
                         std::string(row->choices) + did_you_mean(given, choices),
                     command_);
  };
  if (row->argument.ends_with("[,...]"))
    for (const std::string_view one : split(value, ',')) check(one);
  else
    check(value);
  options_.emplace_back(row->name, value);
  return attached ? 0 : 1;
}

std::optional<std::string> Invocation::value(std::string_view option) const {
  for (auto it = options_.rbegin(); it != options_.rend(); ++it) {
    if (it->first == option) return it->second;
  }
  return std::nullopt;
}

std::vector<std::string> Invocation::values(std::string_view option) const {
  std::vector<std::string> out;
  for (const auto& [name, value] : options_) {
    if (name == option) out.push_back(value);
  }
  return out;
}

int run_program(std::span<const std::string> words, Console& console) {
  try {
    return dispatch(words, console);
  } catch (const UsageError& e) {
    report(console, e.what(), 2);
    const std::string of = e.command() ? " " + std::string(e.command()->name) : "";
    console.err << "try: strata" << of << " --help\n";
    return 2;
  } catch (const std::bad_alloc&) {
    return report(console, "out of memory" + address_space_limit(": "), 1);
  } catch (const std::exception& e) {
    return report(console, e.what(), 1);
  }
}

}  // namespace strata::tools
