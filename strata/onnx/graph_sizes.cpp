// Sizes of a graph as tensors of a file: numbers, and expressions over the dimensions of inputs.
#include <algorithm>
#include <unordered_set>

#include "strata/base/check.h"
#include "strata/base/walk.h"
#include "strata/expr/node.h"
#include "strata/onnx/graph_writer.h"

namespace strata::onnx {

void GraphWriter::set_size(const Variable& size, std::string input, std::optional<std::int64_t> axis) {
  const auto is_it = [&](const SizeSource& s) { return s.size.name() == size.name(); };
  if (std::none_of(size_sources_.begin(), size_sources_.end(), is_it))
    size_sources_.push_back({size, std::move(input), axis});
}

Written GraphWriter::sizes(const Ints& all) {
  if (const auto known = numbers(all)) return integers({known->begin(), known->end()});
  std::vector<Written> parts;
  for (const Int& n : all) parts.push_back(size(n));
  if (parts.size() == 1) return parts[0];
  return add("Concat", parts, {integer_attribute("axis", 0)}, dtypes::int64, {std::ssize(parts)});
}

Written GraphWriter::size(const Int& n) { return n.is_number() ? integers({n.value()}) : written_size(n.expr()); }

Written GraphWriter::variable_size(const Variable& v) {
  for (const SizeSource& s : size_sources_) {
    if (s.size.name() != v.name()) continue;
    const Written input{s.input, dtypes::int64, {}};
    if (!s.axis) return add("Reshape", {input, integers({1})}, {}, dtypes::int64, {1});
    return add("Shape", {input}, {integer_attribute("start", *s.axis), integer_attribute("end", *s.axis + 1)},
               dtypes::int64, {1});
  }
  if (v.bound_value()) return integers({*v.bound_value()});
  refuse(nullptr, detail::message("the size ", v.name(), " is no dimension of an input"));
  return integers({1});
}

/// Writes the expression from its leaves up; each value has shape (1).
Written GraphWriter::written_size(const Expr& root) {
  std::unordered_map<const strata::Node*, Written> done;
  std::unordered_set<const strata::Node*> seen;
  const auto binary = [&](const char* op, const Written& a, const Written& b, std::vector<Attribute> attributes = {}) {
    return add(op, {a, b}, std::move(attributes), dtypes::int64, {1});
  };
  const auto truth = [&](const char* op, const Written& a, const Written& b) {
    return cast(add(op, {a, b}, {}, dtypes::boolean, {1}), dtypes::int64);
  };
  const auto folded = [&](const char* op, const strata::Node* n) {
    Written out = done.at(n->src(0));
    for (std::size_t k = 1; k < n->sources().size(); ++k) out = binary(op, out, done.at(n->src(k)));
    return out;
  };
  const auto sum = [&](const strata::Node* n) {
    std::optional<Written> out;
    for (const Term& t : n->terms()) {
      const Written part =
          t.coefficient == 1 ? done.at(t.atom) : binary("Mul", done.at(t.atom), integers({t.coefficient}));
      out = out ? binary("Add", *out, part) : part;
    }
    if (n->k0() != 0) out = out ? binary("Add", *out, integers({n->k0()})) : integers({n->k0()});
    return out ? *out : integers({0});
  };
  const auto made = [&](const strata::Node* n) -> Written {
    const auto src = [&](std::size_t k) { return done.at(n->src(k)); };
    switch (n->op) {
      case Op::Const: return integers({n->value()});
      case Op::Var: return variable_size(Variable::from(Expr::share(n)));
      case Op::Sum: return sum(n);
      case Op::Mul: return folded("Mul", n);
      case Op::Min: return folded("Min", n);
      case Op::Max: return folded("Max", n);
      case Op::And: return folded("Mul", n);
      case Op::Or: return folded("Max", n);
      case Op::Div:  // of floor, where the remainder is taken away
        if (Expr::share(n->src(0)).vmin() >= 0 && Expr::share(n->src(1)).vmin() > 0)
          return binary("Div", src(0), src(1));
        return binary("Div", binary("Sub", src(0), binary("Mod", src(0), src(1))), src(1));
      case Op::Mod: return binary("Mod", src(0), src(1));
      case Op::Lt: return truth("Less", src(0), src(1));
      case Op::Eq: return truth("Equal", src(0), src(1));
      case Op::Ne: return binary("Sub", integers({1}), truth("Equal", src(0), src(1)));
      case Op::Select: return add("Where", {cast(src(0), dtypes::boolean), src(1), src(2)}, {}, dtypes::int64, {1});
    }
    throw InternalError("[to_onnx] an op of the algebra without an operator");
  };
  const auto known = [&](const std::string& key) -> const Written* {
    for (std::size_t k = scopes_.size(); k-- > 0;)
      if (const auto at = scopes_[k].sizes.find(key); at != scopes_[k].sizes.end()) return &at->second;
    return nullptr;
  };
  detail::walk(
      root.node(), [&](const strata::Node* n) { return seen.insert(n).second; }, child_from_end,
      [&](const strata::Node* n) {
        const std::string key = Expr::share(n).render();
        if (const Written* const before = known(key)) return static_cast<void>(done.emplace(n, *before));
        const Written out = made(n);
        scopes_.back().sizes.emplace(key, out);
        done.emplace(n, out);
      });
  return done.at(root.node());
}

}  // namespace strata::onnx
