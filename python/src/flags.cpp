// strata.flags: reads and sets the flags that the environment variables STRATA_<NAME> set, permanently or for a block.
#include <variant>
#include <vector>

#include "python/src/bind.h"
#include "strata/base/flags.h"

namespace strata::python {

namespace {

using FlagValue = std::variant<std::int64_t, bool, std::string>;

/// Sets a flag, and returns its old value.
FlagValue exchange_flag(const std::string& name, const FlagValue& value) {
  const auto as = [&]<class T>(Flag<T>& flag) -> FlagValue {
    if constexpr (std::is_same_v<T, bool>) {
      if (const auto* const i = std::get_if<std::int64_t>(&value)) return flag.exchange(*i != 0);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      if (const auto* const b = std::get_if<bool>(&value)) return flag.exchange(*b ? 1 : 0);
    }
    if (const auto* const v = std::get_if<T>(&value)) return flag.exchange(*v);
    throw py::type_error("flags: " + name + " is of type " + std::string(flag.type_name()));
  };
#define STRATA_FLAG(id, type, default_value, help) \
  if (name == #id) return as(flags::id);
#include "strata/base/flags.def"
  std::string known;
  for (const FlagBase* f : flags::all()) known += (known.empty() ? "" : ", ") + std::string(f->name());
  throw py::attribute_error("flags: there is no flag " + name + ", there are " + known);
}

FlagValue flag_value(const std::string& name) {
#define STRATA_FLAG(id, type, default_value, help) \
  if (name == #id) return flags::id.get();
#include "strata/base/flags.def"
  throw py::attribute_error(name);
}

/// The context manager `with strata.flags(DEBUG=2): ...`
class FlagScope {
 public:
  explicit FlagScope(const py::kwargs& values) {
    for (const auto& [name, value] : values)
      wanted_.emplace_back(py::cast<std::string>(name), py::cast<FlagValue>(value));
  }
  void enter() {
    try {
      for (const auto& [name, value] : wanted_) before_.emplace_back(name, exchange_flag(name, value));
    } catch (const std::exception&) {
      exit();
      throw;
    }
  }
  void exit() {
    for (; !before_.empty(); before_.pop_back()) exchange_flag(before_.back().first, before_.back().second);
  }

 private:
  std::vector<std::pair<std::string, FlagValue>> wanted_, before_;
};

py::dict all_flags() {
  py::dict out;
  for (const FlagBase* f : flags::all()) out[py::str(std::string(f->name()))] = f->value_text();
  return out;
}

/// The metaclass of strata.flags. Flags are properties of the class, which pybind11's metaclass can set.
py::object flags_metaclass() {
  const auto base =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(py::detail::get_internals().default_metaclass));
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyType_Type))(
      "_FlagsType", py::make_tuple(base), py::dict());
}

/// Makes setting an unknown name an error. Called after the class is complete.
void refuse_other_names(const py::object& metaclass) {
  const py::object base = py::getattr(metaclass, "__base__");
  metaclass.attr("__setattr__") = py::cpp_function(
      [base](const py::object& cls, const std::string& name, const py::object& value) {
        if (!name.starts_with("__") && !py::dict(cls.attr("__dict__")).contains(name)) exchange_flag(name, 0);
        base.attr("__setattr__")(cls, name, value);
      },
      py::is_method(metaclass));
}

}  // namespace

void bind_flags(py::module_& m) {
  const py::object metaclass = flags_metaclass();
  py::class_<FlagScope> cls(
      m, "flags", py::metaclass(metaclass),
      R"(Sets flags of the process for a block; the environment variables STRATA_<NAME> set their initial values:

    with strata.flags(DEBUG=2, DEVICE="INTERP"):
        x.realize()

flags.all() returns the current values. strata.flags.DEBUG = 2 sets a flag permanently.)");
  cls.def(py::init<const py::kwargs&>())
      .def("__enter__",
           [](py::object self) {
             py::cast<FlagScope&>(self).enter();
             return self;
           })
      .def("__exit__", [](FlagScope& s, const py::args&) { s.exit(); })
      .def_static("all", &all_flags, "The current values of all flags: a dict from names to texts.");
  for (const FlagBase* f : flags::all()) {
    const std::string name(f->name()), help(f->help());
    cls.def_property_static(
        name.c_str(), [name](const py::object&) { return flag_value(name); },
        [name](const py::object&, const FlagValue& value) { exchange_flag(name, value); }, help.c_str());
  }
  refuse_other_names(metaclass);
}

}  // namespace strata::python
