// Expr and Variable: exact integers with Python's operators.
#include <functional>

#include "python/src/expr_casters.h"
#include "python/src/pictures.h"
#include "python/src/running.h"
#include "python/src/tensor_object.h"
#include "strata/expr/evaluate.h"
#include "strata/expr/exact.h"
#include "strata/expr/node.h"
#include "strata/expr/render.h"

namespace strata::python {

/// The other operand of an operator. A tensor of one integer has __index__, too, but `n * t` is a tensor.
struct ExprOperand : ExprArg {};

}  // namespace strata::python

namespace pybind11::detail {

template <>
struct type_caster<strata::python::ExprOperand> {
  PYBIND11_TYPE_CASTER(strata::python::ExprOperand, const_name("Expr | int"));
  bool load(handle source, bool convert) {
    make_caster<strata::python::ExprArg> plain;
    if (strata::python::tensor_in(source.ptr()) != nullptr || !plain.load(source, convert)) return false;
    value.value = *cast_op<const strata::python::ExprArg&>(plain);
    return true;
  }
};

}  // namespace pybind11::detail

namespace strata::python {

py::object object_of_expr(const Expr& e) { return e.is_variable() ? py::cast(Variable::from(e)) : py::cast(e); }

py::dict dict_of_values(const Values& values) {
  py::dict out;
  for (const auto& [variable, value] : values) out[py::cast(variable)] = value;
  return out;
}

std::vector<Expr> exprs_of(const std::vector<ExprArg>& arguments) {
  std::vector<Expr> out;
  out.reserve(arguments.size());
  for (const ExprArg& e : arguments) out.push_back(*e);
  return out;
}

std::vector<ExprResult> results_of(const std::vector<Expr>& exprs) {
  std::vector<ExprResult> out;
  out.reserve(exprs.size());
  for (const Expr& e : exprs) out.push_back({e});
  return out;
}

std::string_view name_of_answer(Answer answer) {
  constexpr std::string_view kNames[] = {"yes", "no", "unknown"};
  return kNames[static_cast<std::size_t>(answer)];
}

Effort effort_of_name(std::string_view name) {
  STRATA_CHECK(name == "rules" || name == "exact", domain, "[effort] '", name, "' is neither 'rules' nor 'exact'");
  return name == "rules" ? Effort::rules : Effort::exact;
}

Values values_of_mapping(const py::dict& mapping, const std::vector<Variable>& variables) {
  Values out;
  for (const auto& [key, value] : mapping) {
    const std::int64_t number = int_of_object(value).value();
    if (py::isinstance<Variable>(key)) {
      out.emplace_back(key.cast<Variable>(), number);
    } else if (py::isinstance<py::str>(key)) {
      const auto name = key.cast<std::string>();
      for (const Variable& v : variables)
        if (v.name() == name) out.emplace_back(v, number);
    } else {
      throw py::type_error("the keys of values must be Variables or names");
    }
  }
  return out;
}

Substitution substitution_of_mapping(const py::dict& mapping) {
  Substitution out;
  for (const auto& [key, value] : mapping) out.emplace_back(*key.cast<ExprArg>(), *value.cast<ExprArg>());
  return out;
}

namespace {

// --- pickling: the nodes below an expression, sources first, as tuples ---

py::tuple state_of_node(const Node* n, const std::unordered_map<const Node*, std::size_t>& places) {
  const auto op = static_cast<int>(n->op);
  if (n->is(Op::Const)) return py::make_tuple(op, n->value());
  if (n->is(Op::Var)) {
    const VariableInfo& v = n->variable();
    return py::make_tuple(op, v.name, v.min, v.max, v.bound ? py::object(py::int_(v.value)) : py::none());
  }
  py::list parts;
  if (n->is(Op::Sum)) {
    for (const Term& t : n->terms()) parts.append(py::make_tuple(t.coefficient, places.at(t.atom)));
    return py::make_tuple(op, n->k0(), parts);
  }
  for (const Node* s : n->sources()) parts.append(places.at(s));
  return py::make_tuple(op, parts);
}

}  // namespace

py::list state_of_expr(const Expr& e) {
  py::list out;
  std::unordered_map<const Node*, std::size_t> places;
  for (const Node* n : postorder({&e, 1})) {
    out.append(state_of_node(n, places));
    places.emplace(n, places.size());
  }
  return out;
}

namespace {

Expr folded_sources(Op op, const std::vector<Expr>& src) {
  STRATA_CHECK(!src.empty(), request, "[Expr] a pickled node has no sources");
  Expr out = src[0];
  for (std::size_t k = 1; k < src.size(); ++k) {
    if (op == Op::Mul) out = out * src[k];
    if (op == Op::Min) out = min(out, src[k]);
    if (op == Op::Max) out = max(out, src[k]);
    if (op == Op::Or) out = out || src[k];
  }
  return out;
}

Expr expr_of_sources(Op op, const std::vector<Expr>& src) {
  const bool binary = op == Op::Div || op == Op::Mod || op == Op::Lt || op == Op::Eq || op == Op::Ne;
  STRATA_CHECK(!binary || src.size() == 2, request, "[Expr] a pickled node lacks a source");
  switch (op) {
    case Op::Div: return src[0] / src[1];
    case Op::Mod: return src[0] % src[1];
    case Op::Lt: return src[0] < src[1];
    case Op::Eq: return src[0] == src[1];
    case Op::Ne: return src[0] != src[1];
    case Op::And: return all_of(src);
    case Op::Select:
      STRATA_CHECK(src.size() == 3, request, "[Expr] a pickled node lacks a source");
      return select(src[0], src[1], src[2]);
    default: return folded_sources(op, src);
  }
}

Expr expr_of_state_node(const py::tuple& node, const std::vector<Expr>& made) {
  const auto op = static_cast<Op>(node[0].cast<int>());
  const auto place = [&](const py::handle& index) {
    const auto k = index.cast<std::size_t>();
    STRATA_CHECK(k < made.size(), request, "[Expr] a pickled node refers to a later one");
    return made[k];
  };
  if (op == Op::Const) return node[1].cast<std::int64_t>();
  if (op == Op::Var) {
    const Variable v(node[1].cast<std::string>(), node[2].cast<std::int64_t>(), node[3].cast<std::int64_t>());
    return node[4].is_none() ? v : v.bind(node[4].cast<std::int64_t>());
  }
  std::vector<Expr> src;
  if (op == Op::Sum) {
    src.emplace_back(node[1].cast<std::int64_t>());
    for (const py::handle term : node[2].cast<py::list>()) {
      const auto pair = term.cast<py::tuple>();
      src.push_back(place(pair[1]) * Expr(pair[0].cast<std::int64_t>()));
    }
    return sum(src);
  }
  for (const py::handle index : node[1].cast<py::list>()) src.push_back(place(index));
  return expr_of_sources(op, src);
}

}  // namespace

Expr expr_of_state(const py::list& state) {
  std::vector<Expr> made;
  for (const py::handle node : state) made.push_back(expr_of_state_node(node.cast<py::tuple>(), made));
  STRATA_CHECK(!made.empty(), request, "[Expr] the pickled expression is empty");
  return made.back();
}

namespace {

// --- operators ---

using ExprClass = py::class_<Expr>;

template <class F>
void def_expr_operator(ExprClass& c, const char* name, const F& f, const char* doc) {
  c.def(
      name, [f](const Expr& a, const ExprOperand& b) { return ExprResult{f(a, *b)}; }, py::arg("other"),
      py::is_operator(), doc);
}
template <class F>
void def_expr_reflected(ExprClass& c, const char* name, const F& f, const char* doc) {
  c.def(
      name, [f](const Expr& a, const ExprOperand& b) { return ExprResult{f(*b, a)}; }, py::arg("other"),
      py::is_operator(), doc);
}

void bind_expr_arithmetic(ExprClass& c) {
  const auto floor_div = [](const Expr& a, const Expr& b) { return a / b; };
  const auto modulus = [](const Expr& a, const Expr& b) { return a % b; };
  def_expr_operator(c, "__add__", std::plus<>(), "The sum.");
  def_expr_reflected(c, "__radd__", std::plus<>(), "The sum.");
  def_expr_operator(c, "__sub__", std::minus<>(), "The difference.");
  def_expr_reflected(c, "__rsub__", std::minus<>(), "The difference.");
  def_expr_operator(c, "__mul__", std::multiplies<>(), "The product.");
  def_expr_reflected(c, "__rmul__", std::multiplies<>(), "The product.");
  def_expr_operator(c, "__floordiv__", floor_div,
                    "Floor division. Raises DomainError if the divisor cannot be shown to exclude 0.");
  def_expr_reflected(c, "__rfloordiv__", floor_div, "Floor division, with `other` as the dividend.");
  def_expr_operator(c, "__mod__", modulus,
                    "The modulus of floor division. A nonzero result has the sign of the divisor.");
  def_expr_reflected(c, "__rmod__", modulus, "The modulus of floor division, with `other` as the dividend.");
  c.def(
      "__divmod__", [](const Expr& a, const ExprArg& b) { return std::pair{ExprResult{a / *b}, ExprResult{a % *b}}; },
      py::arg("other"), py::is_operator(), "(self // other, self % other)");
  c.def("__neg__", [](const Expr& a) { return ExprResult{-a}; }, "The negated expression.");
  c.def("__pos__", [](const Expr& a) { return ExprResult{a}; }, "The expression itself.");
}

void bind_expr_conditions(ExprClass& c) {
  def_expr_operator(c, "__lt__", std::less<>(), "The condition self < other, 0 or 1.");
  def_expr_operator(c, "__le__", std::less_equal<>(), "The condition self <= other, 0 or 1.");
  def_expr_operator(c, "__gt__", std::greater<>(), "The condition self > other, 0 or 1.");
  def_expr_operator(c, "__ge__", std::greater_equal<>(), "The condition self >= other, 0 or 1.");
  def_expr_operator(c, "__eq__", std::equal_to<>(),
                    "The condition self == other, 0 or 1. bool() of the condition works if the algebra "
                    "decides the condition.");
  def_expr_operator(c, "__ne__", std::not_equal_to<>(), "The condition self != other, 0 or 1.");
  const auto both = [](const Expr& a, const Expr& b) { return a && b; };
  const auto either = [](const Expr& a, const Expr& b) { return a || b; };
  def_expr_operator(c, "__and__", both, "The condition that both operands are nonzero, 0 or 1.");
  def_expr_reflected(c, "__rand__", both, "The condition that both operands are nonzero, 0 or 1.");
  def_expr_operator(c, "__or__", either, "The condition that at least one operand is nonzero, 0 or 1.");
  def_expr_reflected(c, "__ror__", either, "The condition that at least one operand is nonzero, 0 or 1.");
  c.def("__invert__", [](const Expr& a) { return ExprResult{!a}; }, "The condition that the expression is 0.");
  c.def(
      "__bool__", [](const Expr& a) { return static_cast<bool>(a); },
      "True for a nonzero constant, False for 0. Raises UndefinedError if the expression is "
      "not constant; use prove() for such a condition.");
}

// --- bounds, congruences and structure of an expression ---

std::int64_t known_bound(std::int64_t bound, std::int64_t none, const char* which) {
  STRATA_CHECK(bound != none, overflow, "[", which, "] no bound is known in 64 bits");
  return bound;
}

void bind_expr_facts(ExprClass& c) {
  c.def_property_readonly(
      "min", [](const Expr& e) { return known_bound(e.facts().min, kNegInf, "min"); },
      "A lower bound of the values, as tight as the rules can show.\n\n"
      ">>> (Variable('a', 0, 10)*10).min\n"
      "0");
  c.def_property_readonly(
      "max", [](const Expr& e) { return known_bound(e.facts().max, kPosInf, "max"); },
      "An upper bound of the values, as tight as the rules can show.\n\n"
      ">>> (Variable('a', 0, 10)*10).max\n"
      "100");
  c.def_property_readonly("vmin", &Expr::vmin, "The lower bound that is stored with the expression. O(1).");
  c.def_property_readonly("vmax", &Expr::vmax, "The upper bound that is stored with the expression. O(1).");
  c.def(
      "facts",
      [](const Expr& e, const std::string& effort) {
        const Effort how = effort_of_name(effort);
        const Unlocked unlocked;
        return e.facts(how);
      },
      py::arg("effort") = "rules",
      "The bounds and the congruence of the values, as Facts. With effort='exact', the facts "
      "are tight on every box of up to 16,384 points.");
  c.def_property_readonly(
      "op", [](const Expr& e) { return std::string(to_string(e.op())); },
      "The outermost operation: 'const', 'var', '+', '*', '//', '%', 'min', ...");
  c.def_property_readonly("is_constant", &Expr::is_constant, "True iff the expression is a constant.");
  c.def_property_readonly("is_variable", &Expr::is_variable, "True iff the expression is a Variable.");
  c.def_property_readonly(
      "value", [](const Expr& e) { return e.constant(); }, "The value of a constant; None for any other expression.");
  c.def_property_readonly(
      "sources", [](const Expr& e) { return results_of(sources(e)); },
      "The operands of the outermost operation; for a sum, its terms.");
  c.def(
      "vars", [](const Expr& e) { return variables(e); },
      "The variables in the canonical form, in natural order (idx2 before idx10).");
}

// --- texts ---

Notation notation_of_name(const std::string& name) {
  if (name == "c") return Notation::c;
  if (name == "python") return Notation::python;
  if (name == "latex") return Notation::latex;
  STRATA_CHECK(name == "spec", domain, "[render] '", name, "' is not one of 'spec', 'c', 'python', 'latex'");
  return Notation::spec;
}

void bind_expr_texts(ExprClass& c) {
  c.def(
      "render", [](const Expr& e, const std::string& notation) { return render(e, notation_of_name(notation)); },
      py::arg("notation") = "spec",
      "The text of the expression. `notation` is 'spec', 'c' (an expression of int64_t), "
      "'python' or 'latex'.\n\n"
      ">>> a, b = Variable('a', 0, 10), Variable('b', 0, 10)\n"
      ">>> ((a + b*10) % 10).render()\n"
      "'(a%10)'");
  c.def(
      "tree", [](const Expr& e) { return render_tree(e); },
      "The tree of ops as an indented text, one line for each node.");
  c.def("__str__", [](const Expr& e) { return e.render(); });
  c.def("__repr__", [](const Expr& e) { return detail::message("Expr('", e.render(), "')"); });
  c.def("__hash__", [](const Expr& e) { return e.hash(); });
  c.def(
      "__int__",
      [](const Expr& e) {
        STRATA_CHECK(e.is_constant(), undefined, "[int] ", e.render(), " is not a constant");
        return e.value();
      },
      "The value of a constant. Raises UndefinedError if the expression is not constant.");
  c.def(py::pickle(&state_of_expr, &expr_of_state));
  c.attr("__array_ufunc__") = py::none();  // makes NumPy scalars leave binary operators to Expr
}

// --- methods ---

void bind_expr_methods(ExprClass& c) {
  c.def(
      "simplify",
      [](const Expr& e, const std::optional<ExprArg>& assuming, const std::string& effort) {
        const Effort how = effort_of_name(effort);
        const Unlocked unlocked;
        return ExprResult{assuming ? simplify_under(e, **assuming, how) : simplify(e, how)};
      },
      py::arg("assuming") = py::none(), py::arg("effort") = "rules",
      "The simplest known form. With `assuming`, the result equals the expression where that "
      "condition holds; elsewhere its value is unspecified.\n"
      "Each expression is simplified by the rules when it is made; effort='exact' also uses "
      "tables of values.");
  c.def(
      "substitute",
      [](const Expr& e, const py::dict& map) { return ExprResult{substitute(e, substitution_of_mapping(map))}; },
      py::arg("map"),
      "The expression with each key of `map` replaced by its value, all at the same time.\n\n"
      ">>> x, y = Variable('x', 0, 9), Variable('y', 0, 9)\n"
      ">>> (x*3 + y).substitute({x: 2}).render()\n"
      "'(6+y)'");
  c.def(
      "evaluate",
      [](const Expr& e, const py::dict& values, const py::kwargs& named) {
        const std::vector<Variable> all = variables(e);
        Values given = values_of_mapping(values, all);
        for (const auto& value : values_of_mapping(named, all)) given.push_back(value);
        return evaluate(e, given);
      },
      py::arg("values") = py::dict(),
      "The value of the expression for given values of its variables: a dict by Variable or "
      "name, or keyword arguments. A bound variable has its bound value. Raises ValueError for "
      "a variable without a value.\n\n"
      ">>> (Variable('x', 0, 9)*3 + 1).evaluate(x=2)\n"
      "7");
}

void bind_expr_expansion(ExprClass& c) {
  c.def(
      "expand",
      [](const Expr& e, const std::optional<std::vector<Variable>>& unrolled) {
        return results_of(expand(e, unrolled ? *unrolled : variables(e)));
      },
      py::arg("variables") = py::none(),
      "The list of all values while `variables` (default: all variables) run over their "
      "bounds, the last variable fastest. At most 2**20 values.\n\n"
      ">>> [int(v) for v in (Variable('i', 0, 2)*3).expand()]\n"
      "[0, 3, 6]");
}

void bind_facts_class(py::module_& m) {
  py::class_<Facts>(m, "Facts", "Properties that hold for every value of an expression.")
      .def_readonly("min", &Facts::min, "The lower bound.")
      .def_readonly("max", &Facts::max, "The upper bound.")
      .def_readonly("modulus", &Facts::modulus,
                    "The modulus: value == residue (mod modulus) for every value. 0 for a constant.")
      .def_readonly("residue", &Facts::residue, "The residue, in [0, modulus), or the value of a constant.")
      .def_readonly("exact", &Facts::exact, "True iff both bounds are proven to be attained.")
      .def("__repr__", [](const Facts& f) {
        return detail::message("Facts(min=", f.min, ", max=", f.max, ", modulus=", f.modulus, ", residue=", f.residue,
                               ", exact=", f.exact ? "True" : "False", ")");
      });
}

void bind_variable_class(py::class_<Variable, Expr>& variable) {
  variable.def(py::init<std::string_view, std::int64_t, std::int64_t>(), py::arg("name"), py::arg("min"),
               py::arg("max"),
               "A variable with inclusive bounds. Raises ValueError if min > max, or if the name is not "
               "an identifier.");
  variable.def_property_readonly("name", [](const Variable& v) { return std::string(v.name()); }, "The name.");
  variable.def_property_readonly(
      "expr", [](const Variable& v) { return std::string(v.name()); },
      "The name, under the attribute name of the specification.");
  variable.def("bind", &Variable::bind, py::arg("value"),
               "The variable with a value attached. The algebra still uses the bounds; evaluate() uses "
               "`value`. Raises DomainError if `value` is outside the bounds.");
  variable.def("unbind", &Variable::unbind,
               "The variable without its value, and that value. Raises UndefinedError if no value is "
               "bound.");
  variable.def_property_readonly("bound_value", &Variable::bound_value, "The bound value, or None.");
  variable.def("__repr__", [](const Variable& v) {
    const std::optional<std::int64_t> bound = v.bound_value();
    return detail::message("Variable('", v.name(), "', ", v.min(), ", ", v.max(), ")",
                           bound ? detail::message(".bind(", *bound, ")") : std::string());
  });
  variable.def(py::pickle([](const Variable& v) { return state_of_expr(v); },
                          [](const py::list& state) { return Variable::from(expr_of_state(state)); }));
}

}  // namespace

void bind_expr(py::module_& m) {
  bind_facts_class(m);
  ExprClass expr(m, "Expr",
                 "An exact integer expression over bounded variables: immutable, canonical, hashable.\n\n"
                 "Either operand of an operator may be an integer. // and % round down. Comparisons make "
                 "conditions (0 or 1); &, | and ~ combine conditions.\n"
                 "Values are mathematical integers; a constant beyond 64 bits raises OverflowError.\n\n"
                 ">>> a, b = Variable('a', 0, 10), Variable('b', 0, 10)\n"
                 ">>> ((a*40 + b) // 20).render()\n"
                 "'(a*2)'");
  expr.def(py::init([](const ExprArg& value) { return *value; }), py::arg("value") = 0,
           "An expression: a constant for an integer; an expression is returned as it is.");
  py::class_<Variable, Expr> variable(m, "Variable",
                                      "A named integer with inclusive bounds.\n\n"
                                      ">>> a = Variable('a', 0, 10)\n"
                                      ">>> (a*10).max\n"
                                      "100\n\n"
                                      "Two Variables are the same iff their names, bounds and bound values are equal.");
  bind_expr_arithmetic(expr);
  bind_expr_conditions(expr);
  bind_expr_facts(expr);
  bind_expr_texts(expr);
  bind_expr_methods(expr);
  bind_expr_expansion(expr);
  bind_pictures(expr);
  bind_variable_class(variable);
  bind_expr_functions(m);
}

}  // namespace strata::python
