// The sharding of a result, where nobody states it: that of one of its operands, carried through the index map.
#pragma once

#include <cstdint>
#include <vector>

#include "strata/shard/exchange.h"

namespace strata {

/// An operand of a result: its sharding, how the result reads it, and the bytes of an element.
struct ShardedOperand {
  Sharding sharding;
  std::vector<ShapeTracker> reads;
  std::int64_t itemsize = 1;
};

/// The splits of `operand` on the axes of a result that reads it by `read`. A split axis of the operand goes to that
/// axis of the result which steps along it in the largest steps inside of it, and the length of its blocks is counted
/// in steps of that axis: where a reshape joins rows, columns that are split in blocks become blocks that are dealt out
/// in turn. A split is dropped where no axis steps along its axis, where that axis has a split already, and where the
/// axis runs through it more than once and its size is no multiple of blocks and parts. A layout made by hand has no
/// splits, so nothing is carried.
/// @throws Error (undefined) for symbolic sizes
std::vector<Split> carried(const Sharding& operand, const ShapeTracker& read);

/// The splits by which a result moves few bytes. For each axis of the mesh, in order: of the operands' splits over that
/// axis, carried through each of their loads, the one with which the fewest bytes are missing in all
/// (Exchange::missing, with the splits that are decided so far), ties to the first operand; replicated where no operand
/// has one. A split over several axes is taken as a whole, where none of them, and not the result's axis, is taken yet.
/// @throws as Exchange; (budget) for a mesh of more than kMostDecidingRanks, where two operands disagree
std::vector<Split> chosen_splits(const MeshShape& mesh, const Index& shape,
                                 const std::vector<ShardedOperand>& operands);
inline constexpr std::int64_t kMostDecidingRanks = 4096;

}  // namespace strata
