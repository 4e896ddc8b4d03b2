// packed_tiles(): the register tiles of a reduction whose loads are packed: copied to scratch memory (STAGE), so
// that lanes are neighbours there and no load has a condition. Internal to codegen/.
//
// A tile has `vectors` vectors of lanes along one output axis and `copies` copies along another one. One step of the
// reduction makes vectors * copies multiply-adds, of which two start in a cycle, and loads each of its operands: a
// vector where the operand moves along the lanes, else one element that is broadcast. What a size leaves over is
// counted.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace strata {

/// A load inside of the reduction, by axis.
struct PackedLoad {
  std::vector<bool> moves;       ///< whether the load depends on the axis
  std::vector<bool> contiguous;  ///< whether elements along the axis are neighbours once they are packed
  std::vector<bool> unaligned;   ///< whether vectors along the axis begin anywhere: half of them cross cache lines
};

/// The input of packed_tiles().
struct PackedProblem {
  std::vector<std::int64_t> outputs;  ///< the sizes of the output axes; 0: the axis gets neither lanes nor copies
  std::vector<bool> may_have_lanes;   ///< by output axis
  std::vector<bool> stores_along;     ///< by output axis: whether all stores are contiguous along it
  double terms = 1;                   ///< the number of elements that are combined into one
  std::vector<PackedLoad> loads;
  std::int64_t lanes = 1, registers = 16;  ///< lanes of a vector register; vector registers
  double latency = 4;                      ///< cycles from a multiply-add to the next one of the same accumulator
  double across = 1.5;  ///< cycles to store an element of a vector whose lanes are not neighbours in memory
  /// Whether the last tile along the lanes has only the vectors that are left, in a nest of loops of its own; otherwise
  /// it is a whole tile, of which lanes are wasted.
  bool has_short_tiles = false;
};

/// A tile of packed_tiles().
struct PackedTile {
  int lane_axis = -1, copy_axis = -1;  ///< output axes; lane_axis -1: there is no tile, copy_axis -1: one copy
  std::int64_t vectors = 1, copies = 1;
  double cycles = 0;  ///< for each multiply-add of a vector; at least 0.5
  double stores = 0;  ///< those of `cycles` that store results
  std::pair<int, int> axes() const { return {lane_axis, copy_axis}; }
  using Key = std::tuple<int, int, std::int64_t, std::int64_t>;
  Key key() const { return {lane_axis, copy_axis, vectors, copies}; }
};

/// All tiles whose accumulators and operands fit into the registers, those with the fewest cycles first.
/// @param most_vectors the most vectors along the lanes
std::vector<PackedTile> packed_tiles(const PackedProblem& problem, std::int64_t most_vectors);

}  // namespace strata
