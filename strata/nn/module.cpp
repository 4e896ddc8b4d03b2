#include "strata/nn/module.h"

#include <algorithm>

#include "strata/nn/safetensors.h"

namespace strata::nn {

void Module::check_name(const std::string& name) const {
  for (const Entry& e : entries_)
    STRATA_CHECK(e.name != name, domain, "[Module] ", name, " is there twice");
}

Tensor Module::add(const std::string& name, Tensor parameter) {
  check_name(name);
  parameter.realize();
  parameter.requires_grad(true);
  entries_.push_back({name, {parameter}, nullptr, true});
  return parameter;
}
Tensor Module::add_buffer(const std::string& name, Tensor buffer) {
  check_name(name);
  buffer.realize();
  entries_.push_back({name, {buffer}, nullptr, false});
  return buffer;
}
void Module::add(const std::string& name, Module& inner) {
  check_name(name);
  entries_.push_back({name, {}, &inner, false});
}

void Module::collect(const std::string& prefix, bool with_buffers, NamedTensors& out) const {
  for (const Entry& e : entries_) {
    if (e.module != nullptr)
      e.module->collect(detail::message(prefix, e.name, "."), with_buffers, out);
    else if (e.is_parameter || with_buffers)
      out.emplace_back(detail::message(prefix, e.name), e.tensor[0]);
  }
}

NamedTensors Module::named_parameters() const {
  NamedTensors out;
  collect("", false, out);
  return out;
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

void check_state(const NamedTensors& mine, const NamedTensors& given) {
  for (const auto& [name, tensor] : given)
    STRATA_CHECK(is_batch_count(name) || place_of_name(mine, name) != mine.end(), domain,
                 "[load_state_dict] there is no ", name);
  for (const auto& [name, tensor] : mine) {
    const auto it = place_of_name(given, name);
    STRATA_CHECK(it != given.end(), domain, "[load_state_dict] ", name, " is missing");
    STRATA_CHECK(it->second.shape() == tensor.shape(), shape, "[load_state_dict] ", name,
                 " has shape ", render(tensor.shape()), ", and is given as ",
                 render(it->second.shape()));
  }
}

const Tensor& tensor_named(const NamedTensors& state, std::string_view name) {
  return place_of_name(state, name)->second;
}

void Module::load_state_dict(const NamedTensors& state) const {
  const NamedTensors mine = state_dict();
  check_state(mine, state);
  for (const auto& [name, tensor] : mine)
    tensor.assign(tensor_named(state, name).to(tensor.device()).cast(tensor.dtype()));
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
  for (const auto& [name, tensor] : module.state_dict())
    file.tensors.emplace_back(name, to_array(tensor));
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
  STRATA_CHECK(sizes.has_value(), shape, "[to_array] the shape ", render(tensor.shape()),
               " is symbolic");
  return {tensor.dtype(), {sizes->begin(), sizes->end()}, tensor.buffer().toCPU()};
}

}  // namespace strata::nn
