// The table of operations as data: for bindings to other languages, pages and tests.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace strata::ops {

/// A parameter as its row writes it.
struct ParameterText {
  const char* type;  ///< of C++; "Tensor", "tensors" and "operand" for tensors and what stands for them
  const char* name;                    ///< of C++
  const char* fallback;                ///< of C++; null where the parameter has to be given
  const char* python_names = nullptr;  ///< "low|min", where Python has others than the C++ name
};

/// How an operation is called: as a method, a function of a tensor class, a free function.
enum class OperationKind : std::uint8_t { unary, binary, method, static_method, function, linalg };

/// What the table says of an operation.
struct OperationRow {
  OperationKind kind;
  std::string_view name;
  std::string_view dtype;   ///< the rule of the result's dtype, of unary and binary ones
  std::string_view result;  ///< "one", "pair" or "list"
  std::vector<ParameterText> parameters;  ///< behind the tensor whose method it is
  std::string_view binding;  ///< how Python gets it: "bound", "bound_to_class", "by_hand"
  bool in_place = false;     ///< whether Python has NAME_()
  std::vector<std::string_view> names;  ///< further ones
  std::string_view reference, meaning;
};

/// The rows in the order of operations.def. A name may have several rows, which take different parameters.
std::span<const OperationRow> operation_rows();

}  // namespace strata::ops
