// Run: one call of a model. Runs the nodes of the main graph in order; operators that run graphs push a frame, so
// nothing recurses. A node whose inputs are all on the host, and whose outputs are small, is computed on the host.
#pragma once

#include <memory>
#include <vector>

#include "strata/onnx/control.h"
#include "strata/onnx/model.h"

namespace strata::onnx {

/// The most elements of an output that is computed on the host.
inline constexpr std::int64_t kFoldedElements = 4096;

/// One call of a model.
class Run {
 public:
  /// @param constants by graph, the values of its initializers
  /// @param tracked slots whose tensors get gradients
  /// @param values by slot: inputs and weights of the main graph are there
  Run(const Definition& model, const std::vector<std::vector<Datum>>& constants, const LoadOptions& options,
      const std::vector<int>& tracked, std::vector<Datum> values, const Model::Observer& observe);

  /// The outputs of the main graph.
  std::vector<Datum> run();

 private:
  struct Frame {
    int graph = 0;
    std::size_t node = 0;
    std::unique_ptr<Control> control;  ///< of the node, while its graphs run
    std::unique_ptr<Node> own;         ///< the node with the attributes of the function's call put in
    const Node* caller = nullptr;      ///< of a function's body: the call
  };

  void step();
  void start_node(Frame& frame);
  void advance(Frame& frame);
  void finish(Frame& frame, const Node& node, Results results);
  void enter(const Step& step, const Node* caller);
  std::vector<Datum> outputs_of(const Graph& graph) const;
  Results call(const Node& node, const std::vector<Datum>& inputs) const;
  void check_sizes(const Results& results) const;
  const Node& node_at(const Frame& frame) const;
  Datum& at(int slot) { return values_[static_cast<std::size_t>(slot)]; }

  const Definition& model_;
  const std::vector<std::vector<Datum>>& constants_;
  const LoadOptions& options_;
  std::vector<bool> is_tracked_;
  std::vector<Datum> values_;
  std::vector<Frame> frames_;
  const Model::Observer& observe_;
  Generator generator_;
  std::int64_t steps_ = 0;
};

/// Computes the tensors among the values, so that a loop's graph does not grow with its steps.
void realize_all(const std::vector<Datum>& values);

}  // namespace strata::onnx
