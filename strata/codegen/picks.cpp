// Values as variables.

#include "strata/codegen/picks.h"

#include <algorithm>
#include <set>

#include "strata/expr/node.h"

namespace strata {

Expr Picks::add(UOp place, std::int64_t size, const Coordinates& at) {
  if (size == 1) return 0;
  if (place.op() == UOps::CONST) return place.constant().as_int();
  Pick pick{place, at.idxs};
  pick.around.push_back(at.valid);
  const auto is_same = [](const Expr& x, const Expr& y) { return same(x, y); };
  for (const Variable& v : known_[place])
    if (const std::vector<Expr>& around = find(v)->around;
        v.max() == size - 1 &&
        std::equal(around.begin(), around.end(), pick.around.begin(), pick.around.end(), is_same))
      return v;
  Variable made(detail::message("_at", picks_.size()), 0, size - 1);
  picks_.emplace(std::string(made.name()), std::move(pick));
  known_[place].push_back(made);
  return made;
}

const Pick* Picks::find(const Variable& v) const {
  const auto it = picks_.find(std::string(v.name()));
  return it != picks_.end() ? &it->second : nullptr;
}

std::string Picks::add_around(std::vector<Expr>& expressions) const {
  std::set<std::string> names;
  if (picks_.empty()) return {};
  for (std::size_t k = 0; k < expressions.size(); ++k)
    for (const Variable& v : variables(expressions[k]))
      if (const Pick* pick = find(v)) {
        names.emplace(v.name());
        for (const Expr& e : pick->around)
          if (std::none_of(expressions.begin(), expressions.end(),
                           [&](const Expr& known) { return same(known, e); }))
            expressions.push_back(e);
      }
  std::string out;
  for (const std::string& name : names) out += name;
  return out;
}

}  // namespace strata
