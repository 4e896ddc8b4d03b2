#include "strata/runtime/scarcity.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <semaphore>
#include <system_error>
#include <thread>
#include <vector>

#include "strata/base/check.h"

namespace strata {

int startable_threads(int wanted) {
  std::counting_semaphore<> counted(0);
  std::vector<std::thread> threads;  // all exist at the same time, because the limit is on their number
  threads.reserve(static_cast<std::size_t>(std::max(wanted, 0)));
  const auto is_started = [&] {
    try {
      threads.emplace_back([&counted] { counted.acquire(); });
      return true;
    } catch (const std::system_error&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
  };
  while (static_cast<int>(threads.size()) < wanted && is_started()) continue;
  counted.release(static_cast<std::ptrdiff_t>(threads.size()));
  for (std::thread& t : threads) t.join();
  return static_cast<int>(threads.size());
}

void warn_of_few_threads(int wanted, int granted) {
  static std::atomic<bool> is_said{false};
  if (is_said.exchange(true)) return;
  std::fputs(detail::message("strata: loops run on ", granted, " of ", wanted,
                             " threads: the system refuses more (ulimit -u, or a container's limit",
                             address_space_limit("; "), ")\n")
                 .c_str(),
             stderr);
}

std::string address_space_limit(std::string_view before) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return detail::message(before, "the address space is limited to ", limit.rlim_cur >> 20, " MiB (ulimit -v)");
}

}  // namespace strata
