#include "strata/ops/table.h"

#include <algorithm>
#include <iterator>

#include "strata/base/fork.h"
#include "strata/ops/parameters.h"

namespace strata::ops {

namespace {

/// A row as a constant: a table that code fills would be the largest function of a program. A row with more parameters
/// or names than there is room for does not compile.
struct ConstantRow {
  OperationKind kind;
  bool in_place;
  std::string_view name, dtype, result;
  ParameterText parameters[8];  // behind the last one null names
  std::string_view binding;
  std::string_view names[3];  // behind the last one empty
  std::string_view reference, meaning;
};

using Kind = OperationKind;
constexpr std::string_view kInPlace = "in_place";
// clang-format off
constexpr ConstantRow kConstantRows[] = {
#define STRATA_UNARY(name, dtype, in_place, names, reference, meaning) \
  {Kind::unary, #in_place == kInPlace, #name, #dtype, "one", {}, "bound", {STRATA_NAMES(names)}, reference, meaning},
#define STRATA_BINARY(name, dtype, in_place, names, reference, meaning)                                          \
  {Kind::binary, #in_place == kInPlace, #name, #dtype, "one", {{"operand", "other", nullptr, "other|b|y|exponent"}}, \
   "bound", {STRATA_NAMES(names)}, reference, meaning},
#define STRATA_METHOD(result, name, parameters, binding, in_place, names, reference, meaning)                      \
  {Kind::method, #in_place == kInPlace, #name, "", #result, {STRATA_TEXTS(parameters)}, #binding,                  \
   {STRATA_NAMES(names)}, reference, meaning},
#define STRATA_ROW(kind, result, name, parameters, binding, names, reference, meaning)                             \
  {kind, false, #name, "", #result, {STRATA_TEXTS(parameters)}, #binding, {STRATA_NAMES(names)}, reference, meaning},
#define STRATA_STATIC(...) STRATA_ROW(Kind::static_method, __VA_ARGS__)
#define STRATA_FUNCTION(...) STRATA_ROW(Kind::function, __VA_ARGS__)
#define STRATA_FUNCTION_BY_HAND(...) STRATA_ROW(Kind::function, __VA_ARGS__)
#define STRATA_LINALG(...) STRATA_ROW(Kind::linalg, __VA_ARGS__)
#define STRATA_FFT(...) STRATA_ROW(Kind::fft, __VA_ARGS__)
#include "strata/ops/operations.def"
#undef STRATA_ROW
};
// clang-format on

std::vector<OperationRow> read_rows() {
  std::vector<OperationRow> out;
  out.reserve(std::size(kConstantRows));
  for (const ConstantRow& r : kConstantRows) {
    const auto* const parameters = std::find_if(std::begin(r.parameters), std::end(r.parameters),
                                                [](const ParameterText& p) { return p.name == nullptr; });
    const auto* const names = std::find(std::begin(r.names), std::end(r.names), std::string_view());
    out.push_back({r.kind,
                   r.name,
                   r.dtype,
                   r.result,
                   {std::begin(r.parameters), parameters},
                   r.binding,
                   r.in_place,
                   {std::begin(r.names), names},
                   r.reference,
                   r.meaning});
  }
  return out;
}

const std::vector<OperationRow>& rows() {
  static const auto* const all = new std::vector<OperationRow>(read_rows());
  return *all;
}
const ForkHook rows_hook(ForkOrder::tables, [] { rows(); }, [] {});

}  // namespace

std::span<const OperationRow> operation_rows() { return rows(); }

}  // namespace strata::ops
