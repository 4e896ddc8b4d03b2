// Expressions to text. Each notation reads back: parse(render(e, spec | python | latex)) is the same node as e (where
// every name is a Variable of that name and bounds), and the C text has the same value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "strata/expr/expr.h"

namespace strata {

enum class Notation : std::uint8_t {
  spec,  ///< the specification's: `(((idx0%10)*10)+(idx0//10))`, `((x<2) and (y<2))`, `min(a, b)`, `select(c, a, b)`
  c,  ///< a C expression of int64_t variables: `/` and `%` truncate there, and the text makes up for it
  python,  ///< as spec, with `(a if c else b)`
  latex,   ///< `10\cdot\left(\mathit{idx0}\bmod 10\right)+...`
};

/// The constant of a sum first, then its terms by falling |coefficient|, ties in canonical order; sums and products
/// nest to the left, `and` and `or` are flat.
/// @throws Error (budget) when the text is longer than 64 MiB, as that of a shared graph can be.
std::string render(const Expr& e, Notation notation = Notation::spec);

/// Operators and leaves of the specification's text: `(a%10)` has 3. A call counts 1, `(a and b and c)` has 2
/// operators. Saturates; never builds the text.
std::size_t count_nodes(const Expr& e);

/// The expression as an indented tree of ops, one node a line. A variable is a RANGE from its minimum to its end
/// (exclusive); what occurs again is named where it occurs first (`x3:=`) and then written by that name. Names count
/// the nodes in printed order from the root's first source, as the specification's tree does.
/// @throws Error (budget) when the text is longer than 64 MiB.
std::string render_tree(const Expr& e);

}  // namespace strata
