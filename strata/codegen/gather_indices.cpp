// Computed indices as variables.

#include "strata/codegen/gather_indices.h"

#include <algorithm>
#include <set>

#include "strata/expr/node.h"

namespace strata {

Expr GatherIndices::add(UOp value, std::int64_t size, const Coordinates& at) {
  if (size == 1) return 0;
  if (value.op() == UOps::CONST) return value.constant().as_int();
  GatherIndex index{value, at.idxs};
  index.around.push_back(at.valid);
  const auto is_same = [](const Expr& x, const Expr& y) { return same(x, y); };
  for (const Variable& v : known_[value])
    if (const std::vector<Expr>& around = find(v)->around;
        v.max() == size - 1 &&
        std::equal(around.begin(), around.end(), index.around.begin(), index.around.end(), is_same))
      return v;
  Variable made(detail::message("_at", indices_.size()), 0, size - 1);
  indices_.emplace(std::string(made.name()), std::move(index));
  known_[value].push_back(made);
  return made;
}

const GatherIndex* GatherIndices::find(const Variable& v) const {
  const auto it = indices_.find(std::string(v.name()));
  return it != indices_.end() ? &it->second : nullptr;
}

std::string GatherIndices::add_around(std::vector<Expr>& expressions) const {
  std::set<std::string> names;
  if (indices_.empty()) return {};
  for (std::size_t k = 0; k < expressions.size(); ++k)
    for (const Variable& v : variables(expressions[k]))
      if (const GatherIndex* found = find(v)) {
        names.emplace(v.name());
        for (const Expr& e : found->around)
          if (std::none_of(expressions.begin(), expressions.end(), [&](const Expr& known) { return same(known, e); }))
            expressions.push_back(e);
      }
  std::string out;
  for (const std::string& name : names) out += name;
  return out;
}

}  // namespace strata
