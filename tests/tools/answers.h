// Answers of `strata batch`, and random requests to it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "strata/base/json.h"
#include "tools/batch.h"

namespace strata::tools {

using Numbers = std::vector<std::int64_t>;

/// The kind of the answer's error, "no error" where it has none.
inline std::string error_kind(const std::string& line, const BatchOptions& options = {}) {
  JsonDocument document;
  document.read(answer(line, options));
  for (const auto& m : document.root().as_object("answer")) {
    if (m.key != "error") continue;
    for (const auto& part : m.value.as_object("error"))
      if (part.key == "kind") return std::string(part.value.as_string("kind"));
  }
  return "no error";
}

/// The items of a list of JSON.
inline Numbers integers(const std::string& json) {
  JsonDocument document;
  document.read(json);
  Numbers out;
  for (const JsonValue& item : document.root().as_array("list")) out.push_back(item.as_integer("item"));
  return out;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::int64_t below(std::int64_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t lo, std::int64_t hi) { return lo + below(hi - lo + 1); }
  std::int64_t pick(std::initializer_list<std::int64_t> from) {
    return *(from.begin() + below(static_cast<std::int64_t>(from.size())));
  }

 private:
  std::uint64_t state_;
};

}  // namespace strata::tools
