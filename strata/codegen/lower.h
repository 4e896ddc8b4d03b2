// A kernel as a graph of UOps: each store at each of its unrolled places, walked down to the loads.
//
// A movement op changes index expressions, a reduction opens loops, a load ends the walk; views enter only through
// index(views, idxs) -> (index, valid). What is written the same at the same index is one UOp, so that whatever does
// not depend on an unrolled coordinate is there once. Nothing is ordered yet: linearize.h does that.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/codegen/axes.h"
#include "strata/codegen/decompose.h"
#include "strata/ir/uop.h"

namespace strata {

/// What code may be made of, and how freely.
struct Target {
  int vector_bytes = 32;  ///< of the registers that vectors live in
  int vector_registers = 16;
  OpSet native = basic_ops();  ///< ops that the backend has; others are decomposed
  bool contract = true;        ///< a*b + c may be rounded once (MULACC)
  /// Float sums and products may be added up in another order than ir/sum_order.h says: vectors and several accumulators,
  bool reassociate = true;
  bool bounded =
      true;  ///< but within its error; false: as the loops are, where a kernel is only looked at
  bool instances = false;  ///< iterations of the parallel loop are instances of a launch: SPECIAL
  /// For devices that launch instances: vectors are as such languages have them.
  static Target of_instances() {
    Target out;
    out.vector_bytes = 16;
    out.instances = true;
    return out;
  }
  /// Nothing that changes a float's bits: what kernels give is what the interpreter gives, up to the errors of functions.
  Target deterministic() const {
    Target out = *this;
    out.contract = out.reassociate = false;
    return out;
  }
};

/// A load or store: where it goes, under which condition. What the bounds proof is about.
struct Access {
  int slot = 0;  ///< -1 for scratch memory
  bool is_store = false;
  Expr index, valid;  ///< over the loops' variables
  Int size;           ///< elements of the buffer
  Expr ranges = 1;    ///< what holds where it is made, for symbolic sizes: counters are below them
  std::size_t store = 0;       ///< which of the kernel's stores it is, or is made for
  std::vector<UOp> uops = {};  ///< what makes it: one, or one for each lane
};

/// A STORE, and the loops that it is in, outermost first: whether it depends on them or not.
struct PlacedStore {
  UOp store;
  std::vector<UOp> loops;
};

/// Scratch memory, filled anew in each iteration of the innermost of these loops.
struct StagedLocal {
  UOp local;
  std::vector<UOp> loops;
};

/// Loops over the outputs, and in which loop each is. Reductions' loops find their place by what they depend on.
struct LoopInside {
  UOp loop, around;
};

/// A kernel that is lowered: its graph, and what there is to prove and to order.
struct Lowered {
  UOpGraph graph;
  std::vector<PlacedStore> stores;  ///< in order
  std::vector<PlacedStore> pinned;  ///< loads that stay in these loops, as they are inside of their buffers only there
  std::vector<StagedLocal> staged;
  std::vector<LoopInside> nest;
  std::vector<Access> accesses;
  std::vector<UOp> element_ops;  ///< the ALUs between elements, not those of indices; for decomposed()
  std::vector<Variable> variables;                         ///< the kernel's, in natural order
  std::vector<std::pair<Variable, std::size_t>> counters;  ///< of loops, and the axis of each
  std::vector<std::pair<Variable, UOp>> loops;             ///< every counter, and its LOOP
  std::optional<Int> parallel;  ///< iterations of the parallel loop: from begin0 to end0 of [0, parallel)
  std::vector<BufferUse> buffers;
};

/// @throws Error (domain) where the kernel reads a buffer that it writes at another place, or where `axes` asks for what
///   the target forbids; (overflow) where an index may leave 64 bits
Lowered lower(const LazyOp& kernel, const KernelAxes& axes, const Target& target);

}  // namespace strata
