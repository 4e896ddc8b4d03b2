// this_machine(): the processor and the memory of this machine, as Linux reports them in /proc, for `strata doctor` and
// `strata bench`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strata::tools {

struct HostMachine {
  std::string processor;                    ///< "Intel(R) Xeon(R) ..."; empty if unknown
  std::vector<std::string> features;        ///< the vector extensions of the processor, e.g. "avx2"
  unsigned processors = 0;                  ///< the number on which this process may run
  std::uint64_t memory = 0, available = 0;  ///< bytes; 0 if unknown
};

HostMachine this_machine();
/// Parses the texts of /proc/cpuinfo and /proc/meminfo. Leaves `processors` at 0.
HostMachine parse_host_machine(std::string_view cpuinfo, std::string_view meminfo);

}  // namespace strata::tools
