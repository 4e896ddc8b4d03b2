// best_tile(): chooses the register tile of a reduction such as a matrix product: how many outputs to compute at once,
// so that each loaded value is reused as often as the registers allow. Internal to codegen/.
//
// A tile has lanes along one axis and unrolled copies along others. One step of the reduction executes, for each
// access, one load for each copy along axes that the access depends on: a vector load where the access is contiguous
// along the lanes, a scalar load per lane where it is scattered, one scalar load where it does not depend on the lanes.
// The tile with the fewest instructions per multiplication wins.
#pragma once

#include <cstdint>
#include <vector>

namespace strata {

/// How a load inside of a reduction moves along each axis: not at all, by one element, or otherwise.
struct TileAccess {
  enum class Along : std::uint8_t { stays, contiguous, scattered };
  std::vector<Along> along;  ///< by axis
};

/// The input of best_tile().
struct TileProblem {
  std::vector<std::int64_t> sizes;  ///< of each axis; 0: unknown, the axis gets neither lanes nor copies
  std::vector<bool> is_output;      ///< by axis; false: reduced
  std::vector<bool> stores_along;   ///< by axis: whether all stores are contiguous along it
  std::vector<TileAccess> loads;
  std::int64_t lanes = 1, registers = 16;  ///< lanes of a vector register; vector registers
  bool reassociates = false;               ///< whether lanes may run along a reduced axis
};

/// The result of best_tile().
struct RegisterTile {
  int lane_axis = -1;                ///< -1: no lanes
  std::int64_t lanes = 1;            ///< lanes along lane_axis
  std::vector<std::int64_t> copies;  ///< unrolled copies along each axis; 1: none
  double loads = 0;  ///< load and arithmetic instructions per multiplication: the cost that was minimized

  std::int64_t accumulators() const {
    std::int64_t out = 1;
    for (const std::int64_t n : copies) out *= n;
    return out;
  }
};

/// The cheapest tile; on equal cost (within 0.1 %) one with contiguous stores along the lanes. @pre problem.loads is
/// not empty
RegisterTile best_tile(const TileProblem& problem);

}  // namespace strata
