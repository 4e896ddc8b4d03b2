// compile_kernel(): the kernel compiler up to the renderers, from a SINK of LazyOps to a verified list of UOps with
// proven accesses. Devices render the resulting Kernel to code (render/) and run it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/bounds.h"
#include "strata/codegen/cycles.h"
#include "strata/codegen/lower.h"
#include "strata/codegen/order.h"

namespace strata {

/// A compiled kernel, ready to be rendered.
struct Kernel {
  std::string name;  ///< "r_64_64_128": E (elementwise) or r (with reductions), and the sizes of the axes
  LazyOp ast;
  std::vector<Opt> opts;
  std::string axes;                 ///< KernelAxes::text() after the opts
  UOpGraph uops;                    ///< the list, verified
  std::vector<BufferUse> buffers;   ///< by slot
  std::vector<Variable> variables;  ///< the DEFINE_VARs in list order, then variables that occur only in sizes; in this
                                    ///< order a Program takes its `values`
  /// The trip count of the parallel loop, of which a call of the Program runs [begin0, end0). For a trip count of 0 the
  /// Program is called once, with [0, 0). If the target launches instances, there are no begin0 and end0, and this is
  /// the size of the launch, which has at least 1 instance.
  std::optional<Int> parallel;
  BoundsProof proof;
  /// SPLITREDUCE, SPLITSCAN, PACK and DOT: the kernels to run first. They work on the same buffers, and pass partial
  /// results or packed elements to this kernel through temporaries: the last slots of `buffers`, which the code that
  /// runs the kernel allocates.
  std::vector<std::shared_ptr<const Kernel>> before{};
  std::vector<int> temporaries{};  ///< their slots
  /// BLOCK: the temporaries of which each thread needs one of its own: a call of the Program writes them before it
  /// reads them.
  std::vector<int> scratch{};
  std::vector<std::pair<std::string, double>> times;  ///< the passes and their times in seconds
  bool contract = true;  ///< Target::contract: whether the code may fuse a product and a sum
  /// DOT of bf16: this kernel with instructions that take subnormal numbers as 0 (Target::native_of_normals); null:
  /// there is none. It may run in place of this one, on the same buffers and behind the same kernels, where
  /// are_normal() (dot.h) holds for the least elements of the two temporaries `least`.
  std::shared_ptr<const Kernel> of_normals{};
  std::vector<int> least{};  ///< their slots; empty without of_normals
  /// Of a kernel of the host (order.h): what its functions do. The kernel has no UOps then; null for all others.
  std::shared_ptr<const OrderPlan> order{};
  Cycles cycles{};  ///< predicted_cycles() of `uops`, without the kernels that run first; 0 for launched instances
};

/// Details of the compilation that a Kernel does not keep: for tools that show how a kernel came about.
struct KernelRecord {
  /// A loop counter in the indices of accesses.
  struct Counter {
    Variable variable;
    std::size_t uop;                  ///< the position in the list of its LOOP, or of the UOp that replaced the LOOP
    std::optional<std::size_t> axis;  ///< none for the loops of an ordered sum and for those that fill scratch memory
  };
  /// A load or store, with the way in which it was proven.
  struct ProvenAccess {
    Access access;  ///< NOTE: access.uops refer to a graph that no longer exists
    ProvenBy by = ProvenBy::bounds;
    std::vector<std::size_t>
        uops;  ///< the positions of its LOADs or STOREs in the list, without those that were not needed
  };
  std::optional<KernelAxes> axes;  ///< after the opts
  std::vector<Counter> counters;
  std::vector<ProvenAccess> accesses;
  std::vector<KernelRecord> before;  ///< the records of Kernel::before
};

/// Compiles `ast`, a SINK. The passes are: absorb (absorb_movement(); Kernel::ast keeps the movement ops), opts
/// (`opts`, or heuristic_opts()), split (if the first Opt makes kernels that run first), lower, bounds, linearize,
/// instances (if the target launches instances), verify. @param record if not null, is filled  @param kept as of
/// heuristic_opts()
/// @throws Error as the passes: (domain) for an illegal Opt, an access that is not proven, or a kernel that lower()
///   refuses; (shape, overflow)
Kernel compile_kernel(const LazyOp& ast, const Target& target, std::optional<std::vector<Opt>> opts = std::nullopt,
                      KernelRecord* record = nullptr, std::span<const int> kept = {});

/// The name of the kernel of `ast`, for people; not unique, and not part of any cache key.
std::string kernel_name(const LazyOp& ast);

}  // namespace strata
