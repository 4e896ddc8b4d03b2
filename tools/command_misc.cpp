// The small commands: flags, completion, man, help.
#include <algorithm>
#include <ostream>

#include "strata/base/flags.h"
#include "strata/base/json.h"
#include "tools/commands.h"

namespace strata::tools {
namespace {

std::string flag_json(const FlagBase& flag) {
  JsonWriter json;
  json.begin_object().member("name", flag.environment_name()).member("type", flag.type_name());
  json.member("default", flag.default_text()).member("value", flag.value_text()).member("help", flag.help());
  return json.end_object().take();
}

}  // namespace

int command_flags(const Invocation& invocation, Console& console) {
  for (const FlagBase* flag : flags::all()) {
    if (invocation.has("--json")) {
      console.out << flag_json(*flag) << '\n';
      continue;
    }
    console.out << paint(console.colour_out, Style::bold, flag->environment_name()) << '='
                << flag->value_text() << "  (" << flag->type_name() << ", default "
                << flag->default_text() << ")\n    " << flag->help() << '\n';
  }
  return 0;
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
