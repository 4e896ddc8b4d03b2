#include "tools/trace_assembly.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/json.h"
#include "strata/runtime/device.h"

namespace strata::tools {
namespace {

/// The line of a kernel in the trace. @throws Error (domain) if there is none
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

/// Whether a C compiler reads no other file for `source`. A trace may come from another person, and a compiler error
/// could quote a file that the source includes. Only the directives that renderers write are accepted; digraphs and
/// trigraphs for '#' and continued lines are not.
bool reads_no_file(std::string_view source) {
  constexpr std::string_view kOurs[] = {"define ", "ifndef ", "if defined(", "else\n", "endif\n", "pragma "};
  for (const std::string_view other : {"%:", "\?\?", "\\\n", "\\\r"})
    if (source.find(other) != std::string_view::npos) return false;
  for (std::size_t at = source.find('#'); at != std::string_view::npos; at = source.find('#', at + 1)) {
    const std::string_view rest = source.substr(at + 1);
    if (std::none_of(std::begin(kOurs), std::end(kOurs),
                     [&](std::string_view directive) { return rest.starts_with(directive); }))
      return false;
  }
  return true;
}

/// A number of operations or bytes, of any size; a string if it is not finite.
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
  STRATA_CHECK(which.part <= first.size(), domain, "[assembly] kernel ", which.kernel, " has parts 0 to ", first.size(),
               ", not ", which.part);
  const JsonValue part = which.part == 0 ? kernel : first[which.part - 1];
  const SourceFacts facts{need(kernel, "contract").as_bool("contract"), amount_of(need(kernel, "operations")),
                          amount_of(need(kernel, "bytes"))};
  const std::string_view source = need(part, "source").as_string("source");
  const Device& maker = Device::get(device.as_string("device"));
  STRATA_CHECK(maker.name() != "CLANG" || reads_no_file(source), domain, "[assembly] the source of kernel ",
               which.kernel, " was not written by Strata: the source has directives of its own");
  return maker.assembly_of(source, facts);
}

}  // namespace strata::tools
