// Completion scripts for bash, zsh and fish, generated from the table of commands.
#include <algorithm>
#include <string>

#include "strata/base/check.h"
#include "tools/cli.h"

namespace strata::tools {
namespace {

std::string words(std::string_view choices) {
  std::string out(choices);
  std::replace(out.begin(), out.end(), '|', ' ');
  return out;
}

/// The words that arguments of `c` may be, separated by blanks; empty for files and for arbitrary texts.
std::string argument_words(const Command& c) {
  constexpr std::string_view kFiles = "FILE|";
  if (c.completes == "FILE") return {};
  if (c.completes.starts_with(kFiles)) return words(c.completes.substr(kFiles.size()));
  if (c.completes != "COMMAND") return words(c.completes);
  std::string out;
  for (const Command& other : commands()) out += detail::message(out.empty() ? "" : " ", other.name);
  return out;
}

bool completes_files(const Command& c) { return c.completes.starts_with("FILE"); }

// `text` in single quotes, in a form that bash, zsh and fish read in the same way.
std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string bash_command(const Command& c) {
  std::string names = "--help";
  std::string values;
  for (const Option& o : c.options) {
    names += detail::message(" ", o.name);
    if (o.argument.empty()) continue;
    values += "        " + std::string(o.name) + ") COMPREPLY=($(compgen -W '" + words(o.choices) +
              "' -- \"$word\")); return ;;\n";
  }
  std::string out = "    " + std::string(c.name) + ")\n";
  if (!values.empty()) out += "      case \"$before\" in\n" + values + "      esac\n";
  out += "      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '" + names + "' -- \"$word\"))\n";
  if (completes_files(c)) {
    const std::string more = argument_words(c);
    out += detail::message("      else COMPREPLY=($(compgen -f ",
                           more.empty() ? "" : detail::message("-W '", more, "' "), "-- \"$word\"))\n");
  } else if (!c.completes.empty()) {
    out += "      else COMPREPLY=($(compgen -W '" + argument_words(c) + "' -- \"$word\"))\n";
  }
  return out + "      fi ;;\n";
}

std::string bash_script() {
  std::string names;
  std::string cases;
  for (const Command& c : commands()) {
    names += std::string(c.name) + " ";
    cases += bash_command(c);
  }
  return "# bash completion for strata\n"
         "_strata() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '" +
         names +
         "--help --version' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "}\n"
         "complete -F _strata strata\n";
}

// Escapes brackets and colons, which separate the parts of a specification of zsh's _arguments.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const std::string& choices) {
  return choices.empty() ? " " : detail::message("(", choices, ")");
}

std::string zsh_arguments(const Command& c) {
  const std::string words = argument_words(c);
  if (!completes_files(c)) return zsh_action(words);
  return words.empty() ? "_files" : detail::message("{_files; compadd -- ", words, "}");
}

std::string zsh_command(const Command& c) {
  std::string out = "    " + std::string(c.name) + ")\n      _arguments '--help[show help]'";
  for (const Option& o : c.options) {
    std::string spec = detail::message(o.repeats ? "*" : "", o.name, "[", zsh_text(o.help), "]");
    if (!o.argument.empty()) spec += detail::message(":", zsh_text(o.argument), ":", zsh_action(words(o.choices)));
    out += " \\\n        " + single_quoted(spec);
  }
  if (c.most > 0) {
    const std::string many = c.most > 1 ? "*" : "1";
    out += " \\\n        " + single_quoted(many + ":" + zsh_text(c.arguments) + ":" + zsh_arguments(c));
  }
  return out + " ;;\n";
}

std::string zsh_script() {
  std::string names;
  std::string cases;
  for (const Command& c : commands()) {
    names += "    " + single_quoted(zsh_text(c.name) + ":" + zsh_text(c.summary)) + "\n";
    cases += zsh_command(c);
  }
  return "#compdef strata\n"
         "_strata() {\n"
         "  local -a names=(\n" +
         names +
         "  )\n"
         "  if ((CURRENT == 2)); then\n"
         "    _describe command names\n"
         "    compadd -- --help --version\n"
         "    return\n"
         "  fi\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $words[1] in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _strata ]]; then _strata \"$@\"; else compdef _strata strata; "
         "fi\n";
}

std::string fish_script() {
  std::string out = "# fish completion for strata\ncomplete -c strata -f\n";
  for (const Command& c : commands()) {
    const std::string name(c.name);
    const std::string seen = "complete -c strata -n '__fish_seen_subcommand_from " + name + "'";
    out += "complete -c strata -n __fish_use_subcommand -a " + name + " -d " + single_quoted(c.summary) + "\n";
    for (const Option& o : c.options) {
      out += seen + " -l " + std::string(o.name.substr(2)) + (o.argument.empty() ? "" : " -x");
      if (!o.choices.empty()) out += " -a '" + words(o.choices) + "'";
      out += " -d " + single_quoted(o.help) + "\n";
    }
    if (completes_files(c)) out += seen + " -F\n";
    if (!argument_words(c).empty()) {
      out += seen + " -a '" + argument_words(c) + "'\n";
    }
  }
  return out +
         "complete -c strata -l help -d 'show help'\n"
         "complete -c strata -n __fish_use_subcommand -l version -d 'show the version'\n";
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  throw UsageError("completion for '" + std::string(shell) + "', not one of bash, zsh, fish",
                   find_command("completion"));
}

}  // namespace strata::tools
