// JsonValue: access to the values of a document.
#include "strata/base/json.h"

#include "strata/base/check.h"

namespace strata {

std::optional<std::string> JsonDocument::salvage(std::string_view key) const {
  if (nodes_.empty() || nodes_[0].kind != JsonKind::object) return std::nullopt;
  for (std::size_t i = 1; i + 1 < nodes_.size() && nodes_[i].complete && nodes_[i + 1].complete;
       i = nodes_[i + 1].next) {
    if (string_of(nodes_[i]) == key) return JsonValue(this, i + 1).raw();
  }
  return std::nullopt;
}

std::string_view describe(JsonKind kind) {
  switch (kind) {
    case JsonKind::null: return "null";
    case JsonKind::boolean: return "a boolean";
    case JsonKind::integer: return "an integer";
    case JsonKind::real: return "a number with a fraction or exponent";
    case JsonKind::string: return "a string";
    case JsonKind::array: return "an array";
    case JsonKind::object: return "an object";
  }
  throw InternalError("internal error: unknown JsonKind");
}

JsonKind JsonValue::kind() const { return document_->nodes_[index_].kind; }
std::size_t JsonValue::column() const { return document_->nodes_[index_].begin + std::size_t{1}; }

std::string JsonValue::raw() const {
  const auto& n = document_->nodes_[index_];
  std::string out(std::string_view(document_->text_).substr(n.begin, n.end - n.begin));
  // A line break here can only be between tokens, where it has no meaning.
  std::erase_if(out, [](char c) { return c == '\n' || c == '\r'; });
  return out;
}

void JsonValue::expect(JsonKind kind, std::string_view what) const {
  if (is(kind)) return;
  throw Error(ErrorKind::request,
              "[request] " + std::string(what) + " is " + std::string(describe(this->kind())) + ", not " +
                  std::string(describe(kind)),
              column());
}

bool JsonValue::as_bool(std::string_view what) const {
  expect(JsonKind::boolean, what);
  return document_->nodes_[index_].flag;
}

std::int64_t JsonValue::as_integer(std::string_view what) const {
  expect(JsonKind::integer, what);
  const auto& n = document_->nodes_[index_];
  if (n.flag) throw Error(ErrorKind::overflow, "[request] " + std::string(what) + " does not fit in 64 bits");
  return n.integer;
}

std::string_view JsonValue::as_string(std::string_view what) const {
  expect(JsonKind::string, what);
  return document_->string_of(document_->nodes_[index_]);
}

std::vector<JsonValue> JsonValue::as_array(std::string_view what) const {
  expect(JsonKind::array, what);
  std::vector<JsonValue> out;
  const auto& nodes = document_->nodes_;
  for (std::size_t i = index_ + 1; i < nodes[index_].next; i = nodes[i].next) out.push_back(JsonValue(document_, i));
  return out;
}

std::vector<JsonValue::Member> JsonValue::as_object(std::string_view what) const {
  expect(JsonKind::object, what);
  std::vector<Member> out;
  const auto& nodes = document_->nodes_;
  for (std::size_t i = index_ + 1; i < nodes[index_].next; i = nodes[i + 1].next) {
    out.push_back({document_->string_of(nodes[i]), nodes[i].begin + std::size_t{1}, JsonValue(document_, i + 1)});
  }
  return out;
}

}  // namespace strata
