// Model: an ONNX file as a module with named inputs and outputs.
//
//   const auto model = onnx::load("resnet18.onnx");
//   const onnx::NamedValues y = (*model)({{"x", image}});
//   y[0].second.tensor().to_vector<float>();
//
// A call makes the graph of Tensors for the sizes that its inputs have, so sizes may differ from call to call. Shapes,
// constants and conditions are computed on the host meanwhile. Nothing else is computed before the outputs are read,
// except where a value decides a size or a branch. Weights of floats are the module's parameters, other weights its
// buffers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/nn/module.h"
#include "strata/onnx/definition.h"

namespace strata::onnx {

/// Pairs of name and value.
using NamedValues = std::vector<std::pair<std::string, Datum>>;

/// Options of load().
struct LoadOptions {
  /// The device that computes; null: the default device at the time of load().
  const Device* device = nullptr;
  /// Whether inputs must have the sizes that the file states; false: any sizes that the operators take.
  bool checks_sizes = true;
  /// The smallest and the largest value of symbolic sizes, by their names; equal for one size alone. Kernels are
  /// compiled once for all sizes within the bounds; memory is that of the largest ones. Other symbols are numbers in
  /// each call.
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> bounds = {};
  /// Limits of a call: an Error (budget) names the node that exceeds one of them.
  std::int64_t most_elements = std::int64_t{1} << 33;  ///< elements of one value
  std::int64_t most_steps = 10'000'000;                ///< nodes that run, those of loops counted each time
};

/// The size of examples whose size has these bounds: 4, or the bound that is next to 4.
std::int64_t example_size(const std::pair<std::int64_t, std::int64_t>& bounds);

/// A model: a function of named values, with parameters.
class Model : public nn::Module {
 public:
  /// Checks the definition, and refuses at once all operators that are missing.
  /// @throws Error as link(), and naming an initializer that does not fit; (domain) for bounds of a symbol that no
  /// input has, and for bounds that are empty or below 0
  explicit Model(Definition definition, LoadOptions options = {});
  ~Model() override;

  /// The inputs that a call gives, with their types. Inputs that the file has values for are not among them.
  const std::vector<Port>& inputs() const { return inputs_; }
  /// Inputs that a call may give in place of the file's values.
  const std::vector<Port>& optional_inputs() const { return optional_inputs_; }
  const std::vector<Port>& outputs() const;
  const Definition& definition() const { return *definition_; }
  const Device& device() const { return *options_.device; }

  /// The outputs for these inputs, in the order of outputs(). A model in evaluation, as load() returns it, records no
  /// gradients; after train() they go to the parameters. With bounds a model in evaluation computes the outputs in the
  /// call; in training, and in a function that jit() captures, the sizes of inputs are as they are given.
  /// @throws Error (domain) for a missing or unknown input, or one of another type; (shape) for one of another shape,
  ///   or of a size outside of its bounds; and what the operators throw, with the node's name
  NamedValues operator()(const NamedValues& given) const { return run(given, {}); }
  /// The inputs with bound variables (Variable::bind) for the sizes that LoadOptions::bounds names. A call does this by
  /// itself, and gives the outputs numbers for sizes again; a function that jit() captures takes tensors of bound
  /// sizes, and one capture serves all sizes. Inputs are copied.
  /// @throws Error as operator(); (shape) for a size outside of its bounds
  NamedValues bound(const NamedValues& given) const;
  /// The first output of a model with one input.
  Tensor operator()(const Tensor& x) const;
  using Observer = std::function<void(const Node& node, const std::vector<Datum>& outputs)>;
  /// The same; `observe` is called after each node with its outputs, of which most are not computed then.
  NamedValues run(const NamedValues& given, const Observer& observe) const;
  /// Tensors on device() with the type and shape of each input, filled with ones. `sizes` has the values of symbols;
  /// other symbols with bounds are their example_size(), and other sizes that are not numbers are 1.
  /// @throws Error (undefined) if an input is not a tensor of known rank
  NamedValues example_inputs(const std::map<std::string, std::int64_t>& sizes = {}) const;

 private:
  void bind(const NamedValues& given, std::vector<Datum>& values) const;
  const Port* port(std::string_view name) const;
  Tensor bound(const Tensor& x, const Port& port) const;
  std::vector<Datum> with_numbers(std::vector<Datum> results) const;

  std::unique_ptr<Definition> definition_;
  LoadOptions options_;
  std::vector<Port> inputs_, optional_inputs_;
  std::vector<std::vector<Datum>> constants_;  ///< by graph: the values of its initializers
  std::vector<int> tracked_;                   ///< slots by which the model itself takes gradients
  std::map<std::string, Variable> variables_;  ///< by symbol
};

/// The contents of a file, without a check of what its nodes need. @throws as read_definition(); (parse) if the file
/// cannot be read
Definition read_model(const std::string& path);
/// Reads the file and makes a Model, in evaluation. External data is sought in the folder of the file.
/// @throws Error as read_definition() and Model(); (parse) if the file cannot be read
std::unique_ptr<Model> load(const std::string& path, LoadOptions options = {});
/// The same for the bytes of a file; external data is refused.
std::unique_ptr<Model> parse(std::string_view bytes, LoadOptions options = {});

}  // namespace strata::onnx
