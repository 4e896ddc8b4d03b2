// The manual page, generated from the table of commands and from the flags.
#include <cstdio>
#include <string>

#include "strata/base/check.h"
#include "strata/base/flags.h"
#include "strata/base/version.h"
#include "tools/cli.h"

namespace strata::tools {
namespace {

/// The code point at text[i], in UTF-8; moves i to its last byte.
unsigned code_point(std::string_view text, std::size_t& i) {
  const auto lead = static_cast<unsigned char>(text[i]);
  unsigned code = lead < 0xE0 ? lead & 0x1FU : lead < 0xF0 ? lead & 0x0FU : lead & 0x07U;
  while (i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xC0U) == 0x80U)
    code = code << 6 | (static_cast<unsigned char>(text[++i]) & 0x3FU);
  return code;
}

/// `text`, escaped for roff.
std::string roff(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";  // or roff would read a request
    begins_line = c == '\n';
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x80) {
          out += c;
          continue;
        }
        char code[16];
        std::snprintf(code, sizeof code, "\\[u%04X]", code_point(text, i));
        out += code;
    }
  }
  return out;
}

std::string font(char name, std::string_view text) {
  return text.empty() ? "" : detail::message("\\f", std::string_view(&name, 1), roff(text), "\\fR");
}

/// Lines that roff must not fill.
std::string verbatim(const std::string& lines) { return detail::message(".nf\n", lines, ".fi\n"); }

std::string option_text(const Option& o) {
  std::string out = ".TP\n" + font('B', o.name);
  if (!o.argument.empty()) out += " " + font('I', o.argument);
  return out + "\n" + roff(o.help) + (o.repeats ? " (repeatable)\n" : "\n");
}

std::string examples_text(const Command& c) {
  std::string lines;
  for (const Example& e : c.examples) {
    lines += "$ " + roff(e.line) + "\n";
    for (const std::string_view line : split(e.note, '\n')) lines += "  " + roff(line) + "\n";
  }
  return lines.empty() ? "" : ".PP\nExamples:\n.PP\n.RS\n" + verbatim(lines) + ".RE\n";
}

std::string command_text(const Command& c) {
  std::string out = ".SS " + font('B', detail::message("strata ", c.name));
  if (!c.arguments.empty()) out += " " + font('I', c.arguments);
  if (!c.options.empty()) out += " [" + font('I', "OPTIONS") + "]";
  out += "\n" + roff(c.summary) + ".\n";
  if (!c.description.empty()) out += ".PP\n" + verbatim(roff(c.description) + "\n");
  for (const Option& o : c.options) out += option_text(o);
  out += ".PP\nExit status: " + roff(exit_status_text(c)) + ".\n";
  return out + examples_text(c);
}

std::string environment_text() {
  std::string out;
  for (const FlagBase* flag : flags::all()) {
    const std::string value = flag->default_text();
    out += ".TP\n" + font('B', flag->environment_name()) +
           roff(detail::message(" (", flag->type_name(), value.empty() ? "" : ", default ", value, ")\n")) +
           roff(flag->help()) + "\n";
  }
  return out;
}

}  // namespace

std::string man_page() {
  std::string out = ".\\\" Written by: strata man\n";
  out += detail::message(".TH STRATA 1 \"\" \"strata ", STRATA_VERSION, "\" \"User Commands\"\n");
  out += detail::message(".SH NAME\nstrata \\- ", roff(program_summary), "\n");
  out +=
      ".SH SYNOPSIS\n.B strata\n.I COMMAND\n.RI [ ARGUMENTS ]\n.br\n.B strata\n.I COMMAND\n"
      ".B \\-\\-help\n.br\n.B strata \\-\\-version\n";
  out += detail::message(".SH DESCRIPTION\n", roff(program_description), "\n.SH COMMANDS\n");
  for (const Command& c : commands()) out += command_text(c);
  out += ".SH EXIT STATUS\n0 done, 1 failed, 2 the command line is wrong.\n";
  out += ".SH ENVIRONMENT\n" + environment_text();
  out += ".TP\n.B STRATA_PLUGIN_DIR\n" +
         roff("the folder of libstrata_llvm.so, if the library is not beside the program\n");
  out += ".TP\n.B NO_COLOR\n" + roff("no colours, if the variable is not empty\n");
  return out + ".SH FILES\n.TP\n.I \\(ti/.cache/strata\n" + roff("compiled kernels: see strata cache\n");
}

}  // namespace strata::tools
