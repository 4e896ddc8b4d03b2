// Expressions to text, in four notations and as a tree. The texts read back: parse(render(e, spec | python | latex)) is
// the same node as e when the parser knows e's variables with their names and bounds. The C text has the same value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "strata/expr/expr.h"

namespace strata {

enum class Notation : std::uint8_t {
  spec,  ///< the specification's notation: `(((idx0%10)*10)+(idx0//10))`, `((x<2) and (y<2))`, `min(a, b)`, `select(c,
         ///< a, b)`
  c,  ///< a C expression over int64_t variables; C truncates `/` and `%`, so the text corrects them where signs matter
  python,  ///< like spec, with `(a if c else b)`
  latex,   ///< `10\cdot\left(\mathit{idx0}\bmod 10\right)+...`
};

/// `e` as text. A sum begins with its constant; its terms follow by falling |coefficient|, ties in canonical order.
/// Sums and products nest to the left; `and` and `or` are flat.
/// @throws Error (budget) when the text is longer than 64 MiB, which a graph with shared nodes can reach.
std::string render(const Expr& e, Notation notation = Notation::spec);

/// The number of operators and leaves in the specification's text, e.g. 3 for `(a%10)`. A call counts as 1 operator;
/// `(a and b and c)` has 2. The count saturates. Linear in the number of nodes: the text is not built.
std::size_t count_nodes(const Expr& e);

/// The expression as an indented tree of ops, one node a line. A variable is a RANGE from its minimum to its exclusive
/// end. A node with several users gets a name at its first line (`x3:=`); later lines write the name alone. Names
/// number the nodes in printed order, from the root's first source on, as the specification's tree does.
/// @throws Error (budget) when the text is longer than 64 MiB.
std::string render_tree(const Expr& e);

}  // namespace strata
