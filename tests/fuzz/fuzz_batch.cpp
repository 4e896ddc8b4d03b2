// libFuzzer: any line is answered by one line of valid JSON that carries the request's id.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "strata/base/check.h"
#include "tools/batch.h"

using strata::JsonDocument;

namespace {

void require(bool holds, const char* what, const std::string& answer) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, answer.c_str());
  std::abort();
}

/// Whether `text` is JSON.
bool reads(JsonDocument& document, std::string_view text) {
  try {
    document.read(text);
    return true;
  } catch (const strata::Error&) {
    return false;
  }
}

/// An error's message begins with the operation in brackets, which no internal error does; its column is in the line.
void check_error(const JsonDocument& reply, const std::string& answer, std::size_t size) {
  for (const auto& member : reply.root().as_object("the answer")) {
    if (member.key != "error") continue;
    for (const auto& part : member.value.as_object("error")) {
      if (part.key == "message") require(part.value.as_string("message").starts_with('['), "no operation", answer);
      if (part.key != "column") continue;
      const std::int64_t column = part.value.as_integer("column");
      require(column >= 1 && static_cast<std::size_t>(column) <= size + 1, "no column", answer);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  strata::tools::BatchOptions options;
  options.budget = 1 << 16;
  const std::string answer = strata::tools::answer(line, options);
  require(answer.find('\n') == std::string::npos, "a line break in the answer", answer);

  JsonDocument request;
  const bool legal = reads(request, line);
  JsonDocument reply;
  require(reads(reply, answer), "an answer that is not JSON", answer);
  check_error(reply, answer, size);
  require(reply.salvage("id") == request.salvage("id"), "not the request's id", answer);
  require(legal || reply.salvage("error").has_value(), "an answer to malformed JSON", answer);
  return 0;
}
