// Calls of a function that are not replays (jit.h), and what is done with their results and assigned tensors. Internal
// to tensor/.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "strata/tensor/jit.h"
#include "strata/tensor/jit_watching.h"

namespace strata::jit_watching {

/// Whether all sizes are numbers.
bool is_known(const Ints& shape);
/// `shape` with plain variables in place of bound ones, whose values are appended to `values`.
Ints unbound(const Ints& shape, Values& values);
/// `shape` with other values of its bound variables. Those that are not in `values` stay.
Ints bound(const Ints& shape, const Values& values);

/// A creation number: tensors made from now on have at least this number.
std::uint64_t birth_now();
/// Copies of `ys`, each in memory of its own that a kernel writes. What they share is computed once.
std::vector<Tensor> in_own_memory(std::span<const Tensor> ys);
/// After a call, turns each tensor that it assigned to into detached memory; after a recorded call into memory that the
/// recording wrote.
void settle(const Watching& watching, const Recording* recording = nullptr);
/// @throws Error (domain) if watching.has_clash(); all tensors have their old values then
void check_clashes(const Watching& watching);
/// What is seen of a run without capturing.
struct SeenRun {
  Values values = {};                                 ///< of the variables of the arguments
  bool had_values = true;                             ///< whether they had these values in each kernel
  std::vector<std::weak_ptr<TensorState>> read = {};  ///< the tensors that the function reads from outside
};
/// Runs the function without capturing. Tensors that it reads from outside are realized, so that a capture can
/// recognize their memory. Fills the rest of `seen`.
std::vector<Tensor> first_run(const Jit::Function& function, std::span<const Tensor> inputs, SeenRun& seen);

}  // namespace strata::jit_watching
