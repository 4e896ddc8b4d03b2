// The commands flags, completion, man and help.
#include <algorithm>
#include <ostream>

#include "strata/base/check.h"
#include "strata/base/flags.h"
#include "strata/base/json.h"
#include "tools/commands.h"

namespace strata::tools {
namespace {

/// The value of a flag; the error message if the environment has an illegal value.
struct FlagValue {
  std::string text, mistake;
};
FlagValue value_of(const FlagBase& flag) {
  try {
    return {flag.value_text(), ""};
  } catch (const Error& e) {
    return {"", e.what()};
  }
}

std::string flag_json(const FlagBase& flag, const FlagValue& value) {
  JsonWriter json;
  json.begin_object().member("name", flag.environment_name()).member("type", flag.type_name());
  json.member("default", flag.default_text());
  if (value.mistake.empty())
    json.member("value", value.text);
  else
    json.member("error", value.mistake);
  return json.member("help", flag.help()).end_object().take();
}

}  // namespace

int command_flags(const Invocation& invocation, Console& console) {
  bool is_right = true;
  for (const FlagBase* flag : flags::all()) {
    const FlagValue value = value_of(*flag);
    is_right = is_right && value.mistake.empty();
    if (invocation.has("--json")) {
      console.out << flag_json(*flag, value) << '\n';
      continue;
    }
    if (!value.mistake.empty())
      console.err << paint(console.colour_err, Style::red, "strata:") << ' ' << value.mistake << '\n';
    console.out << paint(console.colour_out, Style::bold, flag->environment_name()) << '=' << value.text << "  ("
                << flag->type_name() << ", default " << flag->default_text() << ")\n    " << flag->help() << '\n';
  }
  return is_right ? 0 : 1;
}

int command_completion(const Invocation& invocation, Console& console) {
  console.out << completion_script(invocation.arguments().front());
  return 0;
}

int command_man(const Invocation&, Console& console) {
  console.out << man_page();
  return 0;
}

int command_help(const Invocation& invocation, Console& console) {
  if (invocation.arguments().empty()) {
    console.out << help_text(console.colour_out);
    return 0;
  }
  const std::string& name = invocation.arguments().front();
  const Command* command = find_command(name);
  if (command == nullptr) throw UsageError("unknown command '" + name + "'");
  console.out << help_text(*command, console.colour_out);
  return 0;
}

}  // namespace strata::tools
