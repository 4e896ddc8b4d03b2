// strata.flags: what the environment sets as STRATA_<NAME>, for the length of a block.
#include <variant>
#include <vector>

#include "python/src/bind.h"
#include "strata/base/flags.h"

namespace strata::python {

namespace {

using FlagValue = std::variant<std::int64_t, bool, std::string>;

/// Puts a value in force; gives what was before.
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
  throw Error(ErrorKind::domain, "[flags] there is no flag " + name);
}

/// with strata.flags(DEBUG=2): ...
class FlagScope {
 public:
  explicit FlagScope(const py::kwargs& values) {
    for (const auto& [name, value] : values)
      wanted_.emplace_back(py::cast<std::string>(name), py::cast<FlagValue>(value));
  }
  void enter() {
    for (const auto& [name, value] : wanted_)
      before_.emplace_back(name, exchange_flag(name, value));
  }
  void exit() {
    for (; !before_.empty(); before_.pop_back())
      exchange_flag(before_.back().first, before_.back().second);
  }

 private:
  std::vector<std::pair<std::string, FlagValue>> wanted_, before_;
};

py::dict all_flags() {
  py::dict out;
  for (const FlagBase* f : flags::all()) out[py::str(std::string(f->name()))] = f->value_text();
  return out;
}

}  // namespace

void bind_flags(py::module_& m) {
  py::class_<FlagScope>(
      m, "flags",
      R"(Flags of the process, as the environment sets them by STRATA_<NAME>, for the length of a block:

    with strata.flags(DEBUG=2, DEVICE="INTERP"):
        x.realize()

flags.all() has the values in force.)")
      .def(py::init<const py::kwargs&>())
      .def("__enter__",
           [](py::object self) {
             py::cast<FlagScope&>(self).enter();
             return self;
           })
      .def("__exit__", [](FlagScope& s, const py::args&) { s.exit(); })
      .def_static("all", &all_flags, "The values in force, by name.");
}

}  // namespace strata::python
