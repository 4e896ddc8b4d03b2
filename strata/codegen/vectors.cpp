#include "strata/codegen/vectors.h"

#include <algorithm>
#include <bit>

#include "strata/expr/node.h"

namespace strata {

std::optional<std::int64_t> stride_along(const Expr& index, const Lanes& lanes) {
  const auto depends = [&](const Expr& on) {
    const std::vector<Variable> of = variables(on);
    return std::any_of(of.begin(), of.end(), [&](const Variable& v) { return same(v, lanes.variable); });
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
  if (!is_whole || bytes < 16 || !std::has_single_bit(static_cast<std::uint64_t>(bytes))) return std::nullopt;
  return bytes;
}

// --- ops ---

UOp LaneOps::widened(UOp value, int lanes) {
  return value.dtype().lanes() == lanes ? value : graph_.broadcast(value, lanes);
}

int LaneOps::most_lanes(std::span<const UOp> values) {
  int lanes = 1;
  for (const UOp v : values) lanes = std::max(lanes, v.dtype().lanes());
  return lanes;
}

UOp LaneOps::alu(Ops op, std::vector<UOp> operands) {
  const int lanes = most_lanes(operands);
  for (UOp& v : operands) v = widened(v, lanes);
  return emit(graph_, op, operands, native_);
}

UOp LaneOps::reversed(UOp vector) {
  std::vector<UOp> lanes;
  for (int k = vector.dtype().lanes(); k-- > 0;) lanes.push_back(graph_.lane(vector, k));
  return graph_.add(UOps::VECTORIZE, vector.dtype(), lanes);
}

UOp LaneOps::folded(Ops op, std::vector<UOp> parts) {
  while (parts.size() > 1) {
    std::vector<UOp> fewer;
    for (std::size_t k = 0; k + 1 < parts.size(); k += 2) fewer.push_back(alu(op, {parts[k], parts[k + 1]}));
    if (parts.size() % 2 != 0) fewer.push_back(parts.back());
    parts = std::move(fewer);
  }
  return parts[0];
}

UOp LaneOps::across(Ops op, UOp value, int lanes) {
  std::vector<UOp> each;
  for (int k = 0; k < lanes; ++k) each.push_back(graph_.lane(value, k));
  return folded(op, each);
}

}  // namespace strata
