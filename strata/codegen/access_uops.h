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
  /// Appends UOps, accesses and stores to `out`. @param shuffles Target::shuffles
  AccessUOps(Lowered& out, LaneOps& ops, IndexUOps& index, const Nests& nests, bool shuffles)
      : out_(out), ops_(ops), index_(index), nests_(nests), shuffles_(shuffles) {}

  /// The accesses that are noted next belong to the kernel's store number `store`.
  void begin_store(std::size_t store) { store_ = store; }
  /// Appends an Access to buffer `slot` (-1: scratch memory) of `size` elements; the LOADs or STOREs that are made next
  /// belong to it. `around`: expressions with the counters of loops that the access is pinned to.
  void note(int slot, bool is_store, const IndexExprs& at, const Int& size, std::vector<Expr> around);
  /// Loads at an index that may depend on lanes: one vector load where the lanes are contiguous; as many vectors as the
  /// stride, whose lanes are chosen by shuffles, where it is at most kMostStride and the memory is not written; else a
  /// load per lane.
  UOp load(UOp pointer, const IndexExprs& at, DType dtype, bool cachable = true);
  /// Stores `value` in the innermost of `loops`, where the index is a number for all lanes, or the lanes are contiguous
  /// (`lanes`). @param streamed whether a store of whole vectors goes past the caches
  void store(UOp pointer, const IndexExprs& at, UOp value, const std::vector<UOp>& loops, const Lanes* lanes,
             bool streamed = false);

 private:
  bool is_written(UOp pointer) const;
  UOp load_strided(UOp pointer, const IndexExprs& at, DType dtype, const Lanes& lanes, std::int64_t stride,
                   bool cachable);
  UOp load_whole(UOp pointer, const IndexExprs& at, DType dtype, const Lanes* lanes, bool cachable);

  Lowered& out_;
  LaneOps& ops_;
  IndexUOps& index_;
  const Nests& nests_;
  bool shuffles_;
  std::size_t store_ = 0;
};

/// The longest stride between lanes whose elements are chosen from whole vectors.
constexpr std::int64_t kMostStride = 4;

}  // namespace strata
