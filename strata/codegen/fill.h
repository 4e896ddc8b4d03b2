// TileFill: the loops that fill scratch memory with a tile (stage.h). Internal to codegen/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "strata/codegen/access_uops.h"
#include "strata/codegen/stage.h"

namespace strata {

class TileFill {
 public:
  /// The element of the buffer of a LOAD that a ShapeTracker has at an index.
  using Load = std::function<UOp(const LazyNode& load, const ShapeTracker& st, const Coordinates& at)>;

  TileFill(Lowered& out, const Target& target, LaneOps& ops, Nests& nests, AccessUOps& accesses, Load load)
      : out_(out), target_(target), ops_(ops), nests_(nests), accesses_(accesses), load_(std::move(load)) {}

  /// Makes the scratch memory `name` of `tile`, and the loops (inside of `around`) that fill it; its DEFINE_LOCAL.
  /// Where the lanes are far apart in the buffer and a run of other elements is contiguous there, as in the transposed
  /// copy of a matrix, squares of vectors are loaded along the run and turned over in registers.
  /// @param may_turn false where loads need a condition of their own (a GUARD, loops without iterations)
  UOp fill(const Tile& tile, const std::string& name, const std::vector<UOp>& around, bool may_turn);
  /// The lanes of the vectors that fill scratch memory.
  std::int64_t vector_lanes(DType dtype) const {
    return std::max<std::int64_t>(target_.vector_bytes / static_cast<std::int64_t>(dtype.itemsize()), 1);
  }

 private:
  /// The dimensions of a tile that are one run of contiguous elements of the buffer, `length` elements, outermost
  /// first.
  struct Run {
    std::vector<std::size_t> dims;
    std::int64_t length = 0;
    std::int64_t stride = 0;  ///< of its elements in scratch memory
  };
  Run run_of(const Tile& tile) const;
  void copy(const Tile& tile, const std::string& name, const std::vector<UOp>& around, UOp local);
  void copy_turned(const Tile& tile, const std::string& name, const std::vector<UOp>& around, UOp local,
                   const Run& run);
  /// The counter of a new loop inside of `loops`, to which the loop is appended; 0 for one iteration.
  Expr loop(const std::string& name, const Int& trip_count, std::vector<UOp>& loops);

  Lowered& out_;
  const Target& target_;
  LaneOps& ops_;
  Nests& nests_;
  AccessUOps& accesses_;
  Load load_;
};

}  // namespace strata
