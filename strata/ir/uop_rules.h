// The rules for single UOps: the rows of uops.def as data, and check_uop(), which UOpGraph::add() and the parser apply.
// Internal to ir/.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "strata/ir/uop.h"

namespace strata {

/// The alternatives of UOpArg, in the same order.
enum class ArgKind : std::uint8_t { none, number, scalar, op, global, local, special, variable, reduction };

inline ArgKind kind(const UOpArg& arg) { return static_cast<ArgKind>(arg.index()); }

/// A row of uops.def, with the argument that uop.h's table names.
struct UOpRow {
  std::string_view name;  ///< "ALU"
  std::uint16_t least;    ///< fewest sources
  std::uint16_t most;     ///< most sources
  UOps op;
  bool has_value;  ///< false: the dtype is none
  ArgKind arg;     ///< a STORE may also have a number
};

/// The row of `op`. @pre `op` is an enumerator
const UOpRow& row(UOps op);
/// The UOps enumerator named `name` (without "UOps."), e.g. UOps::ALU for "ALU"; nothing for an unknown name.
std::optional<UOps> find_uop(std::string_view name);

/// The NaN that text() writes as `nan`, without bits. @pre `dtype` is a float
inline Scalar default_nan(DType dtype) { return Scalar::of(dtype, std::numeric_limits<double>::quiet_NaN()); }

/// Checks one UOp against the table in uop.h, by itself: verify() checks lists. @pre no source is an empty handle
/// @throws Error (domain) where the number of sources, their dtypes, `dtype` or the argument differ from the table, or
///   where a name is not an identifier
void check_uop(UOps op, DType dtype, std::span<const UOp> src, const UOpArg& arg);

}  // namespace strata
