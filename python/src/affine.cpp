// The class AffinePrimitives: index arithmetic that is compiled once from a text and evaluated many times.
#include "strata/affine/affine.h"

#include <pybind11/numpy.h>

#include "python/src/expr_casters.h"
#include "python/src/running.h"

namespace strata::python {

namespace {

// A range, or (begin, end).
std::pair<std::int64_t, std::int64_t> domain_bounds(const py::handle& object) {
  if (PyRange_Check(object.ptr())) {
    STRATA_CHECK(object.attr("step").cast<std::int64_t>() == 1, domain, "[domain] a range of step ",
                 object.attr("step").cast<std::int64_t>(), ": the step must be 1");
    return {object.attr("start").cast<std::int64_t>(), object.attr("stop").cast<std::int64_t>()};
  }
  if (!py::isinstance<py::sequence>(object) || py::len(object) != 2)
    throw py::type_error("the domain of a name must be a range or (begin, end)");
  const auto bounds = object.cast<py::tuple>();
  return {int_of_object(bounds[0]).value(), int_of_object(bounds[1]).value()};
}

Domain domain_of(const py::dict& ranges) {
  std::vector<DomainAxis> axes;
  for (const auto& [name, values] : ranges) {
    const auto [begin, end] = domain_bounds(values);
    axes.push_back({name.cast<std::string>(), begin, end});
  }
  return Domain(std::move(axes));
}

py::dict dict_of_domain(const Domain& domain) {
  py::dict out;
  const py::object range = py::module_::import("builtins").attr("range");
  for (const DomainAxis& axis : domain.axes()) out[py::str(axis.name)] = range(axis.begin, axis.end);
  return out;
}

py::array_t<std::int64_t> filled_table(const Affine& f) {
  std::vector<py::ssize_t> shape;
  for (const DomainAxis& axis : f.domain().axes()) shape.push_back(axis.end - axis.begin);
  STRATA_CHECK(f.domain().size() <= std::int64_t{1} << 40, budget, "[fill] a table of ", f.domain().size(),
               " values is too large");
  py::array_t<std::int64_t> out(shape);
  const std::span<std::int64_t> values(out.mutable_data(), static_cast<std::size_t>(out.size()));
  {
    const Unlocked unlocked;
    f.fill(values);
  }
  return out;
}

void bind_affine_function(py::module_& m) {
  py::class_<Affine>(m, "Affine", "A compiled integer function of the names of an AffinePrimitives.")
      .def("__call__", &Affine::operator(),
           "Returns the value of the function for the current values of the names. Raises "
           "ParseError for a name without a value, DomainError for a zero divisor or a value "
           "outside its declared domain, and OverflowError for a value beyond 64 bits.")
      .def("names", &Affine::names, "The names in the text, in order of first appearance.")
      .def_property_readonly("is_linear", &Affine::is_linear,
                             "True iff the function has the form k0 + sum of k_j * name_j.")
      .def_property_readonly(
          "expr",
          [](const Affine& f) -> std::optional<ExprResult> {
            if (!f.expr()) return std::nullopt;
            return ExprResult{*f.expr()};
          },
          "The canonical form as an Expr; None unless all names have a domain that is not empty.")
      .def_property_readonly(
          "domain", [](const Affine& f) { return dict_of_domain(f.domain()); },
          "The declared domain: a dict from names to ranges.")
      .def("fill", &filled_table,
           "An int64 array of the values over the domain, with one dimension for each name, in the "
           "domain's order. Raises UndefinedError if a name has no domain; compile() requires a "
           "domain for each name.");
}

}  // namespace

void bind_affine(py::module_& m) {
  bind_affine_function(m);
  py::class_<AffinePrimitives>(m, "AffinePrimitives",
                               "A set of named integers, and the maker of functions over them from texts. Values are "
                               "exact 64-bit integers.\n\n"
                               ">>> ap = AffinePrimitives()\n"
                               ">>> affine = ap.create('i * 128 + 64')\n"
                               ">>> ap['i'] = 2\n"
                               ">>> affine()\n"
                               "320")
      .def(py::init<>())
      .def(
          "create",
          [](AffinePrimitives& ap, const std::string& text, const std::optional<py::dict>& domain) {
            return domain ? ap.create(text, domain_of(*domain)) : ap.create(text);
          },
          py::arg("text"), py::arg("domain") = py::none(),
          "Compiles the text of a function. `domain` maps a name to a range or (begin, end); each "
          "call checks that the name's value is in the domain.\n"
          "Raises ParseError with the column for bad text, and DomainError for a divisor 0, and, "
          "if all names have a domain, for a divisor that may be 0.")
      .def(
          "compile",
          [](AffinePrimitives& ap, const std::string& text, const py::dict& domain) {
            return ap.compile(text, domain_of(domain));
          },
          py::arg("text"), py::arg("domain"),
          "Compiles the text of a function, where every name must be in `domain`, as fill() "
          "requires.\n\n"
          ">>> AffinePrimitives().compile('i//4', {'i': range(8)}).fill().tolist()\n"
          "[0, 0, 0, 0, 1, 1, 1, 1]")
      .def(
          "__getitem__", [](AffinePrimitives& ap, const std::string& name) { return ap[name]; }, py::arg("name"),
          "The value of a name. A name without a value is set to 0.")
      .def(
          "__setitem__",
          [](AffinePrimitives& ap, const std::string& name, const Int& value) { ap[name] = value.value(); },
          py::arg("name"), py::arg("value"), "Sets the value of a name.");
}

}  // namespace strata::python
