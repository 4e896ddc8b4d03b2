#include "strata/codegen/vectors.h"

#include <algorithm>
#include <bit>

#include "strata/expr/node.h"

namespace strata {

std::optional<std::int64_t> stride_along(const Expr& index, const Lanes& lanes) {
  const auto depends = [&](const Expr& on) {
    const std::vector<Variable> of = variables(on);
    return std::any_of(of.begin(), of.end(),
                       [&](const Variable& v) { return same(v, lanes.variable); });
  };
  if (!depends(index)) return 0;
  if (same(index, lanes.variable)) return 1;
  if (index.op() != Op::Sum) return std::nullopt;
  std::optional<std::int64_t> stride;
  for (const Term& t : index.node()->terms()) {
    if (t.atom == lanes.variable.node())
      stride = t.coefficient;
    else if (depends(Expr::share(t.atom)))
      return std::nullopt;
  }
  return stride;
}

IndexExprs mirrored(const IndexExprs& at, const Lanes& lanes) {
  const Substitution mirror = {{lanes.variable, lanes.count - 1 - lanes.variable}};
  return {substitute(at.index, mirror), substitute(at.valid, mirror)};
}

std::optional<std::int64_t> whole_bytes(const Expr& first, DType dtype) {
  const std::int64_t lanes = dtype.lanes();
  const std::int64_t bytes = lanes * static_cast<std::int64_t>(dtype.scalar().itemsize());
  const Facts facts = first.facts();
  const bool is_whole = facts.modulus % lanes == 0 && facts.residue % lanes == 0;
  if (!is_whole || bytes < 16 || !std::has_single_bit(static_cast<std::uint64_t>(bytes)))
    return std::nullopt;
  return bytes;
}

}  // namespace strata
