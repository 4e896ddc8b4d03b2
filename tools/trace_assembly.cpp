#include "tools/trace_assembly.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/json.h"
#include "strata/runtime/device.h"

namespace strata::tools {
namespace {

/// The line of a kernel, as TraceFile writes it.
std::string line_of(const std::string& trace, std::int64_t kernel) {
  std::error_code failed;
  std::ifstream in;
  if (std::filesystem::is_regular_file(trace, failed)) in.open(trace, std::ios::binary);
  const std::string wanted = detail::message("{\"event\":\"kernel\",\"kernel\":", kernel, ",");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(wanted)) return line;
  throw Error(ErrorKind::domain, detail::message("[assembly] the trace has no kernel ", kernel));
}

std::optional<JsonValue> find(const JsonValue& object, std::string_view key) {
  for (const JsonValue::Member& m : object.as_object("a kernel"))
    if (m.key == key) return m.value;
  return std::nullopt;
}

JsonValue need(const JsonValue& object, std::string_view key) {
  const std::optional<JsonValue> value = find(object, key);
  STRATA_CHECK(value, domain, "[assembly] the trace's kernel has no ", key);
  return *value;
}

/// Operations or bytes: a number of any size, or text where it is not finite.
double amount_of(const JsonValue& value) { return std::strtod(value.raw().c_str(), nullptr); }

}  // namespace

std::string assembly_in_trace(const std::string& trace, const TracedKernel& which) {
  JsonDocument document;
  document.read(line_of(trace, which.kernel));
  const JsonValue kernel = document.root();
  const JsonValue device = need(kernel, "device");
  STRATA_CHECK(!device.is(JsonKind::null), domain, "[assembly] the device of kernel ", which.kernel,
               " is not in the trace");
  const std::vector<JsonValue> first = need(kernel, "first").as_array("first");
  STRATA_CHECK(which.part <= first.size(), domain, "[assembly] kernel ", which.kernel,
               " has parts 0 to ", first.size(), ", not ", which.part);
  const JsonValue part = which.part == 0 ? kernel : first[which.part - 1];
  const SourceFacts facts{need(kernel, "contract").as_bool("contract"),
                          amount_of(need(kernel, "operations")), amount_of(need(kernel, "bytes"))};
  return Device::get(device.as_string("device")).assembly_of(need(part, "source").as_string("source"), facts);
}

}  // namespace strata::tools
