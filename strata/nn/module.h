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
// Tensors of its own a module makes known in its constructor, too: as members, to which others can be assigned, or as values.
//
//   struct Scaled : nn::Module {
//     Tensor scale = Tensor::ones({1});
//     std::vector<Tensor> powers = add_list("powers", {Tensor::ones({2}), Tensor::ones({2})});   // powers.0, powers.1
//     Scaled() { add_member("scale", scale); }
//   };
//
// A module is neither copied nor moved: those around it know where it is.
#pragma once

#include <map>
#include <optional>
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

/// Whether `given` has a value for each tensor of `mine`, of its shape, and no other name but is_batch_count(); of a tensor that has
/// several names one will do. @throws Error (domain) naming what is missing or unknown, (shape) where sizes differ
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

  /// What gradients are taken by, in the order of add(), those of inner modules under "name."; each tensor once, under its first
  /// name.
  std::vector<Tensor> parameters() const;
  NamedTensors named_parameters() const;
  /// Parameters, and what else a module keeps (running means). A tensor in several places stands there under all its names.
  NamedTensors state_dict() const;
  /// `tensor` itself stands for the member of that name (also "inner.name") from now on, as where it is assigned to it:
  /// parameters() has it, and an optimiser that was made before does not. A parameter takes gradients then, unless `as_it_is`;
  /// nothing: there is none, which a bias may be.
  /// @throws Error (domain) where the module has no such member, it may not be absent, the dtype or device is another, or the
  /// tensor was computed from what takes gradients; (shape). Nothing has changed then.
  void set(std::string_view name, const std::optional<Tensor>& tensor, bool as_it_is = false);
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
  /// Several under "name.0", "name.1", ..., or "name.key".
  std::vector<Tensor> add_list(const std::string& name, std::vector<Tensor> parameters);
  std::map<std::string, Tensor> add_map(const std::string& name,
                                        std::map<std::string, Tensor> parameters);
  /// A member of the derived class, so that what is assigned to it later is seen. @pre it is there as long as the module
  void add_member(const std::string& name, Tensor& parameter);
  void add_buffer_member(const std::string& name, Tensor& buffer);
  /// One that may be absent; `shape` is what it has to have.
  void add_member(const std::string& name, std::optional<Tensor>& parameter, Ints shape);

 private:
  /// One of: a module, a member, a member that may be absent, a value.
  struct Entry {
    std::string name;
    bool is_parameter = false;
    Module* module = nullptr;
    Tensor* member = nullptr;
    std::optional<Tensor>* optional = nullptr;
    std::optional<Tensor> value = {};
    Ints shape = {};  // of what may be absent
    DType dtype = dtypes::float32;

    const Tensor* tensor() const;  // null where there is none
  };
  void check_name(const std::string& name) const;
  const Entry* find(std::string_view name) const;
  void collect(const std::string& prefix, bool with_buffers, NamedTensors& out) const;

  std::vector<Entry> entries_;
  bool is_training_ = true;
};

/// While it lives, layers that this thread makes begin with memory whose values are undefined, and draw no random numbers: what was
/// kept of others comes there next.
class NoInitialValues {
 public:
  NoInitialValues();
  ~NoInitialValues();
  NoInitialValues(const NoInitialValues&) = delete;
  NoInitialValues& operator=(const NoInitialValues&) = delete;
  static bool is_active();
};

/// The state of a module as a safetensors file, and back. @throws Error as the file's functions and load_state_dict
void save(const Module& module, const std::string& path);
void load(const Module& module, const std::string& path);

/// A tensor of an array that was read, and one to write. Realizes.
Tensor from_array(const HostArray& array);
HostArray to_array(const Tensor& tensor);

}  // namespace strata::nn
