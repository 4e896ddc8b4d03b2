#include "strata/codegen/unguarded.h"

#include <algorithm>

#include "strata/base/int_math.h"
#include "strata/expr/node.h"

namespace strata {

namespace {

/// For a condition sum < c with sum = t*v + rest: it holds for all other counters where t*v + max(rest) < c, which
/// limits v.
void note_condition(const Node* n, const std::vector<std::pair<Variable, std::size_t>>& counters,
                    std::vector<Unguarded>& out) {
  if (n->op != Op::Lt || n->src(1)->op != Op::Const) return;
  const Expr left = Expr::share(n->src(0));
  const std::int64_t limit = n->src(1)->value();
  for (const auto& [v, axis] : counters) {
    const Expr moved = substitute(left, {{v, v + 1}}) - left;
    if (!moved.is_constant() || moved.value() == 0) continue;
    const std::int64_t t = moved.value();
    const Facts rest = substitute(left, {{v, Expr(0)}}).facts();
    std::int64_t room = 0;  // t*v <= room
    if (rest.max == std::numeric_limits<std::int64_t>::max() || !try_sub(limit - 1, rest.max, room)) continue;
    if (t > 0)
      out[axis].end = std::min(out[axis].end, std::max<std::int64_t>(floor_div(room, t) + 1, 0));
    else
      out[axis].begin = std::max(out[axis].begin, -floor_div(room, -t));
    return;  // one axis per condition is enough; output axes come first
  }
}

}  // namespace

std::vector<Unguarded> unguarded(const std::vector<Access>& accesses,
                                 const std::vector<std::pair<Variable, std::size_t>>& counters, std::size_t axes) {
  std::vector<Unguarded> out(axes);
  for (const Access& a : accesses) {
    const Node* n = a.valid.node();
    if (n->op == Op::And) {
      for (const Node* c : n->sources()) note_condition(c, counters, out);
    } else {
      note_condition(n, counters, out);
    }
  }
  return out;
}

}  // namespace strata
