// --help, generated from the table of commands.
#include <algorithm>
#include <string>

#include "strata/base/check.h"
#include "tools/cli.h"

namespace strata::tools {
namespace {

std::string heading(bool colour, std::string_view text) {
  return detail::message("\n", paint(colour, Style::bold, text), "\n");
}

void append_examples(std::string& out, std::span<const Example> examples, bool colour) {
  for (const Example& e : examples) {
    out += "  $ " + std::string(e.line) + "\n";
    for (const std::string_view line : split(e.note, '\n')) out += "    " + paint(colour, Style::dim, line) + "\n";
  }
}

std::string left_column(const Option& o) {
  return o.argument.empty() ? std::string(o.name) : std::string(o.name) + " " + std::string(o.argument);
}

}  // namespace

std::string exit_status_text(const Command& c) {
  return detail::message("0 done; 1 ", c.failure.empty() ? "the output cannot be written" : c.failure,
                         "; 2 the command line is wrong");
}

std::string help_text(bool colour) {
  std::string out =
      detail::message(paint(colour, Style::bold, "strata"), ": ", program_summary, "\n", program_description, "\n");
  out += detail::message(paint(colour, Style::bold, "Usage"), "  strata COMMAND [ARGUMENTS]\n",
                         heading(colour, "Commands"));
  std::size_t width = 0;
  for (const Command& c : commands()) width = std::max(width, c.name.size());
  for (const Command& c : commands()) out += "  " + padded(c.name, width + 2) + std::string(c.summary) + "\n";
  out += heading(colour, "Examples");
  for (const Command& c : commands().first(1)) append_examples(out, c.examples.first(1), colour);
  return out +
         "'strata COMMAND --help' shows a command's options and more examples; 'strata "
         "--version' "
         "the version.\n";
}

std::string help_text(const Command& c, bool colour) {
  std::string out = paint(colour, Style::bold, "strata " + std::string(c.name)) + ": " + std::string(c.summary) + "\n";
  if (!c.description.empty()) out += detail::message("\n", c.description, "\n");
  out += heading(colour, "Usage") + "  strata " + std::string(c.name);
  if (!c.arguments.empty()) out += detail::message(" ", c.arguments);
  out += c.options.empty() ? "\n" : " [OPTIONS]\n";
  if (!c.options.empty()) {
    out += heading(colour, "Options");
    std::size_t width = 0;
    for (const Option& o : c.options) width = std::max(width, left_column(o).size());
    for (const Option& o : c.options) {
      out += "  " + padded(left_column(o), width + 2) + std::string(o.help) + (o.repeats ? " (repeatable)" : "") + "\n";
    }
  }
  if (!c.examples.empty()) out += heading(colour, "Examples");
  append_examples(out, c.examples, colour);
  return out + heading(colour, "Exit status") + "  " + exit_status_text(c) + "\n";
}

}  // namespace strata::tools
