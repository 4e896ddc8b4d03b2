// Which register tile packed loads get.

#include "strata/codegen/packed_tile.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata::test {
namespace {

/// A convolution: outputs (channels, rows, columns); the weight moves along channels, the image along rows and columns.
PackedProblem convolution(std::int64_t channels, std::int64_t rows, std::int64_t columns, double terms,
                          bool is_strided = false) {
  PackedProblem out;
  out.outputs = {channels, rows, columns};
  out.may_have_lanes = {true, true, true};
  out.stores_along = {false, false, true};
  out.terms = terms;
  out.loads = {{{false, true, true}, {true, true, !is_strided}, {false, true, true}},
               {{true, false, false}, {true, true, true}, {false, false, false}}};
  out.lanes = 16;
  out.registers = 32;
  return out;
}

/// The first of packed_tiles(); without tiles one without axes.
PackedTile packed_tile(const PackedProblem& problem, std::int64_t most_vectors) {
  const std::vector<PackedTile> tiles = packed_tiles(problem, most_vectors);
  EXPECT_TRUE(std::is_sorted(tiles.begin(), tiles.end(),
                             [](const PackedTile& a, const PackedTile& b) { return a.cycles < b.cycles; }));
  return tiles.empty() ? PackedTile() : tiles[0];
}

TEST(PackedTile, FillsTheRegisters) {
  const PackedTile tile = packed_tile(convolution(64, 56, 56, 576), 4);
  EXPECT_EQ(tile.lane_axis, 0);
  EXPECT_EQ(tile.copy_axis, 2);
  EXPECT_EQ(tile.vectors, 2);
  EXPECT_EQ(tile.copies, 14);  // 28 accumulators; 14 divides the columns
  EXPECT_LT(tile.cycles, 0.6);
}

TEST(PackedTile, AFewRegistersAreNotExceeded) {
  PackedProblem p = convolution(64, 56, 56, 576);
  p.registers = 16;
  p.lanes = 8;
  const PackedTile tile = packed_tile(p, 4);
  EXPECT_LE(tile.vectors * tile.copies + std::min(tile.vectors, tile.copies) + 2, 16);
  EXPECT_GE(tile.vectors * tile.copies, 8);  // the latency of a multiply-add is hidden
}

TEST(PackedTile, ShortReductionsKeepTheirStoresInRows) {
  EXPECT_EQ(packed_tile(convolution(32, 224, 224, 27), 4).lane_axis, 2);
  EXPECT_EQ(packed_tile(convolution(64, 56, 56, 576), 4).lane_axis, 0);
}

TEST(PackedTile, StridedColumnsHaveNoLanes) {
  EXPECT_EQ(packed_tile(convolution(64, 112, 112, 147, true), 4).lane_axis, 0);
}

TEST(PackedTile, FewerVectorsWhereMoreAreNotAllowed) {
  const PackedTile tile = packed_tile(convolution(64, 7, 7, 4608), 1);
  EXPECT_EQ(tile.vectors, 1);
  EXPECT_EQ(tile.lane_axis, 0);
}

TEST(PackedTile, SymbolicSizesHaveCopiesAlone) {
  PackedProblem p = convolution(64, 56, 56, 576);
  p.may_have_lanes = {false, false, true};
  const PackedTile tile = packed_tile(p, 4);
  EXPECT_EQ(tile.lane_axis, 2);
  EXPECT_EQ(tile.copy_axis, 0);
}

TEST(PackedTile, UnknownSizesHaveNoTile) {
  PackedProblem p = convolution(64, 56, 56, 576);
  p.outputs = {0, 0, 0};
  EXPECT_EQ(packed_tile(p, 4).lane_axis, -1);
}

}  // namespace
}  // namespace strata::test
