// Reads the members of a request.
#include "tools/request.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "strata/base/meter.h"
#include "strata/base/quotes.h"

namespace strata::tools {

Request::Request(JsonValue value, std::string_view what, NumberLists* memory)
    : what_(what), members_(value.as_object(what)), memory_(memory) {}

std::optional<JsonValue> Request::find(std::string_view key) const {
  for (const auto& m : members_) {
    if (m.key == key) return m.value;
  }
  return std::nullopt;
}

JsonValue Request::need(std::string_view key) const {
  const auto value = find(key);
  const bool outermost = what_ == "the request";
  STRATA_CHECK(value, request, "[request] the key '", key, "' is missing",
               outermost ? "" : detail::message(" in ", what_));
  return *value;
}

void Request::refuse_unknown(std::span<const std::string_view> known,
                             std::initializer_list<std::string_view> also) const {
  for (const auto& m : members_) {
    if (std::find(known.begin(), known.end(), m.key) != known.end()) continue;
    if (std::find(also.begin(), also.end(), m.key) != also.end()) continue;
    throw Error(ErrorKind::request, "[request] unknown key " + in_quotes(m.key), m.column);
  }
}

std::string Request::text(std::string_view key) const { return std::string(need(key).as_string(key)); }

bool Request::flag(std::string_view key, bool otherwise) const {
  const auto value = find(key);
  return value ? value->as_bool(key) : otherwise;
}

std::vector<Variable> Request::variables() const {
  constexpr std::uint64_t units_of_a_variable = 32;
  std::vector<Variable> out;
  const auto vars = find("vars");
  if (!vars) return out;
  for (const auto& m : vars->as_object("vars")) {
    Meter::charge(units_of_a_variable);
    const std::string what = "a bound of " + in_quotes(m.key);
    const auto bounds = m.value.as_array(what);
    if (bounds.size() != 2)
      throw Error(ErrorKind::request, "[request] the bounds of " + in_quotes(m.key) + " are not [min,max]",
                  m.value.column());
    out.emplace_back(m.key, bounds[0].as_integer(what), bounds[1].as_integer(what));
  }
  return out;
}

std::vector<std::string> Request::assumptions() const {
  std::vector<std::string> out;
  const auto assume = find("assume");
  if (!assume) return out;
  for (const JsonValue& item : assume->as_array("assume")) out.emplace_back(item.as_string("an item of assume"));
  return out;
}

std::vector<Point> Request::points() const {
  std::vector<Point> out;
  const auto at = find("at");
  if (!at) return out;
  for (const JsonValue& item : at->as_array("at")) {
    Point& point = out.emplace_back();
    for (const auto& m : item.as_object("an item of at")) {
      point.emplace_back(m.key, m.value.as_integer("the value of " + in_quotes(m.key)));
    }
  }
  return out;
}

void write_point(JsonWriter& json, const Values& values) {
  json.begin_object();
  for (const auto& [variable, value] : values) json.member(variable.name(), value);
  json.end_object();
}

void write_number(JsonWriter& json, std::string_view name, double value) {
  char digits[64];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), std::isfinite(value) ? value : 0).ptr;
  json.key(name).raw(std::string_view(digits, static_cast<std::size_t>(end - digits)));
}

}  // namespace strata::tools
