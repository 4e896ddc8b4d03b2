// Functions that several commands share.
#include "tools/command_parts.h"

#include <algorithm>
#include <charconv>
#include <ostream>

#include "strata/base/quotes.h"
#include "strata/expr/grammar.h"
#include "strata/expr/parse.h"

namespace strata::tools {
namespace {

Variable parse_variable(const std::string& text, const Command& command) {
  const std::string where = "--var " + text;
  const std::size_t equals = text.find('=');
  const std::size_t dots = text.find("..");
  if (equals == std::string::npos || dots == std::string::npos || dots < equals) {
    throw UsageError(where + ": expected NAME=MIN..MAX", &command);
  }
  const std::string_view view = text;
  return Variable(view.substr(0, equals), parse_integer(view.substr(equals + 1, dots - equals - 1), where, command),
                  parse_integer(view.substr(dots + 2), where, command));
}

/// The name that begins at `column`, if it is a name without bounds; else empty.
std::string_view undeclared_name(std::string_view text, std::size_t column, const std::vector<Variable>& variables) {
  if (column == 0 || column > text.size() || !is_name_start(text[column - 1])) return {};
  std::size_t end = column;
  while (end < text.size() && (is_name_start(text[end]) || is_digit(text[end]))) ++end;
  const std::string_view name = text.substr(column - 1, end - column + 1);
  const std::string_view rest = text.substr(end);
  const bool assigned = rest.starts_with('=') && !rest.starts_with("==");
  if (is_reserved_word(name) || rest.starts_with('(') || assigned) return {};
  for (const Variable& v : variables) {
    if (v.name() == name) return {};
  }
  return name;
}

}  // namespace

std::int64_t parse_integer(std::string_view text, const std::string& where, const Command& command) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range)
    throw UsageError(where + ": " + in_quotes(text) + " does not fit in 64 bits", &command);
  if (error != std::errc() || stop != end)
    throw UsageError(where + ": " + in_quotes(text) + " is not an integer", &command);
  return value;
}

std::vector<Variable> read_variables(const Invocation& invocation) {
  std::vector<Variable> variables;
  for (const std::string& text : invocation.values("--var")) {
    const Variable v = parse_variable(text, invocation.command());
    const auto same_name = [&](const Variable& other) { return other.name() == v.name(); };
    if (std::any_of(variables.begin(), variables.end(), same_name)) {
      throw UsageError("--var " + text + ": the name has bounds already", &invocation.command());
    }
    variables.push_back(v);
  }
  return variables;
}

bool wants_colour(const Invocation& invocation, const Console& console) {
  const auto when = invocation.value("--color");
  if (!when || *when == "auto") return console.colour_out;
  return *when == "always";
}

int report_text_error(const TextError& e, const std::vector<Variable>& variables, Console& console) {
  console.err << paint(console.colour_err, Style::red, "strata:") << ' ' << e.what() << '\n';
  if (e.column() == 0) return 1;
  console.err << show_caret(e.text(), e.column()) << '\n';
  if (std::string_view(e.what()).find("unknown name") == std::string_view::npos) return 1;
  const std::string_view name = undeclared_name(e.text(), e.column(), variables);
  if (!name.empty()) console.err << "give its bounds: --var " << name << "=0..9\n";
  return 1;
}

void Lines::print(std::string_view label, std::string_view text, std::string_view note) {
  std::string padded(label);
  padded.resize(std::max(width_, label.size() + 1), ' ');
  console_.out << paint(colour_, Style::bold, padded) << text;
  if (!note.empty()) console_.out << paint(colour_, Style::dim, "  (" + std::string(note) + ")");
  console_.out << '\n';
}

}  // namespace strata::tools
