// Request: access to the members of a JSON request by name and type, with errors that name a missing or wrong member.
// The functions of batch_rows.h read their request with it.
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
  /// @param what the name of the object in errors
  /// @param memory takes the long lists of the answer; null: they are written into its JSON
  /// @throws Error (request) unless `value` is an object
  explicit Request(JsonValue value, std::string_view what = "the request", NumberLists* memory = nullptr);

  NumberLists* memory() const { return memory_; }

  /// The member `key`, or nothing.
  std::optional<JsonValue> find(std::string_view key) const;
  /// The member `key`. @throws Error (request) if it is missing
  JsonValue need(std::string_view key) const;
  /// @throws Error (request) for the first member whose name is in neither list
  void refuse_unknown(std::span<const std::string_view> known, std::initializer_list<std::string_view> also = {}) const;

  // All of the following throw Error (request) if the member has another type.
  /// The string `key`. @throws Error (request) if it is missing
  std::string text(std::string_view key) const;
  /// The boolean `key`; `otherwise` if it is missing.
  bool flag(std::string_view key, bool otherwise) const;
  /// The member `vars`, an object {name: [min, max]}; empty if it is missing.
  std::vector<Variable> variables() const;
  /// The member `assume`, a list of strings; empty if it is missing.
  std::vector<std::string> assumptions() const;
  /// The member `at`, a list of objects {name: value}; empty if it is missing.
  std::vector<Point> points() const;

 private:
  std::string_view what_;
  std::vector<JsonValue::Member> members_;
  NumberLists* memory_;
};

/// Writes an object {name: value}.
void write_point(JsonWriter& json, const Values& values);
/// Writes the member `name` with a number; 0 for infinities and NaN.
void write_number(JsonWriter& json, std::string_view name, double value);

}  // namespace strata::tools
