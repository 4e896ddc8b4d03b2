// The machine that this runs on, as the system describes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strata::tools {

struct Machine {
  std::string processor;  ///< "Intel(R) Xeon(R) ..."; empty where the system does not say
  std::vector<std::string> features;        ///< of it, those that matter to vectors: "avx2"
  unsigned processors = 0;                  ///< that this process may run on
  std::uint64_t memory = 0, available = 0;  ///< bytes; 0 where the system does not say
};

Machine this_machine();
/// From the texts of /proc/cpuinfo and /proc/meminfo; without `processors`.
Machine parse_machine(std::string_view cpuinfo, std::string_view meminfo);

}  // namespace strata::tools
