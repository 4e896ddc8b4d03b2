#include "strata/ops/table.h"

#include "strata/base/fork.h"
#include "strata/ops/parameters.h"

namespace strata::ops {

namespace {

std::vector<OperationRow> read_rows() {
  using Kind = OperationKind;
  constexpr std::string_view kInPlace = "in_place";
  return {
#define STRATA_UNARY(name, dtype, in_place, names, reference, meaning) \
  {Kind::unary, #name, #dtype, "one", {}, "bound", #in_place == kInPlace, {STRATA_NAMES(names)}, reference, meaning},
#define STRATA_BINARY(name, dtype, in_place, names, reference, meaning) \
  {Kind::binary,                                                        \
   #name,                                                               \
   #dtype,                                                              \
   "one",                                                               \
   {{"operand", "other", nullptr, "other|b|y|exponent"}},               \
   "bound",                                                             \
   #in_place == kInPlace,                                               \
   {STRATA_NAMES(names)},                                               \
   reference,                                                           \
   meaning},
#define STRATA_METHOD(result, name, parameters, binding, in_place, names, reference, meaning)                      \
  {Kind::method,          #name,     "",     #result, {STRATA_TEXTS(parameters)}, #binding, #in_place == kInPlace, \
   {STRATA_NAMES(names)}, reference, meaning},
#define STRATA_ROW(kind, result, name, parameters, binding, names, reference, meaning) \
  {kind, #name, "", #result, {STRATA_TEXTS(parameters)}, #binding, false, {STRATA_NAMES(names)}, reference, meaning},
#define STRATA_STATIC(...) STRATA_ROW(Kind::static_method, __VA_ARGS__)
#define STRATA_FUNCTION(...) STRATA_ROW(Kind::function, __VA_ARGS__)
#define STRATA_FUNCTION_BY_HAND(...) STRATA_ROW(Kind::function, __VA_ARGS__)
#define STRATA_LINALG(...) STRATA_ROW(Kind::linalg, __VA_ARGS__)
#include "strata/ops/operations.def"
#undef STRATA_ROW
  };
}

const std::vector<OperationRow>& rows() {
  static const auto* const all = new std::vector<OperationRow>(read_rows());
  return *all;
}
const ForkHook rows_hook(ForkOrder::tables, [] { rows(); }, [] {});

}  // namespace

std::span<const OperationRow> operation_rows() { return rows(); }

}  // namespace strata::ops
