// StepGraph: what a SCAN does in each of its steps. A SCAN is a loop in a graph of tensors: it begins with the initial
// state, and each step computes the next state and outputs from the state, one element of each sequence, and values
// from outside of the loop.
//
//   state[0] = initial;  for k in [0, count): (state[k + 1], outputs[k]) = step(state[k], sequences[k], captured)
//
// A SCAN node holds all results of one dtype in one dimension (bundle_of). The results of another dtype, and those that
// only gradients read, are further SCAN nodes with the same sources and the same StepGraph. The schedule runs all of
// them as one item; results that nobody reads are not stored.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// The gradients of a step, as nodes of the step's own nodes and of `by_results`.
struct StepGradient {
  std::vector<LazyOp> by_results;    ///< placeholders: the gradient by each result of floats, in their order
  std::vector<std::size_t> results;  ///< which results these are
  std::vector<std::optional<LazyOp>> by_inputs;  ///< by input of the step; nothing: 0
};

/// The graph of a step. Immutable once a SCAN refers to it.
struct StepGraph {
  /// Formal inputs, by source of the SCAN: nodes of the step that stand for the state, for the elements of sequences,
  /// and for captured values. What is below an input is no part of the step. A captured value stands for itself.
  std::vector<LazyOp> inputs;
  std::size_t states = 0;           ///< inputs[0, states) are the state
  std::size_t sequences = 0;        ///< the next inputs are elements of sequences; all further ones are captured
  std::vector<LazyOp> results;      ///< the next state, with the shapes and dtypes of the state; then the outputs
  std::optional<LazyOp> condition;  ///< a bool of one element: whether another step follows
  Int count = 0;                    ///< the number of steps; at most, with `condition` or `is_counted`
  bool is_reversed = false;         ///< step k takes and makes element count - 1 - k of the sequences
  /// The SCAN has one more source: with `condition` a bool, whether there is a first step; with `is_counted` an i64,
  /// the number of steps. Without both, each SCAN runs `count` steps.
  bool is_counted = false;
  /// Gradients keep the states alone, and compute the step again; else what is expensive in the step is kept, too.
  bool recomputes = false;
  /// How many results are the user's: the further ones are outputs that only gradients read.
  std::size_t wanted = 0;
  /// Of a step whose results have all that the gradient needs: the gradient of the wanted results, and the result that
  /// has each node's value in each step. Null: unknown.
  std::shared_ptr<const StepGradient> gradient;
  std::unordered_map<const LazyNode*, std::size_t> saved;

  std::size_t captured() const { return inputs.size() - states - sequences; }
  std::size_t outputs() const { return results.size() - states; }
  bool has_last_source() const { return condition.has_value() || is_counted; }
  /// Whether result `k` is the state behind the last step; else it is an output, with an element for each step.
  bool is_state(std::size_t k) const { return k < states; }
};

/// A result in the memory of a SCAN node.
struct BundlePart {
  std::size_t result;
  Int offset;  ///< of its first element
  Int stride;  ///< elements from one step to the next; 0 for a state
};
/// The memory of the SCAN node that has the results of one dtype: the states at multiples of 64 bytes, then a row for
/// each step with the elements of all outputs. The node of wanted i64 has the number of executed steps in front if
/// `step.condition` is set.
struct Bundle {
  std::vector<BundlePart> parts;
  Int rows;  ///< the offset of the first row
  Int row;   ///< elements of a row
  Int size;  ///< of the node
};
Bundle bundle_of(const StepGraph& step, DType dtype, bool of_saved = false);

/// Result `k` of the SCAN with this step and these sources: of the shape of the state, or (count, shape of the output).
/// @pre sources[k] has the dtype of step.inputs[k], and its shape, with the axis `count` in front for sequences
LazyOp result_of_loop(const std::shared_ptr<const StepGraph>& step, std::span<const LazyOp> sources, std::size_t k);
/// The number of steps that the SCAN executed, an i64 of shape (). @pre step->condition
LazyOp count_of_loop(const std::shared_ptr<const StepGraph>& step, std::span<const LazyOp> sources);
/// Part `k` of a bundle's memory, as of result_of_loop(), from any node of the bundle's size.
LazyOp part_of_bundle(const StepGraph& step, const Bundle& bundle, const LazyOp& node, std::size_t k);

/// Where a loop reads a source: memory of `memory`, beginning at element `offset`. Of a sequence, step k reads the
/// elements from `offset + k * stride` on.
struct LoopSource {
  LazyOp memory;
  Int offset = 0, stride = 0;
  std::optional<Scalar> constant = {};  ///< all elements have this value: the loop reads no memory of others
};
/// The source in the memory that it is a view of, where the elements of each step lie there in row-major order, so that
/// no copy is needed; else the source itself. @param is_sequence whether axis 0 is that of the steps
LoopSource loop_source(const LazyOp& source, bool is_sequence);
/// loop_source() of source `k` of a SCAN.
LoopSource loop_source(const LazyNode& scan, std::size_t k);

/// Whether the schedule gives the node memory of its own, or the node has memory.
bool has_memory(const LazyNode& n);

/// A placeholder: the value of a formal input, which exists while the loop runs. Floats are tracked.
LazyOp placeholder(DType dtype, const Ints& shape);
/// Whether the node is memory that only a running loop sets.
bool is_placeholder(const LazyNode& n);

}  // namespace strata
