// The members of a JSON request, with the words for what is missing.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/json.h"
#include "tools/ask.h"
#include "tools/number_lists.h"

namespace strata::tools {

class Request {
 public:
  /// @throws Error (request) unless `value` is an object; the words call it `what`. Long lists of the answer go to `memory`
  /// where there is one.
  explicit Request(JsonValue value, std::string_view what = "the request",
                   NumberLists* memory = nullptr);

  NumberLists* memory() const { return memory_; }

  std::optional<JsonValue> find(std::string_view key) const;
  JsonValue need(std::string_view key) const;
  /// @throws Error (request) at the first key that is in neither list.
  void refuse_unknown(std::span<const std::string_view> known,
                      std::initializer_list<std::string_view> also = {}) const;

  std::string text(std::string_view key) const;
  /// The boolean `key`, or `otherwise` where it is not there.
  bool flag(std::string_view key, bool otherwise) const;
  std::vector<Variable> variables() const;
  std::vector<std::string> assumptions() const;
  std::vector<Point> points() const;

 private:
  std::string_view what_;
  std::vector<JsonValue::Member> members_;
  NumberLists* memory_;
};

void write_point(JsonWriter& json, const Values& values);
/// The member `name` of an object; what is not finite is 0.
void write_number(JsonWriter& json, std::string_view name, double value);

}  // namespace strata::tools
