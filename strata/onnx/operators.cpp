// The rows of operators.def, with the texts of their attributes parsed.
#include "strata/onnx/operators.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>
#include <utility>

namespace strata::onnx {
namespace {

constexpr std::array<std::pair<std::string_view, AttributeType>, 8> kAttributeTypes = {{
    {"f", AttributeType::number},
    {"i", AttributeType::integer},
    {"s", AttributeType::text},
    {"t", AttributeType::tensor},
    {"g", AttributeType::graph},
    {"fs", AttributeType::numbers},
    {"is", AttributeType::integers},
    {"ss", AttributeType::texts},
}};

/// "axis:i=0" as a row. @pre the text is one of the table
AttributeRow attribute_row(std::string_view text) {
  AttributeRow row;
  const std::size_t colon = text.find(':'), equals = text.find('=');
  row.value.name = text.substr(0, colon);
  row.has_default = equals != std::string_view::npos;
  const std::string_view type = text.substr(colon + 1, row.has_default ? equals - colon - 1 : std::string_view::npos);
  const auto* const known =
      std::find_if(kAttributeTypes.begin(), kAttributeTypes.end(), [&](const auto& t) { return t.first == type; });
  STRATA_ASSERT(known != kAttributeTypes.end(), "an attribute of operators.def has the type ", type);
  row.value.type = known->second;
  if (!row.has_default) return row;
  const std::string value(text.substr(equals + 1));
  row.value.text = value;
  row.value.number = std::strtod(value.c_str(), nullptr);
  row.value.integer = std::strtoll(value.c_str(), nullptr, 10);
  return row;
}

std::vector<AttributeRow> attribute_rows(std::string_view text) {
  std::vector<AttributeRow> out;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    if (space != 0) out.push_back(attribute_row(text.substr(0, space)));
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  return out;
}

auto sort_key(const Operator& o) { return std::tuple(o.domain, o.name, o.since); }

std::vector<Operator> all_rows() {
  std::vector<Operator> rows = {
#define STRATA_ONNX(domain, name, since, until, least, most, outputs, attributes, function) \
  {domain, #name, since, until, least, most, outputs, attributes, function, nullptr},
#define STRATA_ONNX_CONTROL(domain, name, since, until, least, most, outputs, attributes, function) \
  {domain, #name, since, until, least, most, outputs, attributes, nullptr, function},
#include "strata/onnx/operators.def"
  };
  for (Operator& row : rows) row.attributes = attribute_rows(row.attribute_text);
  std::sort(rows.begin(), rows.end(), [](const Operator& a, const Operator& b) { return sort_key(a) < sort_key(b); });
  return rows;
}

}  // namespace

const AttributeRow* Operator::attribute(std::string_view wanted) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const AttributeRow& row) { return row.value.name == wanted; });
  return found == attributes.end() ? nullptr : &*found;
}

std::span<const Operator> operators() {
  static const std::vector<Operator>& rows = *new std::vector<Operator>(all_rows());
  return rows;
}

const Operator* find_operator(std::string_view domain, std::string_view name, std::int64_t opset) {
  const std::span<const Operator> rows = operators();
  const auto key = std::tuple(domain, name, opset);
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), key, [](const auto& k, const Operator& o) { return k < sort_key(o); });
  if (after == rows.begin()) return nullptr;
  const Operator& row = *(after - 1);
  const bool is_it = row.domain == domain && row.name == name && (row.until == 0 || opset <= row.until);
  return is_it ? &row : nullptr;
}

}  // namespace strata::onnx
