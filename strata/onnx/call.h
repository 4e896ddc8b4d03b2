// Call: what an operator's function gets, which is the node, its inputs and the device. The function returns the
// node's outputs.
//
//   Results flatten(const Call& call) {
//     const Tensor x = call.x(0);
//     ...
//     return {x.reshape({front, -1})};
//   }
//
// Inputs that are known on the host (shapes, constants and what follows from them) live on the INTERP device. x() moves
// one to the device of the call; integers_of() and numbers_of() read elements where they are, so reading a shape
// compiles nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/engine/generator.h"
#include "strata/onnx/definition.h"
#include "strata/ops/operand.h"

namespace strata::onnx {

using Results = std::vector<Datum>;
using Sizes = std::vector<std::int64_t>;

/// One call of an operator's function.
class Call {
 public:
  /// @param generator null: a step of a loop is traced
  Call(const Definition& model, const Node& node, std::span<const Datum> inputs, const Device& device,
       const Generator* generator)
      : model_(model), node_(node), inputs_(inputs), device_(device), generator_(generator) {}

  const Node& node() const { return node_; }
  std::int64_t opset() const { return node_.opset; }
  const Device& device() const { return device_; }
  /// @throws Error (domain) while a step is traced, which would draw once for all steps
  Generator generator() const;

  // --- inputs ---
  std::size_t count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && !inputs_[i].is_absent(); }
  /// @throws Error (domain) if the input is absent
  const Datum& datum(std::size_t i) const;
  /// A tensor input on device().
  Tensor x(std::size_t i) const { return here(datum(i).tensor()); }
  std::optional<Tensor> maybe(std::size_t i) const { return has(i) ? std::optional(x(i)) : std::nullopt; }
  std::vector<Tensor> all() const;
  /// The elements of an input, read on the host.
  Sizes integers_of(std::size_t i) const;
  std::vector<double> numbers_of(std::size_t i) const;
  std::int64_t integer_of(std::size_t i) const;
  /// The elements of an input: expressions where they are known as such, else read on the host.
  Ints sizes_of_input(std::size_t i) const;
  double number_of(std::size_t i) const;

  // --- attributes, or their defaults in the table ---
  bool given(std::string_view name) const { return attribute(name) != nullptr; }
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  Sizes integers(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  const Datum& tensor(std::string_view name) const;
  /// The number of the graph that the attribute holds, and the graph.
  int graph(std::string_view name) const;
  const Graph& body(std::string_view name) const { return model_.graphs[static_cast<std::size_t>(graph(name))]; }

  // --- outputs ---
  std::size_t outputs() const { return node_.outputs.size(); }
  bool wants(std::size_t k) const { return k < node_.outputs.size() && !node_.outputs[k].empty(); }

  // --- tensors on device() ---
  Tensor here(const Tensor& x) const;
  Tensor full(const Ints& shape, const Number& value, DType dtype) const;
  Tensor arange(const Int& count) const;  ///< 0, 1, ...: i64
  Tensor from(const Sizes& elements, const Sizes& shape) const;
  Tensor from(const std::vector<double>& elements, const Sizes& shape, DType dtype) const;

  /// `axis` as a number in [0, rank). @throws Error (shape) for one out of range
  static std::int64_t axis_in(std::int64_t axis, std::int64_t rank);

 private:
  const Attribute* attribute(std::string_view name) const;
  const Attribute& value_of(std::string_view name, AttributeType type) const;

  const Definition& model_;
  const Node& node_;
  std::span<const Datum> inputs_;
  const Device& device_;
  const Generator* generator_;
};

/// `x` on `device`. Devices that share the host's memory share the elements; a single element that is known becomes a
/// constant of kernels.
Tensor moved(const Tensor& x, const Device& device);
/// Whether the value is known on the host: other than tensors, and tensors on INTERP that no running loop computes.
bool is_on_host(const Datum& value);
/// Realizes `x`. @throws Error (domain) where its value exists only while a loop runs
void realize_known(const Tensor& x);
/// The elements of `x` as integers, read on the host. Realizes `x`. @throws as realize_known()
Sizes read_integers(const Tensor& x);
std::vector<double> read_numbers(const Tensor& x);

}  // namespace strata::onnx
