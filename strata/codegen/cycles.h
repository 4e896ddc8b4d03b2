// predicted_cycles(): how long a kernel takes on one thread of a Machine, computed from its list of UOps. The
// prediction ranks the Opts of one kernel; explain() prints it.
//
// Three times are computed. `issue`: instructions of each loop body over the rates of their units, or the longest chain
// of dependent additions through an accumulator where no other work hides it. `caches`: bytes that each cache gets from
// the next level. A loop whose iteration fits into a cache reads each byte once; otherwise each iteration reads its
// bytes again. Bytes follow from the index expressions, which are evaluated at neighbouring iterations.
#pragma once

#include <array>
#include <optional>

#include "strata/codegen/machine.h"
#include "strata/ir/uop.h"
#include "strata/view/int.h"

namespace strata {

/// A predicted time, in cycles, by cause.
struct Cycles {
  double issue = 0;                ///< instructions and their latency
  std::array<double, 3> caches{};  ///< lines from L2, from L3, from memory
  double total() const;
  double seconds(const Machine& machine) const { return total() / (machine.gigahertz * 1e9); }
};

/// @param parallel  the trip count of the parallel loop, all of which one thread runs. Symbolic sizes count as in the
/// heuristic: their largest value, 256 at most.
Cycles predicted_cycles(const UOpGraph& list, const Machine& machine, int vector_bytes,
                        const std::optional<Int>& parallel);

}  // namespace strata
