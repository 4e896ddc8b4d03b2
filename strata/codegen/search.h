// searched(): compares the default Opts of a kernel with other lists by their predicted times (cycles.h). Internal to
// codegen/.
#pragma once

#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// Where a search pays.
struct SearchLimits {
  double least_cycles = 8'000;  ///< of a run that is searched
  double far_from_limit = 2;    ///< times the limit from which a list may be much shorter
  double much_shorter = 0.75;   ///< the share of the default list's time from which another list replaces it
  double most_uops = 8'000;     ///< of all lists that are tried: some ten milliseconds
  double cycles_of_uop = 8;     ///< and fewer for a kernel that takes less than this many cycles for each
};

/// `opts`, or a list whose predicted time is much shorter: lanes along another axis, and copies along others. Kernels
/// that take little time, or little more than their arithmetic in whole vectors, are not searched.
/// @param opts  Opts of the loops of `kernel`: KernelAxes accepts them
/// @post as of heuristic_opts()
std::vector<Opt> searched(const LazyOp& kernel, std::vector<Opt> opts, const Target& target,
                          const SearchLimits& limits = {});

}  // namespace strata
