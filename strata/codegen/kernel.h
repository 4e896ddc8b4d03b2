// From a LazyOp to a proven list of UOps: the whole of the kernel compiler in front of the renderers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "strata/codegen/bounds.h"
#include "strata/codegen/lower.h"

namespace strata {

/// A kernel, ready to be rendered.
struct Kernel {
  std::string name;  ///< "r_64_64_128": E for elements, r with reductions; sizes of the axes
  LazyOp ast;
  std::vector<Opt> opts;
  std::string axes;                 ///< KernelAxes::text() after the opts
  UOpGraph uops;                    ///< the list, verified
  std::vector<BufferUse> buffers;   ///< by slot
  std::vector<Variable> variables;  ///< its DEFINE_VARs in the order of the list, then those of sizes alone: what `values` of a Program are
  /// The range that begin0 and end0 cut; a Program with it is run once for [0, 0) too. Where the target has instances, there is no
  /// begin0 and no end0, and it is the size of the launch, of one instance at least.
  std::optional<Int> parallel;
  BoundsProof proof;
  /// SPLITREDUCE: kernels to run first, on the same buffers and on those through which they hand over, the temporaries. These
  /// are the last slots of `buffers`: whoever runs the kernel has them made.
  std::vector<std::shared_ptr<const Kernel>> before{};
  std::vector<int> temporaries{};
  std::vector<std::pair<std::string, double>> times;  ///< passes, in seconds
  bool contract = true;  ///< its target's: whether its code may fuse products into sums
};

/// What the passes knew of a kernel that it does not keep: for those who look at it.
struct KernelRecord {
  /// A variable that counts in the indices of accesses.
  struct Counter {
    Variable variable;
    std::size_t uop;                  ///< its LOOP, or what counts in its place
    std::optional<std::size_t> axis;  ///< none: of a level of an ordered sum, or of what fills scratch memory
  };
  /// A LOAD or STORE, with how it was proven.
  struct ProvenAccess {
    Access access;  ///< its UOps are those of a graph that is gone
    ProvenBy by = ProvenBy::bounds;
    std::vector<std::size_t> uops;  ///< the places of its LOADs or STOREs in the list; those that nothing needs are not there
  };
  std::optional<KernelAxes> axes;  ///< after the opts
  std::vector<Counter> counters;
  std::vector<ProvenAccess> accesses;
  std::vector<KernelRecord> before;  ///< of the kernels that run first
};

/// Runs the passes: opts (given, or the heuristic's), split (where SPLITREDUCE is the first Opt), lower, bounds, linearize,
/// instances (where the target has them), verify.
/// @param record where not null, is filled
/// @throws what they throw
Kernel compile_kernel(const LazyOp& ast, const Target& target,
                      std::optional<std::vector<Opt>> opts = std::nullopt,
                      KernelRecord* record = nullptr);

/// The name that `ast` gets: it has no part in any cache key.
std::string kernel_name(const LazyOp& ast);

}  // namespace strata
