// Modules: functions with parameters, which are found by name.
//
//   struct Net : nn::Module {
//     nn::Linear hidden{64, 32}, out{32, 10};
//     Net() { add("hidden", hidden), add("out", out); }
//     Tensor operator()(const Tensor& x) const { return out(hidden(x).relu()); }
//   };
//   Net net;
//   nn::Adam optimizer(net.parameters());
//   nn::save(net, "net.safetensors");
//
// A module is neither copied nor moved: those around it know where it is.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/nn/array_file.h"
#include "strata/tensor/tensor.h"

namespace strata::nn {

/// The number of batches, which PyTorch's batch norms keep in their state and these do not.
inline bool is_batch_count(std::string_view name) {
  return name == "num_batches_tracked" || name.ends_with(".num_batches_tracked");
}

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Whether `given` has a tensor for each name of `mine`, of its shape, and no other but is_batch_count(). @throws Error (domain) naming
/// what is missing or unknown, (shape) where sizes differ
void check_state(const NamedTensors& mine, const NamedTensors& given);
/// The tensor of a name. @pre it is there
const Tensor& tensor_named(const NamedTensors& state, std::string_view name);

/// A function with parameters and inner modules, by name. What derives from it adds them.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  /// What gradients are taken by, in the order of add(), those of inner modules under "name.".
  std::vector<Tensor> parameters() const;
  NamedTensors named_parameters() const;
  /// Parameters, and what else a module keeps (running means).
  NamedTensors state_dict() const;
  /// Takes the values of tensors by name. @throws as check_state(); nothing has changed then
  void load_state_dict(const NamedTensors& state) const;

  /// Whether dropout drops and normalisations learn; of all inner modules, too. They do at first.
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return is_training_; }
  /// Forgets all gradients.
  void zero_grad() const;

 protected:
  /// @pre the name is new; a module that is added lives as long as this one
  Tensor add(const std::string& name, Tensor parameter);
  Tensor add_buffer(const std::string& name, Tensor buffer);
  void add(const std::string& name, Module& inner);

 private:
  struct Entry {
    std::string name;
    std::vector<Tensor> tensor;  // one, or none where it is a module
    Module* module = nullptr;
    bool is_parameter = false;
  };
  void check_name(const std::string& name) const;
  void collect(const std::string& prefix, bool with_buffers, NamedTensors& out) const;

  std::vector<Entry> entries_;
  bool is_training_ = true;
};

/// The state of a module as a safetensors file, and back. @throws Error as the file's functions and load_state_dict
void save(const Module& module, const std::string& path);
void load(const Module& module, const std::string& path);

/// A tensor of an array that was read, and one to write. Realizes.
Tensor from_array(const HostArray& array);
HostArray to_array(const Tensor& tensor);

}  // namespace strata::nn
