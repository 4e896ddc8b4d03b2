// Substitution, and the functions built on it: expand, expand_node, unbind. Each node is rebuilt once, without
// recursion.

#include "strata/expr/substitute.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace strata {

Expr rebuild(const Node* n, std::span<const Expr> children) { return Build().rebuild(n, children); }

Expr replace(const Expr& root, Replacements done, const Build& build, bool all) {
  std::vector<const Node*> stack{root.node()};
  std::vector<Expr> children;
  while (!stack.empty()) {
    const Node* n = stack.back();
    if (done.contains(n)) {
      stack.pop_back();
      continue;
    }
    bool ready = true, changed = all;
    for_each_child(n, [&](const Node* child) {
      const auto at = done.find(child);
      if (at == done.end()) {
        ready = false;
        stack.push_back(child);
      } else {
        changed |= at->second.node() != child;
      }
    });
    if (!ready) continue;
    stack.pop_back();
    children.clear();
    if (changed) for_each_child(n, [&](const Node* child) { children.push_back(done.at(child)); });
    done.emplace(n, changed ? build.rebuild(n, children) : Expr::share(n));
  }
  return done.at(root.node());
}

namespace {

constexpr std::uint64_t kMaxExpansion = std::uint64_t{1} << 20;

std::uint64_t expansion_size(std::span<const Variable> unrolled) {
  std::uint64_t size = 1;
  for (const Variable& v : unrolled) {
    const std::uint64_t span = static_cast<std::uint64_t>(v.max()) - static_cast<std::uint64_t>(v.min());
    STRATA_CHECK(span < kMaxExpansion && size * (span + 1) <= kMaxExpansion, budget, "[expand] unrolling '", v.name(),
                 "' over ", std::to_string(v.min()), "..", std::to_string(v.max()), " gives more than ",
                 std::to_string(kMaxExpansion), " values");
    size *= span + 1;
  }
  return size;
}

}  // namespace

Expr substitute(const Expr& e, const Substitution& map) {
  Replacements done;
  for (const auto& [key, value] : map) done.insert_or_assign(key.node(), value);
  return replace(e, std::move(done));
}

std::vector<Expr> expand(const Expr& e, std::span<const Variable> unrolled) {
  const std::uint64_t size = expansion_size(unrolled);
  std::vector<std::int64_t> at;
  for (const Variable& v : unrolled) at.push_back(v.min());
  std::vector<Expr> values;
  values.reserve(static_cast<std::size_t>(size));
  while (values.size() < size) {
    Replacements map;
    for (std::size_t i = 0; i < at.size(); ++i) map.insert_or_assign(unrolled[i].node(), Expr(at[i]));
    values.push_back(replace(e, std::move(map)));
    for (std::size_t i = at.size(); i-- > 0;) {
      if (at[i] < unrolled[i].max()) {
        ++at[i];
        break;
      }
      at[i] = unrolled[i].min();
    }
  }
  return values;
}

std::vector<Expr> expand_node(const Expr& e) {
  std::vector<Variable> unrolled = variables(e);
  std::erase_if(unrolled, [](const Variable& v) { return !v.name().starts_with("_uidx"); });
  return expand(e, unrolled);
}

std::pair<Expr, Values> unbind(const Expr& e) {
  Replacements map;
  Values values;
  for (const Variable& v : variables(e)) {
    if (!v.bound_value()) continue;
    const auto [plain, value] = v.unbind();
    map.emplace(v.node(), plain);
    values.emplace_back(plain, value);
  }
  return {map.empty() ? e : replace(e, std::move(map)), std::move(values)};
}

}  // namespace strata
