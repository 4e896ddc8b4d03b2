// Reads the description of the machine from /proc.
#include "tools/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <thread>

#include "tools/cli.h"

namespace strata::tools {
namespace {

constexpr std::string_view kVectorFeatures[] = {"sse4_2",      "avx",         "avx2",        "fma",      "f16c",
                                                "avx_vnni",    "avx512f",     "avx512dq",    "avx512bw", "avx512vl",
                                                "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "asimd",
                                                "asimdhp",     "sve",         "sve2",        "bf16",     "i8mm"};

/// The text behind the colon in the first line that begins with `name`; empty if there is none.
std::string_view field(std::string_view text, std::string_view name) {
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (line.substr(name.size(), colon - name.size()).find_first_not_of(" \t") != std::string_view::npos) continue;
    line.remove_prefix(colon + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
  }
  return {};
}

std::uint64_t kibibytes(std::string_view text) {
  std::uint64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count << 10;
}

std::string file_text(const char* path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

}  // namespace

HostMachine parse_host_machine(std::string_view cpuinfo, std::string_view meminfo) {
  HostMachine out;
  out.processor = field(cpuinfo, "model name");
  std::string_view flags = field(cpuinfo, "flags");
  if (flags.empty()) flags = field(cpuinfo, "Features");  // its name on ARM
  const auto known = split(flags, ' ');
  for (const std::string_view feature : kVectorFeatures)
    if (std::find(known.begin(), known.end(), feature) != known.end()) out.features.emplace_back(feature);
  out.memory = kibibytes(field(meminfo, "MemTotal"));
  out.available = kibibytes(field(meminfo, "MemAvailable"));
  return out;
}

HostMachine this_machine() {
  HostMachine out = parse_host_machine(file_text("/proc/cpuinfo"), file_text("/proc/meminfo"));
  out.processors = std::thread::hardware_concurrency();
  return out;
}

}  // namespace strata::tools
