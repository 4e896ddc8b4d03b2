// AccessUOps: LOADs and STOREs at index expressions, which are noted as accesses to prove. Internal to codegen/.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "strata/codegen/nests.h"
#include "strata/codegen/vectors.h"

namespace strata {

class AccessUOps {
 public:
  /// Appends UOps, accesses and stores to `out`.
  AccessUOps(Lowered& out, LaneOps& ops, IndexUOps& index, const Nests& nests)
      : out_(out), ops_(ops), index_(index), nests_(nests) {}

  /// The accesses that are noted next belong to the kernel's store number `store`.
  void begin_store(std::size_t store) { store_ = store; }
  /// Appends an Access to buffer `slot` (-1: scratch memory) of `size` elements; the LOADs or STOREs that are made next
  /// belong to it. `around`: expressions with the counters of loops that the access is pinned to.
  void note(int slot, bool is_store, const IndexExprs& at, const Int& size, std::vector<Expr> around);
  /// Loads at an index that may depend on lanes: one vector load where the lanes are contiguous, else a load per lane.
  UOp load(UOp pointer, const IndexExprs& at, DType dtype, bool cachable = true);
  /// Stores `value` in the innermost of `loops`, where the index is a number for all lanes, or the lanes are contiguous
  /// (`lanes`). @param streamed whether a store of whole vectors goes past the caches
  void store(UOp pointer, const IndexExprs& at, UOp value, const std::vector<UOp>& loops, const Lanes* lanes,
             bool streamed = false);

 private:
  UOp load_whole(UOp pointer, const IndexExprs& at, DType dtype, const Lanes* lanes, bool cachable);

  Lowered& out_;
  LaneOps& ops_;
  IndexUOps& index_;
  const Nests& nests_;
  std::size_t store_ = 0;
};

}  // namespace strata
