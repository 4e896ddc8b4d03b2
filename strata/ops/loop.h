// Loops: makes SCAN nodes of a traced step. The tensor functions scan() and while_loop() (tensor/scan.h) trace a step
// on placeholders and call make_loop(); the gradient rule of SCAN is loop_gradients() (gradient.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "strata/graph/step_graph.h"

namespace strata::ops {

/// The source `k` by which a node of a step is computed or differentiated; null beyond the last one, and below memory.
const LazyOp* source_in_step(const LazyOp* n, std::size_t k);

/// A step, and the sources of its SCAN nodes.
struct Loop {
  std::shared_ptr<const StepGraph> step;
  std::vector<LazyOp> sources;

  LazyOp result(std::size_t k) const { return result_of_loop(step, sources, k); }
};

/// Completes `step`, which has no captured inputs: whatever its results need from outside of the loop, and do not
/// compute of the state or of sequences, becomes a captured source. It is computed once, in front of the loop.
/// @param sources of the inputs of `step`  @param last the source behind all others, where step.has_last_source()
/// @param saves whether the results keep what gradients need, where a source is tracked
Loop make_loop(StepGraph step, std::vector<LazyOp> sources, const std::optional<LazyOp>& last, bool saves);

}  // namespace strata::ops
