// Finds the modules and tensors inside a module of Python: in its attributes, also in nested lists, tuples and
// dictionaries, with names.
//
// A tensor or module in several places has several names. parameters(), train() and others use it once; state_dict()
// lists all its names. A module that contains itself would have infinitely many names, so only its first name is used.
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "python/src/modules.h"
#include "strata/tensor/access.h"

namespace strata::python {

namespace {

constexpr std::size_t kMostNames = std::size_t{1} << 20;

/// A module or tensor that was found, with its name inside the holder.
struct Inside {
  std::string name;
  py::object object;
};

py::dict attributes_of(const py::object& module) {
  const py::object d = py::getattr(module, "__dict__", py::none());
  return d.is_none() ? py::dict() : py::reinterpret_borrow<py::dict>(d);
}

bool is_container(PyObject* o) { return PyDict_Check(o) || PyList_Check(o) || PyTuple_Check(o); }

/// A list, tuple or dictionary whose items are being visited.
struct OpenContainer {
  std::string name;
  py::object container;
  py::object items;  // a list or tuple; of a dictionary the list of its (key, value) pairs
  Py_ssize_t next = 0;
};

OpenContainer opened(std::string name, const py::object& container) {
  // The items of a dictionary are copied, because str(key) may run code that changes the dictionary.
  const bool is_dict = PyDict_Check(container.ptr()) != 0;
  py::object items = is_dict ? py::object(py::list(container.attr("items")())) : container;
  return {std::move(name), container, std::move(items)};
}

/// The next item with its name; nothing at the end. NOTE: a list may change between calls.
std::optional<Inside> next_of(OpenContainer& open) {
  PyObject* const items = open.items.ptr();
  if (open.next >= PySequence_Fast_GET_SIZE(items)) return std::nullopt;
  const auto item = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(items, open.next));
  const std::string number = std::to_string(open.next++);
  if (!PyDict_Check(open.container.ptr())) return Inside{open.name + "." + number, item};
  const py::tuple pair(item);
  return Inside{open.name + "." + py::cast<std::string>(py::str(pair[0])), pair[1]};
}

/// Adds the modules and tensors of an attribute: the value itself, or those in nested containers, in order.
void add_inside(const std::string& name, const py::object& value, std::vector<Inside>& out) {
  std::vector<OpenContainer> open;
  std::unordered_set<const PyObject*> on_the_way;
  std::optional<Inside> at = Inside{name, value};
  for (;;) {
    if (at && is_container(at->object.ptr())) {
      if (on_the_way.insert(at->object.ptr()).second) open.push_back(opened(std::move(at->name), at->object));
    } else if (at && (py::isinstance<nn::Module>(at->object) || tensor_in(at->object.ptr()) != nullptr)) {
      STRATA_CHECK(out.size() < kMostNames, budget, "[Module] more than ", kMostNames, " names in ", name);
      out.push_back(std::move(*at));
    }
    while (!open.empty() && !(at = next_of(open.back()))) {
      on_the_way.erase(open.back().container.ptr());
      open.pop_back();
    }
    if (open.empty()) return;
  }
}

/// A cache of the modules and tensors in the attributes of each module.
class InsideOfModules {
 public:
  const std::vector<Inside>& of(const py::object& module) {
    auto& known = known_[module.ptr()];
    if (known == nullptr) {
      check_made(module);
      known = std::make_unique<std::vector<Inside>>();
      for (const auto& [name, value] : attributes_of(module))
        add_inside(py::cast<std::string>(name), py::reinterpret_borrow<py::object>(value), *known);
    }
    return *known;
  }
  /// Whether a module contains itself, directly or through other modules.
  bool is_in_itself(const py::object& module) {
    const auto [known, is_new] = in_itself_.try_emplace(module.ptr(), false);
    if (!is_new) return known->second;
    std::unordered_set<const PyObject*> seen;
    std::vector<py::object> open{module};
    while (!open.empty()) {
      const py::object one = open.back();
      open.pop_back();
      for (const Inside& inner : of(one)) {
        if (inner.object.is(module)) return in_itself_[module.ptr()] = true;
        if (tensor_in(inner.object.ptr()) == nullptr && seen.insert(inner.object.ptr()).second)
          open.push_back(inner.object);
      }
    }
    return false;
  }

 private:
  std::unordered_map<const PyObject*, std::unique_ptr<std::vector<Inside>>> known_;
  std::unordered_map<const PyObject*, bool> in_itself_;
};

/// The module and all modules inside it: each once, or with `all_names` under each of its names.
std::vector<FoundModule> found_in(const py::object& module, InsideOfModules& inside, bool all_names) {
  std::vector<FoundModule> out{{"", module}};
  std::unordered_set<const PyObject*> seen{module.ptr()};
  for (std::size_t k = 0; k < out.size(); ++k) {
    const py::object holder = out[k].object;  // a copy, because the vector grows
    for (const Inside& inner : inside.of(holder)) {
      if (tensor_in(inner.object.ptr()) != nullptr) continue;
      const bool is_new = seen.insert(inner.object.ptr()).second;
      if (!is_new && (!all_names || inside.is_in_itself(inner.object))) continue;
      STRATA_CHECK(out.size() < kMostNames, budget, "[Module] more than ", kMostNames, " modules");
      out.push_back({out[k].prefix + inner.name + ".", inner.object});
    }
  }
  return out;
}

bool is_buffer(const py::dict& attributes, const std::string& name) {
  return attributes.contains(kBuffers) && py::cast<bool>(attributes[kBuffers].attr("__contains__")(name));
}

/// Adds the tensors of a module itself, without those of inner modules.
void add_own(const FoundModule& found, const std::vector<Inside>& inside, bool with_buffers, nn::NamedTensors& out) {
  const auto& native = py::cast<const nn::Module&>(found.object);
  for (const auto& [name, tensor] : with_buffers ? native.state_dict() : native.named_parameters())
    out.emplace_back(found.prefix + name, tensor);
  const py::dict attributes = attributes_of(found.object);
  for (const Inside& one : inside) {
    const Tensor* const t = tensor_in(one.object.ptr());
    if (t == nullptr) continue;
    // A parameter is a leaf that requires gradients. In a list, computed tensors (losses, caches) are skipped. An
    // attribute that is a computed tensor is most likely a mistake: it counts as a parameter, and the optimiser refuses
    // it.
    const bool is_attribute = attributes.contains(one.name);
    const bool takes = is_attribute ? t->requires_grad() : TensorAccess::state(*t)->slot != nullptr;
    if (is_attribute && is_buffer(attributes, one.name) ? with_buffers : takes)
      out.emplace_back(found.prefix + one.name, *t);
  }
}

void check_names(const nn::NamedTensors& tensors) {
  std::unordered_map<std::string, const TensorState*> known;
  for (const auto& [name, tensor] : tensors) {
    const TensorState* const state = TensorAccess::state(tensor).get();
    const auto at = known.try_emplace(name, state).first;
    STRATA_CHECK(at->second == state, domain, "[Module] two tensors have the name '", name, "'");
  }
}

}  // namespace

std::vector<FoundModule> modules_in(const py::object& module) {
  InsideOfModules inside;
  return found_in(module, inside, false);
}

nn::NamedTensors tensors_of_module(const py::object& module, bool with_buffers, bool all_names) {
  InsideOfModules inside;
  nn::NamedTensors all, out;
  for (const FoundModule& found : found_in(module, inside, all_names))
    add_own(found, inside.of(found.object), with_buffers, all);
  check_names(all);
  std::unordered_set<const TensorState*> seen;
  std::unordered_set<std::string> names;
  for (auto& [name, tensor] : all)
    if (all_names ? names.insert(name).second : seen.insert(TensorAccess::state(tensor).get()).second)
      out.emplace_back(name, tensor);
  return out;
}

}  // namespace strata::python
