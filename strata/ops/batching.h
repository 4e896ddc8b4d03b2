// Batching of LazyOp graphs: computes a graph for all elements of a batch at once, by a rule for each op. The basis of
// vmap() (tensor/transforms.h).
//
//   Batching all(x_placeholder, xs);        // xs: (16, 3) where the placeholder is (3,)
//   all.of(y)                               // the graph of y of each element: (16,) + y.shape()
//
// Every node that depends on a placeholder gets one more dimension, in front. A node that depends on none is the same
// for all elements and stays as it is.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/graph/lazy_op.h"
#include "strata/ops/loop.h"

namespace strata {

/// The elements of a batch that a placeholder stands for.
struct BatchedInput {
  LazyOp placeholder;
  LazyOp elements;  ///< of shape (size of the batch,) + placeholder.shape()
};

/// The movement op `n` on each of the `size` elements of `x` along its first axis. @pre is_movement(n.op())
LazyOp moved_in_all(const LazyOp& n, const Int& size, const LazyOp& x);

/// Rewrites graphs. Each node is rewritten once, also over several calls. No recursion but for loops inside of loops.
class Batching {
 public:
  /// @param operation the name for errors @param size the number of elements of the batch
  Batching(const char* operation, Int size, std::vector<BatchedInput> inputs);

  /// `root` for all elements, or nothing where it depends on no placeholder.
  /// @throws Error (domain) for a while_loop() whose condition depends on the element
  std::optional<LazyOp> of(const LazyOp& root);
  /// The same; where `root` depends on no placeholder, its elements again and again, as a view.
  LazyOp all_of(const LazyOp& root);

 private:
  using Results = std::vector<LazyOp>;

  LazyOp spread(const LazyOp& n) const;
  LazyOp made(const LazyOp& n);
  LazyOp joined(const LazyOp& n, const Results& parts) const;
  LazyOp custom(const LazyOp& n);
  LazyOp loop(const LazyOp& n);
  const ops::Loop& loop_of(const LazyOp& n);
  std::vector<bool> varying_states(const StepGraph& step, std::span<const LazyOp> sources) const;

  const char* operation_;
  Int size_;
  std::vector<BatchedInput> inputs_;
  std::vector<LazyOp> roots_;                                         // keeps the nodes of known_
  std::unordered_map<const LazyNode*, std::optional<LazyOp>> known_;  // nothing: the same for all elements
  std::deque<std::pair<LazyOp, ops::Loop>> loops_;                    // by a SCAN of the loop
};

}  // namespace strata
