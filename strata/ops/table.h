// The table of operations (operations.def) as data, for language bindings, generated pages and tests.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace strata::ops {

/// A parameter of a row.
struct ParameterText {
  const char* type;      ///< the C++ type; "Tensor", "tensors" or "operand" for arrays
  const char* name;      ///< the C++ name
  const char* fallback;  ///< the C++ default; null for a required parameter
  /// "low|min": the names that Python accepts, if not the C++ name alone
  const char* python_names = nullptr;
};

/// How an operation is called: a method (elementwise of one or two operands, or any other), a static method, a free
/// function, a function in the namespace linalg, one in the namespace fft.
enum class OperationKind : std::uint8_t { unary, binary, method, static_method, function, linalg, fft };

/// A row of the table: an operation.
struct OperationRow {
  OperationKind kind;
  std::string_view name;
  std::string_view dtype;                 ///< unary and binary: the rule of the result's dtype (see operations.def)
  std::string_view result;                ///< "one", "pair" or "list"
  std::vector<ParameterText> parameters;  ///< without the tensor whose method the operation is
  std::string_view binding;               ///< how Python binds it: "bound", "bound_to_class", "by_hand"
  bool in_place = false;                  ///< whether Python has NAME_()
  std::vector<std::string_view> names;    ///< further names
  std::string_view reference,
      meaning;  ///< the function of NumPy or PyTorch with the same result; a sentence
};

/// The rows in the order of operations.def. A name may have several rows with different parameters.
std::span<const OperationRow> operation_rows();

}  // namespace strata::ops
