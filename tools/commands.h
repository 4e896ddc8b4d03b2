// The functions that run the commands, each in command_NAME.cpp or command_misc.cpp. The table in commands.cpp refers
// to them. Each returns the exit status.
#pragma once

#include "tools/cli.h"

namespace strata::tools {

int command_expr(const Invocation& invocation, Console& console);
int command_view(const Invocation& invocation, Console& console);
int command_layout(const Invocation& invocation, Console& console);
int command_shard(const Invocation& invocation, Console& console);
int command_kernel(const Invocation& invocation, Console& console);
int command_run(const Invocation& invocation, Console& console);
int command_inspect(const Invocation& invocation, Console& console);
int command_export(const Invocation& invocation, Console& console);
int command_viz(const Invocation& invocation, Console& console);
int command_tour(const Invocation& invocation, Console& console);
int command_devices(const Invocation& invocation, Console& console);
int command_doctor(const Invocation& invocation, Console& console);
int command_cache(const Invocation& invocation, Console& console);
int command_bench(const Invocation& invocation, Console& console);
int command_batch(const Invocation& invocation, Console& console);
int command_rules(const Invocation& invocation, Console& console);
int command_flags(const Invocation& invocation, Console& console);
int command_completion(const Invocation& invocation, Console& console);
int command_man(const Invocation& invocation, Console& console);
int command_help(const Invocation& invocation, Console& console);

}  // namespace strata::tools
