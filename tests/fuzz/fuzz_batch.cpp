// libFuzzer: any line is answered by one line of valid JSON that carries the request's id.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "strata/base/check.h"
#include "tools/batch.h"

using strata::tools::JsonDocument;

namespace {

void require(bool holds, const char* what, const std::string& answer) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, answer.c_str());
  std::abort();
}

/// The message of an answer's error, "" where it has none.
std::string message_of(const JsonDocument& reply) {
  for (const auto& member : reply.root().as_object("the answer")) {
    if (member.key != "error") continue;
    for (const auto& part : member.value.as_object("error")) {
      if (part.key == "message") return std::string(part.value.as_string("message"));
    }
  }
  return "";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  strata::tools::BatchOptions options;
  options.budget = 1 << 16;
  const std::string answer = strata::tools::answer(line, options);
  require(answer.find('\n') == std::string::npos, "a line break in the answer", answer);

  JsonDocument request;
  bool legal = true;
  try {
    request.read(line);
  } catch (const strata::Error&) {
    legal = false;
  }
  JsonDocument reply;
  reply.read(answer);
  require(!message_of(reply).starts_with("internal error"), "an internal error", answer);
  require(reply.salvage("id") == request.salvage("id"), "not the request's id", answer);
  require(legal || reply.salvage("error").has_value(), "an answer to malformed JSON", answer);
  return 0;
}
