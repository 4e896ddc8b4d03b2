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
  py::class_<Proof>(m, "Proof",
                    "The answer to a question about all values of the variables. bool(proof) is True iff the "
                    "answer is 'yes'.")
      .def_property_readonly(
          "answer", [](const Proof& p) { return std::string(name_of_answer(p.answer)); },
          "The answer: 'yes', 'no' or 'unknown'.")
      .def_property_readonly(
          "counterexample", [](const Proof& p) { return dict_of_values(p.counterexample); },
          "For the answer 'no', a dict from variables to values for which the claim fails.")
      .def("__bool__", [](const Proof& p) { return p.answer == Answer::yes; })
      .def("__repr__", &repr_of_proof);
  const auto prove_function = [](const ExprArg& condition, const std::optional<ExprArg>& assuming) {
    return proof_of(*condition, assuming);
  };
  constexpr const char* kProveDoc =
      "Proves that `condition` holds for all values of its variables, or for those where "
      "`assuming` holds.\n\n"
      ">>> x = Variable('x', 0, 9)\n"
      ">>> bool(prove(x*2 < 19))\n"
      "True\n"
      ">>> prove(x < 9)\n"
      "Proof('no', {Variable('x', 0, 9): 9})";
  const auto equal = [](const ExprArg& a, const ExprArg& b) {
    const Unlocked unlocked;
    return prove_equal(*a, *b);
  };
  constexpr const char* kEqualDoc =
      "Proves that two expressions are equal for all values of their variables. The "
      "counterexample has values for which they differ.";
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
      "The sum of the terms; 0 without terms.");
  m.def(
      "all_of", [](const std::vector<ExprArg>& terms) { return ExprResult{all_of(exprs_of(terms))}; },
      py::arg("conditions"), "The condition that all conditions hold; 1 without conditions.");
  m.def(
      "any_of",
      [](const std::vector<ExprArg>& terms) {
        Expr out = 0;
        for (const ExprArg& e : terms) out = out || *e;
        return ExprResult{out};
      },
      py::arg("conditions"), "The condition that at least one condition holds; 0 without conditions.");
}

void bind_expr_choices(py::module_& m) {
  m.def(
      "ceildiv", [](const ExprArg& a, const ExprArg& b) { return ExprResult{ceildiv(*a, *b)}; }, py::arg("a"),
      py::arg("b"), "a / b rounded up: -(-a // b).");
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
      "Reads the text of an expression over `variables`. Raises ParseError with the column of "
      "the error.\n\n"
      ">>> parse('(a*40+b)//20', [Variable('a', 0, 10), Variable('b', 0, 10)]).render()\n"
      "'(a*2)'");
}

void bind_expr_questions(py::module_& m) {
  m.def(
      "same", [](const ExprArg& a, const ExprArg& b) { return same(*a, *b); }, py::arg("a"), py::arg("b"),
      "True iff two expressions have the same canonical form.");
  m.def(
      "count_nodes", [](const ExprArg& e) { return count_nodes(*e); }, py::arg("e"),
      "The number of operators and leaves in the text, e.g. 3 for '(a%10)'.");
  m.def(
      "unbind",
      [](const ExprArg& e) {
        const auto [plain, values] = unbind(*e);
        return std::pair{ExprResult{plain}, dict_of_values(values)};
      },
      py::arg("e"),
      "Returns the expression with each bound variable replaced by its plain variable, and a "
      "dict of the bound values.");
  m.def("live_nodes", &live_nodes, "The number of live nodes in the process, without constants of small magnitude.");
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
      "The list of all values while the variables named `_uidx...` run over their bounds, as "
      "needed to unroll a loop.\n\n"
      ">>> [int(v) for v in expand_node(Variable('_uidx0', 5, 7)*3)]\n"
      "[15, 18, 21]";
  m.def("expand_node", expand_uidx, py::arg("e"), kDoc);
  functions.def("expand_node", expand_uidx, py::arg("e"), kDoc);
}

}  // namespace strata::python
