// SPLITSCAN: running totals of one long row as kernels whose loops are over the blocks of ir/scan_order.h, so that
// threads can share the row: one computes the total of each block, one the totals in front of the blocks, and the last
// one the results. Their order is that of the row in one loop, so the bits are the same.
#pragma once

#include <optional>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// The kernels that replace a kernel with a split scan.
struct SplitScan {
  LazyOp totals;                 ///< stores the total of each block but a last, shorter one
  std::vector<Opt> opts;         ///< of `totals`
  LazyOp fronts;                 ///< stores the totals in front of each block, in the order of the blocks
  LazyOp rest;                   ///< the results: a scan_behind() of the fronts
  std::vector<int> temporaries;  ///< the slots of the totals and of the fronts, behind all slots of the kernel
};

/// Splits the scan along axis opt.axis.
/// @throws Error (domain) naming the Opt, and why split_refusal() refuses
SplitScan split_scan(const LazyOp& kernel, const Opt& opt, const Target& target);

/// The SPLITSCAN for a kernel with a scan of one row that is worth several threads of `target`; nothing for others.
std::optional<Opt> worthwhile_scan_split(const LazyOp& kernel, const Target& target);

}  // namespace strata
