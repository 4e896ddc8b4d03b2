// Integers and conditions of a kernel as expressions of coordinates, for the algebra. Internal to codegen/.
#pragma once

#include <optional>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// The integer or condition `n` at the coordinates `at`; nothing where it depends on memory, and where its dtypes would
/// change the value: where integers wrap, and where floats round.
std::optional<Expr> as_expr(const LazyOp& n, const std::vector<Expr>& at);

}  // namespace strata
