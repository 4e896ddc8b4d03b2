// KernelPlan: what the ranks of this process do for one kernel of a schedule.
//
// A kernel is cut, not its operations: each rank computes a box of the result. What its loads read, less what it owns,
// is one exchange for each input. The result's sharding is stated (ShardPlacement), or that of the operands, carried
// through their index maps so that few bytes move (chosen_splits).
//
// A reduction over an axis that is split is computed in two kernels where that moves fewer bytes: each rank reduces its
// part, and the second kernel reads what the others have made. Sums and products of floats are then added in another
// order than on one rank; under DETERMINISTIC the operands are gathered instead, and each element has the bits of one
// process. All other reductions are exact in any order.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "strata/schedule/schedule.h"
#include "strata/spmd/ranks.h"

namespace strata {

/// A kernel's operand: where its elements are.
struct ShardedInput {
  Sharding sharding;
  DType dtype;
};

/// Exchanges, then a kernel on each rank.
struct KernelStep {
  /// What a kernel reads: value k < inputs is an input, others are results of steps before, in their order.
  struct Source {
    std::size_t value = 0;
    std::vector<ExchangePlan> plans;  ///< by rank here; none: read where it is
    std::int64_t missing = 0;         ///< elements that come to the first rank here
  };
  /// What a step makes.
  struct Result {
    Sharding computed;  ///< as the kernel leaves it
    DType dtype;
    std::optional<Sharding> kept;     ///< another sharding, to which the result is moved at last
    std::vector<ExchangePlan> plans;  ///< that do so, by rank here
  };
  std::vector<Source> sources;
  std::vector<Result> results;
  std::vector<std::optional<LazyOp>> kernels;   ///< by rank here; nothing: the rank has no elements of the results
  std::vector<std::vector<std::size_t>> reads;  ///< by rank here: the source of each slot behind the results'
  bool is_partial = false;                      ///< whether the result is one of each rank, which the next step reduces
};

/// The steps for one kernel. The results of the last one are the kernel's outputs.
struct KernelPlan {
  std::vector<KernelStep> steps;
  std::string why;  ///< of the result's sharding, in words
};

/// A part of a CONCAT that a kernel computes: from `begin` on along `axis`; nothing: along its one axis, row-major.
struct PartOfConcat {
  std::optional<std::int64_t> axis;
  std::int64_t begin = 0;
};

/// What plan_kernel() plans.
struct KernelQuestion {
  std::shared_ptr<const Ranks> ranks;
  LazyOp kernel;                     ///< a SINK
  std::vector<Index> shapes;         ///< of the outputs, which may be other than those of the stores
  std::vector<ShardedInput> inputs;  ///< by slot behind the outputs
  /// The splits that outputs state; nothing: to be chosen.
  std::vector<std::optional<std::vector<Split>>> stated;
  std::optional<PartOfConcat> part;  ///< with one output, whose splits are stated where they are decided already
  bool is_deterministic = false;
};
/// @throws Error (budget) as chosen_splits(), Exchange; (domain) for splits that the shape does not have
KernelPlan plan_kernel(const KernelQuestion& question);

}  // namespace strata
