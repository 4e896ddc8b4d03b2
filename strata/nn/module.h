// Module: the base class of layers and networks. A module registers its parameters, buffers and inner modules by name
// in its constructor; in return it lists them for an optimiser (parameters()), saves and loads them (state_dict(),
// save(), load()), and switches between training and evaluation (train(), eval()).
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
// A module registers a tensor of its own in one of two ways. add_member() registers a member of the class: another
// tensor may be assigned to the member later, and the module sees it. add(), add_list() and add_map() keep a handle on
// the tensor: its values can change, but the module keeps the tensor.
//
//   struct Scaled : nn::Module {
//     Tensor scale = Tensor::ones({1});
//     std::vector<Tensor> powers = add_list("powers", {Tensor::ones({2}), Tensor::ones({2})});   // powers.0, powers.1
//     Scaled() { add_member("scale", scale); }
//   };
//
// A module cannot be copied or moved: the module around it keeps a pointer to it.
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

/// Whether `name` is PyTorch's counter of batches ("num_batches_tracked"). PyTorch's batch norms save it; BatchNorm has
/// no such tensor, so loading passes over the name.
inline bool is_batch_count(std::string_view name) {
  return name == "num_batches_tracked" || name.ends_with(".num_batches_tracked");
}

/// Pairs of name and tensor, in the order in which the module registered them.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Checks that values of dtype `given` can be loaded into the tensor `name` of dtype `mine`: floats into integers, e.g.
/// the weights of a quantised layer, cannot. @throws Error (domain)
void check_dtypes(std::string_view name, DType mine, DType given);
/// Checks that `given` can be loaded into `mine`. Every tensor of `mine` needs a value of its shape; a tensor with
/// several names (a shared weight) needs a value under one of them. Names that `mine` lacks are refused, except those
/// of is_batch_count().
/// @throws Error (domain) naming the missing or unknown name, or as check_dtypes(), (shape) if shapes differ
void check_state(const NamedTensors& mine, const NamedTensors& given);
/// The tensor of that name. @pre `state` has the name
const Tensor& tensor_named(const NamedTensors& state, std::string_view name);

/// A function with named parameters, buffers and inner modules. A derived class registers them in its constructor.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  /// The parameters of this module and of its inner modules, in the order of registration. A tensor with several names
  /// (a shared weight) occurs once, so that an optimiser steps it once.
  std::vector<Tensor> parameters() const;
  /// parameters() with their names, e.g. "hidden.weight" for the weight of the inner module "hidden"; a shared one has
  /// its first name.
  NamedTensors named_parameters() const;
  /// Parameters and buffers, inner ones as "inner.name". A tensor with several names occurs under each of them. The
  /// tensors are handles on the module's own, not copies: after a step of an optimiser they have the new values.
  NamedTensors state_dict() const;
  /// Makes `tensor` the member of that name ("weight", or "inner.weight" of an inner module), like a checked assignment
  /// to the member. An optimiser that already exists keeps the old tensor. A parameter is realized and requires
  /// gradients, unless `as_it_is`. std::nullopt removes an optional member, such as a bias.
  /// @throws Error (domain) if the module has no such member, the member cannot be absent, the dtype or the device
  ///   differs, the tensor was computed from tensors that require gradients, or the member is a buffer and the tensor
  ///   requires gradients; (shape) if the shape differs. The module is then unchanged.
  void set(std::string_view name, const std::optional<Tensor>& tensor, bool as_it_is = false);
  /// Assigns the values of `state` to the tensors of the same names, each cast to the dtype and moved to the device of
  /// its target. Computes nothing. Values that need no cast and no move are shared, not copied.
  /// @throws as check_state(); the module is then unchanged
  void load_state_dict(const NamedTensors& state) const;

  /// This module, under the name "", and all inner ones, by name, e.g. "hidden" or "attention.query". A module with
  /// several names occurs once, under its first name.
  std::vector<std::pair<std::string, Module*>> named_modules();

  /// Switches this module and all inner ones to training or to evaluation. In training Dropout drops elements and
  /// BatchNorm uses the statistics of the batch. A new module is in training.
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return is_training_; }
  /// Clears the gradients of all parameters: grad() is std::nullopt then.
  void zero_grad() const;

 protected:
  /// @throws Error (domain) if the module has the name
  void check_name(const std::string& name) const;

  // All of these throw Error (domain) if the module already has the name. A tensor that they register is realized; a
  // parameter requires gradients from then on.

  /// Registers a parameter, and returns it.
  Tensor add(const std::string& name, Tensor parameter);
  /// Registers a buffer: a tensor that is in state_dict() but is not a parameter, e.g. a running mean.
  Tensor add_buffer(const std::string& name, Tensor buffer);
  /// Registers an inner module. @pre `inner` lives as long as this module
  void add(const std::string& name, Module& inner);
  /// Registers the parameters as "name.0", "name.1", ...
  std::vector<Tensor> add_list(const std::string& name, std::vector<Tensor> parameters);
  /// Registers each parameter as "name.key".
  std::map<std::string, Tensor> add_map(const std::string& name, std::map<std::string, Tensor> parameters);
  /// Registers a member of the derived class, by reference: a tensor that is assigned to the member later is the
  /// parameter.
  /// @pre the member lives as long as the module
  void add_member(const std::string& name, Tensor& parameter);
  void add_buffer_member(const std::string& name, Tensor& buffer);
  /// Registers a member that may be absent, e.g. a bias. `shape` is its required shape. @throws Error (shape) if a
  /// tensor has another one
  void add_member(const std::string& name, std::optional<Tensor>& parameter, Ints shape);
  /// Registers a buffer that may be absent, and is at first.
  void add_buffer_member(const std::string& name, std::optional<Tensor>& buffer, Ints shape, DType dtype);
  /// Makes `tensor` the member of that name, and the member a buffer from then on, whatever shape and dtype it had.
  /// @pre a member of that name is registered
  void replace_by_buffer(std::string_view name, Tensor tensor);

 private:
  /// A registered name. Exactly one of `module`, `member`, `optional` and `value` is set.
  struct Entry {
    std::string name;
    bool is_parameter = false;
    Module* module = nullptr;
    Tensor* member = nullptr;
    std::optional<Tensor>* optional = nullptr;
    std::optional<Tensor> value = {};
    Ints shape = {};                // required of an `optional`
    DType dtype = dtypes::float32;  // required of an `optional`

    const Tensor* tensor() const;  // null for a module and for an absent `optional`
  };
  const Entry* find(std::string_view name) const;
  void collect(const std::string& prefix, bool with_buffers, NamedTensors& out) const;

  std::vector<Entry> entries_;
  bool is_training_ = true;
};

/// While an object of this class lives, initialisers on this thread return tensors with undefined values and draw no
/// random numbers. Meant for a network whose values are loaded next: initial values would cost time and move the random
/// generator.
class NoInitialValues {
 public:
  NoInitialValues();
  ~NoInitialValues();
  NoInitialValues(const NoInitialValues&) = delete;
  NoInitialValues& operator=(const NoInitialValues&) = delete;
  static bool is_active();
};

/// Writes state_dict() to a safetensors file. @throws as write_safetensors()
void save(const Module& module, const std::string& path);
/// Reads a safetensors file (Placement::copied) into the module. @throws as read_safetensors() and load_state_dict()
void load(const Module& module, const std::string& path);

/// A tensor on the elements of `array`, which are shared, not copied. @pre nobody writes to the elements afterwards
Tensor from_array(const HostArray& array);
/// The elements of a tensor, in the memory of the host: the tensor's own memory if the host sees it, else a copy.
/// Realizes the tensor.
/// @throws Error (shape) if its shape is symbolic
HostArray to_array(const Tensor& tensor);

}  // namespace strata::nn
