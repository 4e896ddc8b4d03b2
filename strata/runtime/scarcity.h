// What the system refuses a process: threads, address space. Who needs them asks first, goes on with less, and says so: libraries
// that are refused a thread end the process, or throw where nobody expects it.
#pragma once

#include <string>
#include <string_view>

namespace strata {

/// How many of `wanted` threads the system lets this process have beside those that it has. They are started, and ended at once.
/// @post 0 <= result <= max(wanted, 0)
int startable_threads(int wanted);

/// Says on the error stream that loops have `granted` threads of the `wanted` ones; the first time in a process.
void warn_of_few_threads(int wanted, int granted);

/// `before` and "the address space is limited to 512 MiB (ulimit -v)"; empty where it is not.
std::string address_space_limit(std::string_view before = "");

}  // namespace strata
