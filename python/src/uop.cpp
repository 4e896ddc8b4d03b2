// The classes UOp and UOpGraph: the instructions of a kernel, and the list that owns them.
#include "strata/ir/uop.h"

#include <algorithm>
#include <limits>
#include <span>

#include "python/src/uop_casters.h"
#include "strata/ir/uop_text.h"

namespace strata::python {

namespace {

// --- conversions between UOpArg and Python objects ---

constexpr const char* kUOpNames[] = {
#define STRATA_UOP(name, least, most, value, text) #name,
#include "strata/ir/uops.def"
};

std::vector<PyObject*> uop_members;  // the members of the enum UOps, by value; never destroyed

UOps uop_kind_of(const py::handle& object) {
  const std::string name = py::str(object);
  const std::string_view bare = std::string_view(name).starts_with("UOps.") ? std::string_view(name).substr(5) : name;
  for (std::size_t k = 0; k < std::size(kUOpNames); ++k)
    if (bare == kUOpNames[k]) return static_cast<UOps>(k);
  throw Error(ErrorKind::domain, detail::message("[UOp] there is no UOp '", name, "'"));
}

py::object object_of_uop_kind(UOps op) {
  return py::reinterpret_borrow<py::object>(uop_members[static_cast<std::size_t>(op)]);
}

struct ArgToObject {
  DType dtype;
  py::object operator()(std::monostate) const { return py::none(); }
  py::object operator()(std::int64_t number) const { return py::int_(number); }
  py::object operator()(const Scalar& value) const { return object_of_scalar(value); }
  py::object operator()(Ops op) const { return object_of_op(op); }
  py::object operator()(const Global& g) const {
    const py::object element = object_of_dtype(dtype.pointee());
    if (g.name == detail::message("data", g.slot)) return py::make_tuple(g.name, element);
    return py::make_tuple(g.name, element, g.slot);
  }
  py::object operator()(const Local& l) const { return py::make_tuple(l.name, l.size); }
  py::object operator()(const Special& s) const { return py::make_tuple(s.name, s.axis, s.size); }
  py::object operator()(const Variable& v) const { return py::cast(v); }
  py::object operator()(const LoopReduction& r) const { return py::make_tuple(object_of_op(r.op), r.loops); }
};

/// The argument of a DEFINE_GLOBAL, in one of the forms slot, "data0", ("data0", dtype) and ("name", dtype, slot).
Global global_of_object(const py::handle& object) {
  if (PyIndex_Check(object.ptr())) {
    const int slot = object.cast<int>();
    return {slot, detail::message("data", slot)};
  }
  const bool is_tuple = py::isinstance<py::tuple>(object);
  const py::tuple parts = is_tuple ? object.cast<py::tuple>() : py::make_tuple(object);
  STRATA_CHECK(!parts.empty() && parts.size() <= 3, domain,
               "[DEFINE_GLOBAL] the argument must be (name, dtype) or (name, dtype, slot)");
  const auto name = parts[0].cast<std::string>();
  if (parts.size() == 3) return {parts[2].cast<int>(), name};
  const bool usual = name.size() > 4 && name.size() < 14 && name.starts_with("data") &&
                     name.find_first_not_of("0123456789", 4) == std::string::npos;
  STRATA_CHECK(usual, domain, "[DEFINE_GLOBAL] '", name, "' does not name a slot: give (name, dtype, slot)");
  const long slot = std::stol(name.substr(4));
  STRATA_CHECK(slot <= std::numeric_limits<int>::max(), domain, "[DEFINE_GLOBAL] the slot ", slot, " is too large");
  return {static_cast<int>(slot), name};
}

/// The argument of a REDUCE, (op, number of loops). An op alone means all LOOPs at the end of the sources.
LoopReduction reduction_of_object(const py::object& object, std::span<const UOp> sources) {
  if (py::isinstance<py::tuple>(object)) {
    const auto [op, loops] = object.cast<std::pair<py::object, std::int64_t>>();
    return {op_of_object(op), loops};
  }
  const auto last = std::find_if(sources.rbegin(), sources.rend(), [](UOp s) { return s.op() != UOps::LOOP; });
  return {op_of_object(object), last - sources.rbegin()};
}

UOpArg arg_of_object(UOps op, DType dtype, const py::object& object, std::span<const UOp> sources) {
  switch (op) {
    case UOps::CONST: return scalar_of_object(object, dtype.scalar());
    case UOps::ALU: return op_of_object(object);
    case UOps::REDUCE: return reduction_of_object(object, sources);
    case UOps::DEFINE_GLOBAL: return global_of_object(object);
    case UOps::DEFINE_VAR: return object.cast<Variable>();
    case UOps::DEFINE_LOCAL: {
      const auto [name, size] = object.cast<std::pair<std::string, std::int64_t>>();
      return Local{name, size};
    }
    case UOps::SPECIAL: {
      const auto [name, axis, size] = object.cast<std::tuple<std::string, int, std::int64_t>>();
      return Special{name, axis, size};
    }
    default: break;
  }
  if (object.is_none()) return {};
  return object.cast<std::int64_t>();
}

// --- lists ---

UOpObject object_in(const UOpList& list, UOp uop) { return {list.graph, uop}; }

UOpGraph& open_list(const UOpList& list) {
  STRATA_CHECK(!list.is_frozen, domain, "[UOpGraph] the list of a compiled kernel does not change");
  return *list.graph;
}

UOpObject add_uop(const UOpList& list, const py::object& op, const py::object& dtype, const std::vector<UOpObject>& src,
                  const py::object& arg, bool cachable) {
  const UOps kind = uop_kind_of(op);
  DType type = dtype_or_none(dtype);
  const bool is_memory = kind == UOps::DEFINE_GLOBAL || kind == UOps::DEFINE_LOCAL;
  if (is_memory && !type.is_none()) type = type.pointee().pointer();
  const std::vector<UOp> sources = uops_of(src);
  return object_in(list, open_list(list).add(kind, type, sources, arg_of_object(kind, type, arg, sources), cachable));
}

UOpObject uop_at(const UOpList& list, std::int64_t k) {
  const auto size = static_cast<std::int64_t>(list.graph->size());
  if (k < -size || k >= size) throw py::index_error(detail::message("[UOpGraph] there is no UOp ", k, " of ", size));
  return object_in(list, (*list.graph)[static_cast<std::size_t>(k < 0 ? k + size : k)]);
}

using UOpListClass = py::class_<UOpList>;

void bind_uop_list_building(UOpListClass& c) {
  c.def(py::init<>(), "Creates an empty list.");
  c.def(py::init([](const UOpList& list) { return list; }), py::arg("list"),
        "Creates another handle on the same list.");
  c.def_static(
      "parse", [](const std::string& text) { return UOpList{std::make_shared<UOpGraph>(parse_uops(text)), false}; },
      py::arg("text"),
      "Reads the text that text() writes, and returns the list. Each line becomes a UOp. Raises "
      "ParseError, with line and column, for a text that cannot be read.");
  c.def("add", &add_uop, py::arg("op"), py::arg("dtype") = py::none(), py::arg("src") = std::vector<UOpObject>(),
        py::arg("arg") = py::none(), py::arg("cachable") = true,
        "Appends a UOp and returns it. With `cachable`, returns an equal UOp that was added with "
        "`cachable` before, if there is one. `op` is a member of UOps or its name, and `src` is the "
        "list of the sources. `arg` is a number for CONST, an op for ALU, (op, number of loops) for "
        "REDUCE, (name, dtype) or (name, dtype, slot) for DEFINE_GLOBAL, (name, size) for "
        "DEFINE_LOCAL, (name, axis, size) for SPECIAL, a Variable for DEFINE_VAR, and a lane for "
        "GEP. Raises DomainError for sources, dtypes or arguments that do not fit.\n\n"
        ">>> uops = UOpGraph()\n"
        ">>> uops.add('CONST', 'int32', arg=3).arg\n"
        "3");
  c.def(
      "constant",
      [](const UOpList& list, const py::object& value, const DTypeArg& dtype) {
        return object_in(list, open_list(list).constant(scalar_of_object(value, dtype)));
      },
      py::arg("value"), py::arg("dtype") = object_of_dtype(dtypes::int32),
      "Adds a CONST with the value `value`, and returns it.");
  c.def(
      "alu",
      [](const UOpList& list, const py::object& op, const py::args& operands) {
        std::vector<UOp> src;
        for (const py::handle u : operands) src.push_back(u.cast<const UOpObject&>().uop);
        return object_in(list, open_list(list).alu(op_of_object(op), src));
      },
      py::arg("op"),
      "Adds an ALU of the op `op` with the operands that follow, and returns it. The dtype is "
      "determined by the operands.");
  c.def(
      "cast",
      [](const UOpList& list, const UOpObject& value, const DTypeArg& dtype) {
        return object_in(list, open_list(list).cast(value.uop, dtype));
      },
      py::arg("value"), py::arg("dtype"),
      "Adds a CAST of `value` to `dtype`, and returns it. Returns `value` itself if it has that "
      "dtype.");
}

void bind_uop_list_reading(UOpListClass& c) {
  c.def("__len__", [](const UOpList& list) { return list.graph->size(); });
  c.def("__iter__", [](const UOpList& list) {
    py::list out;
    for (const UOp u : *list.graph) out.append(object_in(list, u));
    return py::iter(out);
  });
  c.def("__getitem__", &uop_at, py::arg("k"));
  c.def(
      "text", [](const UOpList& list) { return list.graph->text(); },
      "The list as text, one UOp a line, in the specification's columns: number, op, dtype, "
      "sources, argument.");
  c.def("__str__", [](const UOpList& list) { return list.graph->text(); });
  c.def("__repr__", [](const UOpList& list) { return detail::message("<UOpGraph of ", list.graph->size(), " UOps>"); });
  c.def("print", [](const UOpList& list) { py::print(list.graph->text(), py::arg("end") = ""); }, "Prints text().");
  c.def(
      "verify", [](const UOpList& list) { verify(*list.graph); },
      "Checks that the list is a valid program: loops are nested and closed, and each value is "
      "used in its scope. Raises DomainError, with the line of the UOp and the rule that it breaks.");
}

void bind_uop_class(py::module_& m) {
  const auto source_objects = [](const UOpObject& u) {
    py::tuple out(u.uop.src().size());
    for (std::size_t k = 0; k < u.uop.src().size(); ++k) out[k] = UOpObject{u.graph, u.uop.src(k)};
    return out;
  };
  const auto kind = [](const UOpObject& u) { return AnyObject{object_of_uop_kind(u.uop.op())}; };
  py::class_<UOpObject>(m, "UOp",
                        "An instruction of a kernel, on a single element or a vector. The object keeps its list "
                        "alive.")
      .def_property_readonly("op", kind, "The kind of the instruction: a member of UOps.")
      .def_property_readonly("uop", kind, "The same as `op`, under the specification's name.")
      .def_property_readonly(
          "dtype", [](const UOpObject& u) { return AnyObject{object_of_dtype_or_none(u.uop.dtype())}; },
          "The dtype of the value, or None if the instruction has no value.")
      .def_property_readonly("src", source_objects,
                             "The sources: a tuple of the UOps whose values the instruction takes.")
      .def_property_readonly("vin", source_objects, "The same as `src`, under the specification's name.")
      .def_property_readonly(
          "arg", [](const UOpObject& u) { return AnyObject{std::visit(ArgToObject{u.uop.dtype()}, u.uop.arg())}; },
          "The argument, in the form that UOpGraph.add() takes; None if there is none.")
      .def_property_readonly(
          "num", [](const UOpObject& u) { return u.uop.num(); }, "The index of the UOp in its list.")
      .def(
          "__eq__", [](const UOpObject& a, const UOpObject& b) { return a.uop == b.uop; }, py::arg("other"),
          py::is_operator())
      .def(
          "__ne__", [](const UOpObject& a, const UOpObject& b) { return a.uop != b.uop; }, py::arg("other"),
          py::is_operator())
      .def("__hash__", [](const UOpObject& u) { return std::hash<UOp>()(u.uop); })
      .def("__repr__", [](const UOpObject& u) {
        std::string line = line_of(u.uop);
        line.pop_back();
        return line;
      });
}

}  // namespace

std::vector<UOp> uops_of(const std::vector<UOpObject>& objects) {
  std::vector<UOp> out;
  for (const UOpObject& u : objects) out.push_back(u.uop);
  return out;
}

void bind_uops(py::module_& m) {
  bind_op_enums(m);
  const py::object kinds =
      make_enum(m, "UOps", {std::begin(kUOpNames), std::end(kUOpNames)},
                "The kinds of instructions of kernels. str() of a member is the specification's name, e.g. "
                "'UOps.LOOP'.");
  for (const char* name : kUOpNames) uop_members.push_back(py::object(kinds.attr(name)).release().ptr());
  bind_uop_class(m);
  UOpListClass list(m, "UOpGraph",
                    "A list of UOps in execution order: a UOp comes after its sources, and loops are nested.\n\n"
                    ">>> uops = UOpGraph()\n"
                    ">>> two, three = uops.constant(2.0, 'f32'), uops.constant(3.0, 'f32')\n"
                    ">>> uops.alu('ADD', two, three).num\n"
                    "2");
  bind_uop_list_building(list);
  bind_uop_list_reading(list);
  bind_lazy_op(m);
  bind_linearizer(m);
  bind_render(m);
}

}  // namespace strata::python
