// What a UOp may be: the rows of uops.def as data, the kind of argument of each, and the check of one. Internal to ir/.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "strata/ir/uop.h"

namespace strata {

/// The alternatives of UOpArg, in its order.
enum class ArgKind : std::uint8_t {
  none,
  number,
  scalar,
  op,
  global,
  local,
  special,
  variable,
  reduction
};

inline ArgKind kind(const UOpArg& arg) { return static_cast<ArgKind>(arg.index()); }

/// A row of uops.def.
struct UOpRow {
  std::string_view name;  ///< "ALU"
  std::uint16_t least;    ///< sources
  std::uint16_t most;
  UOps op;
  bool has_value;
  ArgKind arg;
};

const UOpRow& row(UOps op);
/// The UOp of a name without its class; nothing for another text.
std::optional<UOps> find_uop(std::string_view name);

/// The NaN that is written `nan`, without its bits. @pre a float dtype
inline Scalar default_nan(DType dtype) {
  return Scalar::of(dtype, std::numeric_limits<double>::quiet_NaN());
}

/// @throws Error (domain) where the number of sources, their dtypes or the argument are not as uop.h's table has them.
/// @pre the sources are UOps, not empty handles
void check_uop(UOps op, DType dtype, std::span<const UOp> src, const UOpArg& arg);

}  // namespace strata
