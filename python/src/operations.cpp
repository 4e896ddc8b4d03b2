// Binds the methods and functions of the table of operations (ops/operations.def). Parameters, defaults, docstrings,
// other names and in-place forms come from the rows. strata._strata._operations() returns the rows, for documentation
// and tests.
#include <algorithm>
#include <string>

#include "python/src/call.h"
#include "strata/ops/table.h"

namespace strata::python {

namespace {

using ops::ParameterText;
using UnaryMember = Tensor (Tensor::*)(At) const;
using BinaryMember = Tensor (Tensor::*)(const Operand&) const;

/// The Python literal of a default in C++.
std::string python_literal(const ParameterText& p) {
  const std::string text = p.fallback;
  if (text == "{}") return "None";
  if (text == "true") return "True";
  if (text == "false") return "False";
  if (const std::size_t colons = text.rfind("::"); colons != std::string::npos)
    return text.substr(colons + 1).replace(0, 1, 1, '\'').append(1, '\'');  // an enumerator becomes a text
  const bool is_whole = text.find_first_of(".e") == std::string::npos;
  return std::string_view(p.type) == "double" && is_whole ? text + ".0" : text;
}

std::string signature(std::initializer_list<ParameterText> parameters, std::size_t skipped = 0) {
  std::string out;
  for (const ParameterText* p = parameters.begin() + skipped; p != parameters.end(); ++p) {
    if (!out.empty()) out += ", ";
    out += p->python_names != nullptr ? p->python_names : p->name;
    if (p->fallback != nullptr) out.append(1, '=').append(python_literal(*p));
  }
  return out;
}

/// The names of OperationKind, in its order.
constexpr const char* kKinds[] = {"unary", "binary", "method", "static", "function", "linalg", "fft"};

/// A row as a dictionary; each parameter is a tuple (type, name, default or None, names or None).
py::dict row_object(const ops::OperationRow& row) {
  py::list parameters, names;
  for (const ParameterText& p : row.parameters)
    parameters.append(py::make_tuple(p.type, p.name, p.fallback, p.python_names));
  for (const std::string_view name : row.names) names.append(name);
  py::dict out;
  out["kind"] = kKinds[static_cast<std::size_t>(row.kind)];
  out["name"] = row.name;
  out["dtype"] = row.dtype;
  out["result"] = row.result;
  out["parameters"] = parameters;
  out["binding"] = row.binding;
  out["in_place"] = row.in_place;
  out["names"] = names;
  out["reference"] = row.reference;
  out["meaning"] = row.meaning;
  return out;
}

py::list operation_objects() {
  py::list out;
  for (const ops::OperationRow& row : ops::operation_rows()) out.append(row_object(row));
  return out;
}

}  // namespace

void bind_operations(Functions& f) {
  f.module().def("_operations", &operation_objects, "The rows of the table of operations.");
#define STRATA_ARRAY Tensor
#define STRATA_OPERAND Operand
#define STRATA_UNARY(name, dtype, in_place, names, reference, meaning) \
  f.op(#name, "", static_cast<UnaryMember>(&Tensor::name), meaning);
#define STRATA_BINARY(name, dtype, in_place, names, reference, meaning) \
  f.op(#name, "other|b|y|exponent", static_cast<BinaryMember>(&Tensor::name), meaning);
#define STRATA_METHOD(result, name, parameters, binding, in_place, names, reference, meaning) \
  STRATA_METHOD_##binding(result, name, parameters, meaning)
#define STRATA_METHOD_by_hand(...)
#define STRATA_METHOD_bound(result, name, parameters, meaning)                                                   \
  f.op(#name, signature({STRATA_TEXTS(parameters)}).c_str(),                                                     \
       static_cast<STRATA_RESULT(result) (Tensor::*)(STRATA_TYPES(parameters) STRATA_COMMA_AFTER(parameters) At) \
                       const>(&Tensor::name),                                                                    \
       meaning);
#define STRATA_METHOD_bound_to_class(result, name, parameters, meaning)                                              \
  f.method(#name, signature({STRATA_TEXTS(parameters)}).c_str(),                                                     \
           static_cast<STRATA_RESULT(result) (Tensor::*)(STRATA_TYPES(parameters) STRATA_COMMA_AFTER(parameters) At) \
                           const>(&Tensor::name),                                                                    \
           meaning);
#define STRATA_FUNCTION(result, name, parameters, binding, names, reference, meaning) \
  STRATA_FUNCTION_##binding(result, name, parameters, meaning)
#define STRATA_FUNCTION_by_hand(...)
#define STRATA_FUNCTION_bound(result, name, parameters, meaning) \
  f.op(#name, signature({STRATA_TEXTS(parameters)}, 1).c_str(),  \
       static_cast<STRATA_RESULT(result) (*)(STRATA_TYPES(parameters), At)>(&strata::name), meaning);
#include "strata/ops/operations.def"
}

}  // namespace strata::python
