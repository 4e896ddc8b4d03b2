// lower(): turns a kernel of LazyOps and its KernelAxes into a graph of UOps, by walking from each store, at each
// unrolled coordinate, down to the loads. Target describes the backend.
//
// In the walk a movement op rewrites the index expressions, a reduction opens loops, and a load ends the path. A node
// at equal coordinates becomes one UOp, so that values that do not depend on an unrolled coordinate are computed once.
// The graph has no order; linearize.h orders it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/codegen/axes.h"
#include "strata/codegen/decompose.h"
#include "strata/codegen/machine.h"
#include "strata/ir/uop.h"

namespace strata {

/// The properties of a backend, and how freely float arithmetic may be transformed.
struct Target {
  int vector_bytes = 32;       ///< size of a vector register
  int vector_registers = 16;   ///< number of vector registers
  OpSet native = basic_ops();  ///< the ops that the backend has; others are decomposed
  /// Ops that the backend has, but for subnormal numbers, which it takes and gives as 0: only kernels that run where
  /// there are none have them (Kernel::of_normals).
  OpSet native_of_normals{};
  bool contract = true;  ///< a*b + c may be rounded once (MULACC)
  /// MULACC is rounded once in the text of a kernel. False: the compiler of the text chooses what is.
  bool explicit_fma = false;
  /// Float sums and products may be combined in another order than that of ir/sum_order.h, with vectors and several
  /// accumulators.
  bool reassociate = true;
  /// A reassociated sum keeps the error bound of ir/sum_order.h. False: one accumulator per loop nest, for analysis
  /// only.
  bool bounded = true;
  /// The backend shuffles vectors in registers: lanes of two vectors become one vector in one or two instructions.
  bool shuffles = false;
  /// The most bytes of scratch memory (STAGE) of a kernel, all tiles together: they are on the stack.
  std::int64_t scratch_bytes = std::int64_t{3} << 18;
  /// The numbers of this machine, where they were measured; null: those of the table.
  std::shared_ptr<const Machine> measured = nullptr;
  /// The threads that share a parallel loop. Only what costs one thread more asks for them (SPLITSCAN).
  int threads = 1;
  bool instances = false;  ///< the iterations of the parallel loop are instances of a launch (SPECIAL)
  /// For predicted times.
  const Machine& machine() const { return measured ? *measured : machine_of(vector_bytes); }
  /// For devices that launch instances: 16-byte vectors, as their languages have, and as much scratch memory for each
  /// instance as fits beside its accumulators (WGSL allows 8 KiB for the variables of a function).
  static Target of_instances() {
    Target out;
    out.vector_bytes = 16;
    out.instances = true;
    out.scratch_bytes = 4096;
    return out;
  }
  /// The same target without transformations that change the bits of floats: kernels give the results of the
  /// interpreter, except for the errors of decomposed functions.
  Target deterministic() const {
    Target out = *this;
    out.contract = out.reassociate = false;
    return out;
  }
};

/// A load or store with its index and condition: the input of prove_bounds().
struct Access {
  int slot = 0;  ///< -1 for scratch memory
  bool is_store = false;
  Expr index, valid;  ///< over the loop variables; the access happens where `valid` holds
  Int size;           ///< elements of the buffer
  /// A condition that holds at the access: counter < size for the surrounding loops of symbolic size.
  Expr ranges = 1;
  std::size_t store = 0;       ///< the number of the kernel's store that the access belongs to
  std::vector<UOp> uops = {};  ///< its LOADs or STOREs: one, or one per lane
  bool changes = false;        ///< a load of what the next store of the iteration changes (SCATTER)
};

/// A STORE (or a pinned LOAD) and the loops that it must be in, outermost first, whether it depends on them or not.
struct PlacedStore {
  UOp store;
  std::vector<UOp> loops;
};

/// Scratch memory that is filled in each iteration of the innermost of `loops`.
struct StagedLocal {
  UOp local;
  std::vector<UOp> loops;
};

/// `loop` is directly inside of `around`. Used for output loops and levels of sums; the place of other reduction loops
/// follows from their dependences.
struct LoopInside {
  UOp loop, around;
};

/// A lowered kernel: the graph, and the constraints for prove_bounds() and linearize().
struct Lowered {
  UOpGraph graph;
  std::vector<PlacedStore> stores;  ///< in order
  std::vector<PlacedStore> pinned;  ///< LOADs that must stay in their loops, because they are in bounds only there
  std::vector<StagedLocal> staged;
  /// Accesses of one buffer: the first comes before the second.
  std::vector<std::pair<UOp, UOp>> in_order;
  std::vector<UOp> carried;  ///< the CARRIEDs: also where no store needs the value after the loop
  std::vector<LoopInside> nest;
  std::vector<Access> accesses;
  std::vector<Variable> variables;                         ///< the kernel's variables, by name
  std::vector<std::pair<Variable, std::size_t>> counters;  ///< the loop counters of axes, with the axis
  std::vector<std::pair<Variable, UOp>> loops;             ///< all loop counters, with their LOOP
  std::optional<Int> parallel;     ///< the trip count of the parallel loop, of which a call runs [begin0, end0)
  std::vector<BufferUse> buffers;  ///< by slot
};

/// Lowers `kernel` with the loops that `axes` describes.
/// @throws Error (domain) as check_order() and check_memory() (legal.h), for a STAGE that cannot be planned, and for
///   names of variables that the compiler reserves; (overflow) where an index may exceed 64 bits
Lowered lower(const LazyOp& kernel, const KernelAxes& axes, const Target& target);

}  // namespace strata
