#include "strata/nn/module.h"

#include <algorithm>
#include <unordered_set>

#include "strata/nn/safetensors.h"
#include "strata/tensor/access.h"

namespace strata::nn {

void Module::check_name(const std::string& name) const {
  for (const Entry& e : entries_) STRATA_CHECK(e.name != name, domain, "[Module] ", name, " is given twice");
}

namespace {

/// The tensor as a parameter: realized, and requiring gradients.
Tensor as_parameter(Tensor tensor) {
  tensor.realize();
  tensor.requires_grad(true);
  return tensor;
}
Tensor as_buffer(Tensor tensor) {
  tensor.realize();
  return tensor;
}

/// Keeps each tensor once, under its first name.
NamedTensors each_once(NamedTensors all) {
  std::unordered_set<const TensorState*> seen;
  std::erase_if(all, [&](const auto& e) { return !seen.insert(TensorAccess::state(e.second).get()).second; });
  return all;
}

thread_local int no_initial_values = 0;

}  // namespace

NoInitialValues::NoInitialValues() { ++no_initial_values; }
NoInitialValues::~NoInitialValues() { --no_initial_values; }
bool NoInitialValues::is_active() { return no_initial_values > 0; }

const Tensor* Module::Entry::tensor() const {
  if (member != nullptr) return member;
  const std::optional<Tensor>& maybe = optional != nullptr ? *optional : value;
  return maybe ? &*maybe : nullptr;
}

Tensor Module::add(const std::string& name, Tensor parameter) {
  check_name(name);
  entries_.push_back({.name = name, .is_parameter = true, .value = as_parameter(std::move(parameter))});
  return *entries_.back().value;
}
Tensor Module::add_buffer(const std::string& name, Tensor buffer) {
  check_name(name);
  entries_.push_back({.name = name, .value = as_buffer(std::move(buffer))});
  return *entries_.back().value;
}
void Module::add(const std::string& name, Module& inner) {
  check_name(name);
  entries_.push_back({.name = name, .module = &inner});
}
std::vector<Tensor> Module::add_list(const std::string& name, std::vector<Tensor> parameters) {
  for (std::size_t k = 0; k < parameters.size(); ++k) parameters[k] = add(detail::message(name, ".", k), parameters[k]);
  return parameters;
}
std::map<std::string, Tensor> Module::add_map(const std::string& name, std::map<std::string, Tensor> parameters) {
  for (auto& [key, tensor] : parameters) tensor = add(detail::message(name, ".", key), tensor);
  return parameters;
}
void Module::add_member(const std::string& name, Tensor& parameter) {
  check_name(name);
  parameter = as_parameter(parameter);
  entries_.push_back({.name = name, .is_parameter = true, .member = &parameter});
}
void Module::add_buffer_member(const std::string& name, Tensor& buffer) {
  check_name(name);
  buffer = as_buffer(buffer);
  entries_.push_back({.name = name, .member = &buffer});
}
void Module::add_member(const std::string& name, std::optional<Tensor>& parameter, Ints shape) {
  check_name(name);
  STRATA_CHECK(!parameter || parameter->shape() == shape, shape, "[Module] ", name, " is of shape ",
               render(parameter->shape()), ", not ", render(shape));
  if (parameter) parameter = as_parameter(*parameter);
  entries_.push_back({.name = name,
                      .is_parameter = true,
                      .optional = &parameter,
                      .shape = std::move(shape),
                      .dtype = parameter ? parameter->dtype() : dtypes::float32});
}

void Module::add_buffer_member(const std::string& name, std::optional<Tensor>& buffer, Ints shape, DType dtype) {
  check_name(name);
  entries_.push_back({.name = name, .optional = &buffer, .shape = std::move(shape), .dtype = dtype});
}
void Module::replace_by_buffer(std::string_view name, Tensor tensor) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  STRATA_ASSERT(entry != entries_.end() && (entry->member != nullptr || entry->optional != nullptr), "no member ",
                name);
  entry->is_parameter = false;
  if (entry->member != nullptr)
    *entry->member = as_buffer(std::move(tensor));
  else
    *entry->optional = as_buffer(std::move(tensor));
}

/// Finds a tensor's entry, also by "inner.name" in an inner module. A name with dots may also be a name of this module
/// (add_list()).
const Module::Entry* Module::find(std::string_view name) const {
  for (const Entry& e : entries_) {
    if (e.module == nullptr && e.name == name) return &e;
    if (e.module == nullptr || !name.starts_with(e.name) || name.size() <= e.name.size() || name[e.name.size()] != '.')
      continue;
    if (const Entry* inner = e.module->find(name.substr(e.name.size() + 1))) return inner;
  }
  return nullptr;
}

void Module::set(std::string_view name, const std::optional<Tensor>& tensor, bool as_it_is) {
  const Entry* const e = find(name);
  STRATA_CHECK(e != nullptr, domain, "[Module] there is no ", name);
  STRATA_CHECK(e->member != nullptr || e->optional != nullptr, domain, "[Module] ", name,
               " is not a data member: change the values of the tensor by assign()");
  if (!tensor) {
    STRATA_CHECK(e->optional != nullptr, domain, "[Module] ", name, " may not be absent");
    e->optional->reset();
    return;
  }
  const Tensor* const before = e->tensor();
  const Ints& shape = before != nullptr ? before->shape() : e->shape;
  const DType dtype = before != nullptr ? before->dtype() : e->dtype;
  STRATA_CHECK(tensor->shape() == shape, shape, "[Module] ", name, " is of shape ", render(shape), ", not ",
               render(tensor->shape()));
  STRATA_CHECK(tensor->dtype() == dtype, domain, "[Module] ", name, " is of ", dtype.name(), ", not ",
               tensor->dtype().name());
  STRATA_CHECK(before == nullptr || &tensor->device() == &before->device(), domain, "[Module] ", name, " is on ",
               before->device().name(), ", not on ", tensor->device().name());
  const bool is_leaf = TensorAccess::state(*tensor)->slot != nullptr || !tensor->requires_grad();
  STRATA_CHECK(is_leaf, domain, "[Module] ", name,
               " cannot be the result of a computation with gradients: detach() the tensor");
  STRATA_CHECK(e->is_parameter || !tensor->requires_grad(), domain, "[Module] ", name,
               " is not a parameter, but the tensor takes gradients: detach() the tensor");
  Tensor mine = *tensor;
  if (e->is_parameter && !as_it_is) mine = as_parameter(mine);
  if (e->member != nullptr)
    *e->member = std::move(mine);
  else
    *e->optional = std::move(mine);
}

void Module::collect(const std::string& prefix, bool with_buffers, NamedTensors& out) const {
  for (const Entry& e : entries_) {
    if (e.module != nullptr)
      e.module->collect(detail::message(prefix, e.name, "."), with_buffers, out);
    else if (const Tensor* const t = e.tensor(); t != nullptr && (e.is_parameter || with_buffers))
      out.emplace_back(detail::message(prefix, e.name), *t);
  }
}

NamedTensors Module::named_parameters() const {
  NamedTensors out;
  collect("", false, out);
  return each_once(std::move(out));
}
std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> out;
  for (const auto& [name, tensor] : named_parameters()) out.push_back(tensor);
  return out;
}
NamedTensors Module::state_dict() const {
  NamedTensors out;
  collect("", true, out);
  return out;
}

namespace {
NamedTensors::const_iterator place_of_name(const NamedTensors& state, std::string_view name) {
  return std::find_if(state.begin(), state.end(), [&](const auto& e) { return e.first == name; });
}
}  // namespace

void check_dtypes(std::string_view name, DType mine, DType given) {
  STRATA_CHECK(!mine.is_int() || !given.is_float(), domain, "[load_state_dict] ", name, " is of ", mine.name(),
               ", but the given tensor is of ", given.name(), ", whose numbers would lose what is behind the point");
}

void check_state(const NamedTensors& mine, const NamedTensors& given) {
  for (const auto& [name, tensor] : given)
    STRATA_CHECK(is_batch_count(name) || place_of_name(mine, name) != mine.end(), domain,
                 "[load_state_dict] there is no ", name);
  std::unordered_set<const TensorState*> found;
  for (const auto& [name, tensor] : mine)
    if (place_of_name(given, name) != given.end()) found.insert(TensorAccess::state(tensor).get());
  for (const auto& [name, tensor] : mine) {
    const auto it = place_of_name(given, name);
    STRATA_CHECK(found.contains(TensorAccess::state(tensor).get()), domain, "[load_state_dict] ", name, " is missing");
    if (it == given.end()) continue;  // given under another of its names
    STRATA_CHECK(it->second.shape() == tensor.shape(), shape, "[load_state_dict] ", name, " has shape ",
                 render(tensor.shape()), ", but the given tensor has shape ", render(it->second.shape()));
    check_dtypes(name, tensor.dtype(), it->second.dtype());
  }
}

const Tensor& tensor_named(const NamedTensors& state, std::string_view name) {
  return place_of_name(state, name)->second;
}

void Module::load_state_dict(const NamedTensors& state) const {
  const NamedTensors mine = state_dict();
  check_state(mine, state);
  for (const auto& [name, tensor] : mine)
    if (const auto given = place_of_name(state, name); given != state.end())
      tensor.assign(given->second.to(tensor.device()).cast(tensor.dtype()));
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> out{{"", this}};
  std::unordered_set<const Module*> seen{this};
  for (std::size_t k = 0; k < out.size(); ++k)
    for (const Entry& e : out[k].second->entries_)
      if (e.module != nullptr && seen.insert(e.module).second)
        out.emplace_back(detail::message(out[k].first, out[k].first.empty() ? "" : ".", e.name), e.module);
  return out;
}

void Module::train(bool on) {
  is_training_ = on;
  for (const Entry& e : entries_)
    if (e.module != nullptr) e.module->train(on);
}

void Module::zero_grad() const {
  for (const Tensor& p : parameters()) p.set_grad(std::nullopt);
}

void save(const Module& module, const std::string& path) {
  SafeTensors file;
  for (const auto& [name, tensor] : module.state_dict()) file.tensors.emplace_back(name, to_array(tensor));
  write_safetensors(path, file);
}

void load(const Module& module, const std::string& path) {
  NamedTensors state;
  for (const auto& [name, array] : read_safetensors(path, Placement::copied).tensors)
    state.emplace_back(name, from_array(array));
  module.load_state_dict(state);
}

Tensor from_array(const HostArray& array) {
  Ints shape;
  for (const std::int64_t size : array.shape) shape.push_back(size);
  return Tensor::from_buffer(array.data, shape);
}

HostArray to_array(const Tensor& tensor) {
  const std::optional<Index> sizes = numbers(tensor.shape());
  STRATA_CHECK(sizes.has_value(), shape, "[to_array] the shape ", render(tensor.shape()), " is symbolic");
  const Buffer all = tensor.buffer().toCPU();
  // The memory of a tensor that had symbolic sizes is that of the largest ones.
  const std::int64_t count = product(tensor.shape()).value();
  return {tensor.dtype(),
          {sizes->begin(), sizes->end()},
          all.size() == count ? all : Buffer::fromCPU(all.data(), count, tensor.dtype())};
}

}  // namespace strata::nn
