// The table of operators (operators.def) as data: which operators of ONNX exist here, for which versions, with which
// attributes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/onnx/control.h"

namespace strata::onnx {

/// An attribute of a row, with its type and its default.
struct AttributeRow {
  Attribute value;  ///< its name, its type, and the default
  bool has_default = false;
};

/// A row of the table.
struct Operator {
  using Function = Results (*)(const Call&);
  using Control = std::unique_ptr<onnx::Control> (*)(const Call&);

  std::string_view domain, name;
  std::int64_t since = 1, until = 0;  ///< versions of the domain; 0: no last one is known
  std::int64_t least_inputs = 0, most_inputs = 0;
  std::int64_t most_outputs = 1;
  std::string_view attribute_text;  ///< as the table has it
  Function function = nullptr;      ///< exactly one of both is set
  Control control = nullptr;
  std::vector<AttributeRow> attributes = {};

  const AttributeRow* attribute(std::string_view name) const;
};

/// A number of inputs or outputs without a limit.
inline constexpr std::int64_t kAny = 1'000'000;
/// The newest version of the standard domain that a model may ask for.
inline constexpr std::int64_t kNewestOpset = 23;

/// All rows, by domain, name and version.
std::span<const Operator> operators();
/// The row of an operator in a version of its domain; null if there is none.
const Operator* find_operator(std::string_view domain, std::string_view name, std::int64_t opset);

/// Equal of texts. @pre the first input has texts
Results equal_texts(const Call& call);

// One declaration for each function that a row names.
#define STRATA_ONNX(domain, name, since, until, least, most, outputs, attributes, function) \
  Results function(const Call& call);
#define STRATA_ONNX_CONTROL(domain, name, since, until, least, most, outputs, attributes, function) \
  std::unique_ptr<Control> function(const Call& call);
#include "strata/onnx/operators.def"

}  // namespace strata::onnx
