// The value of an expression at a point, its variables, and its affine form.

#include <algorithm>
#include <string>

#include "strata/expr/canonical_order.h"
#include "strata/expr/evaluate.h"
#include "strata/expr/linear.h"

namespace strata {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

std::int64_t value_of(const Node* variable, const std::unordered_map<const Node*, std::int64_t>& given) {
  const VariableInfo& info = variable->variable();
  const auto at = given.find(variable);
  if (at == given.end()) {
    STRATA_CHECK(info.bound, parse, "[evaluate] no value for '", info.name, "'");
    return info.value;
  }
  STRATA_CHECK(info.min <= at->second && at->second <= info.max, domain, "[evaluate] ", info.name, " = ",
               text(at->second), " is outside [", text(info.min), ", ", text(info.max), "]");
  return at->second;
}

}  // namespace

std::int64_t evaluate(const Expr& e, const Values& values) {
  if (e.is_constant()) return e.value();
  std::unordered_map<const Node*, std::int64_t> given;
  for (const auto& [variable, value] : values) given.insert_or_assign(variable.node(), value);
  const Tape tape(e);
  std::vector<std::int64_t> point, slots;
  for (const std::uint32_t slot : tape.variables()) point.push_back(value_of(tape.node(slot), given));
  const std::size_t done = tape.run(point, slots);
  STRATA_CHECK(done == tape.size(), overflow, "[evaluate] the value of '", to_string(tape.node(done)->op),
               "' does not fit in 64 bits");
  return slots[tape.root(0)];
}

std::vector<Variable> variables(const Expr& e) {
  std::vector<Variable> found;
  for (const Node* n : postorder(std::span(&e, 1)))
    if (n->is(Op::Var)) found.push_back(Variable::from(Expr::share(n)));
  sort_canonically(found);
  return found;
}

std::optional<AffineForm> affine_form(const Expr& e) {
  const LinearView view(e.node());
  AffineForm form;
  form.constant = view->k0;
  for (const Term& t : view->terms) {
    if (!t.atom->is(Op::Var)) return std::nullopt;
    form.coefficients.emplace_back(Variable::from(Expr::share(t.atom)), t.coefficient);
  }
  sort_canonically(form.coefficients);
  return form;
}

}  // namespace strata
