// Run: one call of a model. Runs the nodes of the main graph in order; operators that run graphs push a frame, so
// nothing recurses. A node whose inputs are all on the host, and whose outputs are small, is computed on the host.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "strata/onnx/control.h"
#include "strata/onnx/model.h"

namespace strata::onnx {

/// The most elements of an output that is computed on the host.
inline constexpr std::int64_t kFoldedElements = 4096;

/// The deepest nesting of loops that are one node.
inline constexpr int kDeepestLoop = 16;
/// A loop of at most so many steps runs on the host if all that it reads is known there.
inline constexpr std::int64_t kFoldedSteps = 64;

/// One call of a model.
class Run final : private StepTracer {
 public:
  /// @param constants by graph, the values of its initializers
  /// @param tracked slots whose tensors get gradients
  /// @param values by slot: inputs and weights of the main graph are there
  Run(const Definition& model, const std::vector<std::vector<Datum>>& constants, const LoadOptions& options,
      const std::vector<int>& tracked, std::vector<Datum> values, const Model::Observer& observe);

  /// The outputs of the main graph.
  std::vector<Datum> run();

 private:
  class Tracing;
  struct Frame {
    int graph = 0;
    std::size_t node = 0;
    std::unique_ptr<Control> control;  ///< of the node, while its graphs run
    std::unique_ptr<Node> own;         ///< the node with the attributes of the function's call put in
    const Node* caller = nullptr;      ///< of a function's body: the call
  };

  Results trace(const Step& step, std::int64_t count, bool is_exact) override;
  std::int64_t steps_left(int graph) const override;
  bool is_known(int graph) const override;
  bool is_tracing() const override { return depth_ > 0; }
  bool& depends_on_data() override { return depends_on_data_[&node_at(frames_.back())]; }

  std::vector<Datum> run_until(std::size_t frames);
  std::optional<Results> at_once(const Frame& frame, const Node& node);
  void charge(const std::string& what);
  void observe(const Node& node, const Results& results);
  void step();
  void start_node(Frame& frame);
  void advance(Frame& frame);
  void finish(Frame& frame, const Node& node, Results results);
  void enter(const Step& step, const Node* caller);
  std::vector<Datum> outputs_of(const Graph& graph) const;
  Results call(const Node& node, const std::vector<Datum>& inputs) const;
  Call call_of(const Node& node, const std::vector<Datum>& inputs, const Device& device) const;
  void check_sizes(const Results& results) const;
  const Node& node_at(const Frame& frame) const;
  Datum& at(int slot) { return values_[static_cast<std::size_t>(slot)]; }

  const Definition& model_;
  const std::vector<std::vector<Datum>>& constants_;
  const LoadOptions& options_;
  std::vector<bool> is_tracked_;
  std::vector<Datum> values_;
  std::deque<Frame> frames_;
  const Model::Observer& observe_;
  Generator generator_;
  std::int64_t steps_ = 0;
  // While a step is traced:
  int depth_ = 0;                               ///< of nested loops
  std::int64_t weight_ = 1;                     ///< how many times each node runs
  bool is_exact_ = true;                        ///< whether it runs so often in any case
  std::vector<std::pair<Node, Results>> seen_;  ///< for the observer
  std::map<const Node*, bool> depends_on_data_;
  std::set<const Node*> by_steps_;  ///< loops that were found to be no node
};

/// Computes the tensors among the values, so that a loop's graph does not grow with its steps.
void realize_all(const std::vector<Datum>& values);

}  // namespace strata::onnx
