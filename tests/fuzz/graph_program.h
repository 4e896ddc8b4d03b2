// Random programs of tensors, as data: a list of steps, each of which makes one tensor of those before.
//
//   %0 = input(; 0, 17, 1, 2, 3)        // dtype, seed of the elements, takes a gradient, shape
//   %1 = exp(%0; 0)
//   %2 = sum(%1; 1, 0)                  // axes as bits, keepdim
//   outputs %2
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "strata/tensor/tensor.h"
#include "tests/codegen/random_kernel.h"

namespace strata::oracle {

using StepArgs = std::vector<std::int64_t>;

struct GraphStep {
  std::string op;
  std::vector<std::size_t> from;  ///< steps before
  StepArgs args;
};

struct GraphProgram {
  std::vector<GraphStep> steps;
  std::vector<std::size_t> outputs;  ///< realized together
  std::int64_t n = 0;                ///< what sizes of -1 are; 0: there are none
  std::int64_t most_n = 8;           ///< the upper bound of the Variable

  /// Whether the shape of some step depends on the elements of others.
  bool depends_on_data() const;
  std::string text() const;
};

/// A kind of step. `draw` chooses arguments for operands and says whether these will do; `apply` makes the tensor.
struct GraphOp {
  using Tensors = std::span<const Tensor>;
  std::string name;
  std::size_t arity = 1;
  std::function<bool(Choices&, Tensors, StepArgs&)> draw;
  std::function<Tensor(Tensors, const StepArgs&)> apply;
};
/// Kinds that are about as frequent as one another.
struct GraphFamily {
  std::uint32_t weight = 1;
  std::vector<GraphOp> ops;
};
const std::vector<GraphFamily>& graph_families();
/// @throws Error (domain) for a name that there is not
const GraphOp& find_graph_op(const std::string& name);

// Of the families' files.
std::vector<GraphFamily> element_families();
std::vector<GraphFamily> movement_families();
std::vector<GraphFamily> reduction_families();
std::vector<GraphFamily> index_families();
std::vector<GraphFamily> gradient_families();
std::vector<GraphFamily> layer_families();

/// Sizes where they are numbers or bound: those of the run at hand.
Index sizes_of(const Tensor& x);
inline std::size_t place(std::int64_t k) { return static_cast<std::size_t>(k); }

/// The elements of `x`, again and again and as many as there is room for, in a shape.
Tensor shaped(const Tensor& x, const Ints& shape);

/// How a program is built.
struct GraphBuild {
  bool symbolic = false;                ///< sizes of -1 are a Variable that has the value n, else the number n
  bool realizes = true;                 ///< what "realize" steps say
  std::uint64_t other = 0;              ///< not 0: inputs have other elements
  std::span<const Tensor> inputs = {};  ///< where there are any: the inputs
  bool in_f64 = false;                  ///< floats are f64, and inputs no round numbers
  std::size_t moved = 0;                ///< then: this input has `by` times graph_direction() more
  double by = 0;
  /// Of what a step cannot say itself.
  static GraphBuild*& current();
};

/// The tensors of all steps, on the default device. @throws Error where a step is illegal
std::vector<Tensor> build(const GraphProgram& program, GraphBuild how);

/// Of each element of an input, how fast it moves.
double graph_direction(std::size_t element);
/// The inputs of a program; none takes gradients.
std::vector<Tensor> inputs_of(const GraphProgram& program, const GraphBuild& how);

/// Whether the arguments of an input say floats.
bool is_float_input(const StepArgs& args);

/// The program of a seed. Its graph has some 100,000 elements at most, those of all nodes together.
GraphProgram random_graph_program(std::uint64_t seed);

}  // namespace strata::oracle
