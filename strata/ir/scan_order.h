// The order in which ASSOCIATIVE_SCAN combines elements. The order is a function of the place along the axis alone, so
// that all devices, thread counts and loop transformations give the same bits. The interpreters and the kernel compiler
// follow the order.
//
// Sums and products of floats. Element i of the result combines
//
//   the prefix of i inside of its group of 16 elements, with
//   (the total of the blocks in front of i + the total of the runs in front of i in its block)
//       + the total of the groups in front of i in its run.
//
// A run is 64 groups, and a block 64 runs. The total of a run starts at the identity and adds the totals of its groups
// in ascending order; the total of a block adds those of its runs, and the total in front of a block those of the
// blocks. Inside of a group the prefixes double: for h = 1, 2, 4, 8 each element of the second half of each 2*h
// elements is combined with the last element of the first half. The total of a group is its last prefix. The longest
// chain of additions of an axis of n elements has 135 + n // 65536 links, which bounds the error of a running sum: (135
// + n // 65536) * 2^-24 * sum(|x|) in f32.
//
// Linear recurrences (MULACC) are computed one element after another, from zeros on: to b the products a[k]*y[t-1-k]
// are added, that of the largest k first; floats rounded once or twice, twice under DETERMINISTIC. Without
// DETERMINISTIC floats of a group may be combined by the rules of linear systems, which changes what is rounded
// (codegen/recurrence.h).
//
// Integers, and MAX and MIN, have the same result in each order.
#pragma once

#include <array>
#include <cstdint>

#include "strata/dtype/dtype.h"
#include "strata/ir/ops.h"

namespace strata {

/// The elements of a group; the groups of a run, and the runs of a block.
constexpr std::int64_t kScanGroup = 16, kScanRun = 64;
/// The lanes of the two vectors of a group: the last step of the prefixes is a broadcast then.
constexpr std::int64_t kScanLanes = 8;
/// The elements of a group, a run and a block.
constexpr std::array<std::int64_t, 3> kScanLengths = {kScanGroup, kScanGroup* kScanRun, kScanGroup* kScanRun* kScanRun};

/// True iff a scan by `op` (SUM, PROD, REDUCE_MAX, REDUCE_MIN or MULACC) has the order of groups, runs and blocks.
inline bool is_grouped_scan(Ops op, DType dtype) { return (op == Ops::SUM || op == Ops::PROD) && dtype.is_float(); }
/// The element of the group that element `place` of the group is combined with in the step of `half` elements; -1 for
/// none.
constexpr int scan_partner(int place, int half) {
  return (place & half) == 0 ? -1 : (place & ~(2 * half - 1)) + half - 1;
}

}  // namespace strata
