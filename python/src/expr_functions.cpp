// Binds the functions of strata.expr: proofs, parsing and other operations on expressions.
#include "python/src/expr_casters.h"
#include "python/src/running.h"
#include "strata/expr/exact.h"
#include "strata/expr/parse.h"
#include "strata/expr/render.h"

namespace strata::python {

namespace {

Proof proof_of(const Expr& condition, const std::optional<ExprArg>& assuming) {
  const Expr given = assuming ? **assuming : Expr(1);
  const Unlocked unlocked;
  return prove(condition, given);
}

py::str repr_of_proof(const Proof& p) {
  const std::string answer(name_of_answer(p.answer));
  if (p.answer != Answer::no) return detail::message("Proof('", answer, "')");
  return py::str("Proof('{}', {})").format(answer, dict_of_values(p.counterexample));
}

void bind_proofs(py::module_& m, py::module_& functions) {
  py::class_<Proof>(m, "Proof", "The answer to a question about all values of the variables. True iff it is 'yes'.")
      .def_property_readonly(
          "answer", [](const Proof& p) { return std::string(name_of_answer(p.answer)); }, "'yes', 'no' or 'unknown'.")
      .def_property_readonly(
          "counterexample", [](const Proof& p) { return dict_of_values(p.counterexample); },
          "Where the answer is 'no': values by Variable for which it does not hold.")
      .def("__bool__", [](const Proof& p) { return p.answer == Answer::yes; })
      .def("__repr__", &repr_of_proof);
  const auto prove_function = [](const ExprArg& condition, const std::optional<ExprArg>& assuming) {
    return proof_of(*condition, assuming);
  };
  constexpr const char* kProveDoc =
      "Does `condition` hold for all values of its variables (where `assuming` holds)?\n\n"
      ">>> x = Variable('x', 0, 9)\n>>> bool(prove(x*2 < 19))\nTrue\n"
      ">>> prove(x < 9)\nProof('no', {Variable('x', 0, 9): 9})";
  const auto equal = [](const ExprArg& a, const ExprArg& b) {
    const Unlocked unlocked;
    return prove_equal(*a, *b);
  };
  constexpr const char* kEqualDoc =
      "Do two expressions agree for all values of their variables? The counterexample is a point "
      "where they differ.";
  for (py::module_& where : {std::ref(m), std::ref(functions)}) {
    where.def("prove", prove_function, py::arg("condition"), py::arg("assuming") = py::none(), kProveDoc);
    where.def("prove_equal", equal, py::arg("a"), py::arg("b"), kEqualDoc);
  }
}

template <class F>
Expr folded(const ExprArg& first, const py::args& rest, const F& f) {
  Expr out = *first;
  for (const py::handle e : rest) out = f(out, *e.cast<ExprArg>());
  return out;
}

void bind_expr_building(py::module_& m) {
  m.def(
      "min",
      [](const ExprArg& a, const py::args& rest) {
        return ExprResult{folded(a, rest, [](const Expr& x, const Expr& y) { return min(x, y); })};
      },
      py::arg("a"), "The smallest of the arguments, expressions or integers.");
  m.def(
      "max",
      [](const ExprArg& a, const py::args& rest) {
        return ExprResult{folded(a, rest, [](const Expr& x, const Expr& y) { return max(x, y); })};
      },
      py::arg("a"), "The largest of the arguments, expressions or integers.");
  m.def(
      "sum", [](const std::vector<ExprArg>& terms) { return ExprResult{sum(exprs_of(terms))}; }, py::arg("terms"),
      "The sum, 0 of none.");
  m.def(
      "all_of", [](const std::vector<ExprArg>& terms) { return ExprResult{all_of(exprs_of(terms))}; },
      py::arg("conditions"), "The condition that all hold, 1 of none.");
  m.def(
      "any_of",
      [](const std::vector<ExprArg>& terms) {
        Expr out = 0;
        for (const ExprArg& e : terms) out = out || *e;
        return ExprResult{out};
      },
      py::arg("conditions"), "The condition that one holds, 0 of none.");
}

void bind_expr_choices(py::module_& m) {
  m.def(
      "ceildiv", [](const ExprArg& a, const ExprArg& b) { return ExprResult{ceildiv(*a, *b)}; }, py::arg("a"),
      py::arg("b"), "-(-a // b)");
  m.def(
      "select",
      [](const ExprArg& condition, const ExprArg& a, const ExprArg& b) {
        return ExprResult{select(*condition, *a, *b)};
      },
      py::arg("condition"), py::arg("a"), py::arg("b"), "`a` where the condition holds, else `b`.");
  m.def(
      "parse",
      [](const std::string& text, const std::vector<Variable>& variables) {
        return ExprResult{parse(text, variables)};
      },
      py::arg("text"), py::arg("variables") = std::vector<Variable>(),
      "The expression that a text says. Raises ParseError with the column at fault.\n\n"
      ">>> parse('(a*40+b)//20', [Variable('a', 0, 10), Variable('b', 0, 10)]).render()\n'(a*2)'");
}

void bind_expr_questions(py::module_& m) {
  m.def(
      "same", [](const ExprArg& a, const ExprArg& b) { return same(*a, *b); }, py::arg("a"), py::arg("b"),
      "Whether two expressions are written the same in their canonical form.");
  m.def(
      "count_nodes", [](const ExprArg& e) { return count_nodes(*e); }, py::arg("e"),
      "Operators and leaves of the text: 3 of '(a%10)'.");
  m.def(
      "unbind",
      [](const ExprArg& e) {
        const auto [plain, values] = unbind(*e);
        return std::pair{ExprResult{plain}, dict_of_values(values)};
      },
      py::arg("e"),
      "The expression with bound variables replaced by plain ones, and the values that were "
      "bound.");
  m.def("live_nodes", &live_nodes, "Nodes in the process, but for constants of small magnitude.");
}

}  // namespace

void bind_expr_functions(py::module_& m) {
  py::module_ functions = m.def_submodule("_expr", "Functions on expressions.");
  bind_proofs(m, functions);
  bind_expr_building(functions);
  bind_expr_choices(functions);
  bind_expr_questions(functions);
  const auto expand_uidx = [](const ExprArg& e) { return results_of(expand_node(*e)); };
  constexpr const char* kDoc =
      "All values as the variables named `_uidx...` run over their bounds: what unrolling a loop "
      "needs.\n\n"
      ">>> [int(v) for v in expand_node(Variable('_uidx0', 5, 7)*3)]\n[15, 18, 21]";
  m.def("expand_node", expand_uidx, py::arg("e"), kDoc);
  functions.def("expand_node", expand_uidx, py::arg("e"), kDoc);
}

}  // namespace strata::python
