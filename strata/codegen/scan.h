// The loops of an ASSOCIATIVE_SCAN, and its UOps: the prefixes inside of a group, and the totals in front of the group,
// which loops carry. The order is that of ir/scan_order.h. Internal to codegen/.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "strata/codegen/lower.h"
#include "strata/codegen/nests.h"
#include "strata/codegen/recurrence.h"
#include "strata/codegen/vectors.h"

namespace strata {

/// The segments of the axis of `scan`, whose last parts are a group (unrolled elements, or vectors). Of a grouped scan
/// the loops in front are over the groups of a run, the runs of a block, and the blocks; segments of fewer loops
/// follow, for what is left over. Other scans have one loop. The last segment has fewer elements than a group.
std::vector<Segment> scan_segments(const LoopAxis& axis, const LazyNode& scan);

/// The loops of axis `axis` in an output nest, innermost first; an empty LOOP is one iteration.
std::vector<UOp> loops_along(const Nest& nest, std::size_t axis);

class ScanUOps {
 public:
  /// The totals in front of a nest: of the groups since the last whole run, of the runs since the last whole block, of
  /// the blocks. Of scans in any order: the total so far. Of recurrences: the last elements, as many as factors, the
  /// last one first.
  using Totals = std::vector<UOp>;

  ScanUOps(Lowered& out, LaneOps& ops, const Target& target)
      : out_(out), ops_(ops), target_(target), recurrences_(out.graph, ops, target) {}

  /// The totals in front of the first element.
  Totals first(const LazyNode& scan);
  /// The results at the places of a group, one by one, or in lanes as vectors. `values` has the operands at these
  /// places, of a recurrence those of each factor, then those of the term, of scan_behind() first the totals in front
  /// of blocks. `loops`: loops_along() of the scan's axis. `totals` in front of the nest become those behind it.
  std::vector<UOp> results(const LazyNode& scan, std::span<const UOp> loops, std::span<const UOp> values, bool in_lanes,
                           Totals& totals);

 private:
  std::vector<UOp> prefixes(Ops op, std::vector<UOp> values, int lanes);
  UOp doubled(Ops op, UOp value, int half);
  std::vector<UOp> grouped(Ops op, std::span<const UOp> loops, std::vector<UOp> values, bool in_lanes, UOp front,
                           Totals& totals);
  std::vector<UOp> in_sequence(Ops op, std::span<const UOp> loops, std::span<const UOp> values, Totals& totals);
  std::vector<UOp> recurrence(const LazyNode& scan, std::span<const UOp> loops, std::span<const UOp> values,
                              bool in_lanes, Totals& totals);
  std::vector<UOp> one_after_another(std::span<const UOp> values, std::size_t factors, std::vector<UOp>& before);
  std::vector<UOp> in_places(std::span<const UOp> vectors, std::size_t factors, std::vector<UOp>& before);
  UOp combined(Ops op, UOp total, UOp value);
  UOp carry(UOp first, UOp loop);
  UOp carried(UOp carry, UOp next, UOp loop);

  Lowered& out_;
  LaneOps& ops_;
  const Target& target_;
  RecurrenceUOps recurrences_;
  UOp identity_;  // of the scan, a scalar
};

}  // namespace strata
