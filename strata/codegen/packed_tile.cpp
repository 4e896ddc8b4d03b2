#include "strata/codegen/packed_tile.h"
#include "strata/base/sort_few.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace strata {

namespace {

constexpr double kLoop = 1;  // cycles of the loop around a step

class PackedSearch {
 public:
  explicit PackedSearch(const PackedProblem& problem) : p_(problem) {}

  std::vector<PackedTile> run(std::int64_t most_vectors) {
    for (std::size_t lane_axis = 0; lane_axis < p_.outputs.size(); ++lane_axis) {
      if (p_.outputs[lane_axis] < 1 || !p_.may_have_lanes[lane_axis]) continue;
      for (std::int64_t vectors = 1; vectors <= most_vectors; ++vectors) {
        PackedTile tile;
        tile.lane_axis = static_cast<int>(lane_axis);
        tile.vectors = vectors;
        // Blocks of lanes are what threads share, if their operand is packed for each.
        const std::int64_t blocks = p_.outputs[lane_axis] / (vectors * p_.lanes);
        if (blocks < 2 && !p_.stores_along[lane_axis]) break;
        try_tile(tile);
        for (std::size_t a = p_.outputs.size(); a-- > 0;) {  // inner axes first: they are the closest in memory
          if (a == lane_axis) continue;
          tile.copy_axis = static_cast<int>(a);
          for (tile.copies = 2; tile.copies <= std::min(p_.outputs[a], p_.registers); ++tile.copies) try_tile(tile);
        }
      }
    }
    // Of equally many cycles, the tile that was tried first: fewer vectors, and copies along an inner axis.
    std::vector<std::size_t> order(tiles_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    sort_few(order, [&](std::size_t a, std::size_t b) {
      return std::pair(tiles_[a].cycles, a) < std::pair(tiles_[b].cycles, b);
    });
    std::vector<PackedTile> out;
    for (const std::size_t k : order) out.push_back(tiles_[k]);
    return out;
  }

 private:
  /// The cycles of one step of the reduction in a tile of so many vectors and copies.
  double step(const PackedTile& tile, std::int64_t vectors, std::int64_t copies) const {
    double loads = 0;
    for (const PackedLoad& l : p_.loads) {
      double each =
          tile.copy_axis >= 0 && l.moves[static_cast<std::size_t>(tile.copy_axis)] ? static_cast<double>(copies) : 1;
      const auto lane_axis = static_cast<std::size_t>(tile.lane_axis);
      if (l.moves[lane_axis]) {
        each *= static_cast<double>(l.contiguous[lane_axis] ? vectors : vectors * p_.lanes);
        if (l.unaligned[lane_axis]) each *= 2;
      }
      loads += each;
    }
    return std::max({static_cast<double>(vectors * copies) / 2, loads / 2, p_.latency}) + kLoop;
  }

  /// The cycles of all stores, and of all steps, of a row of tiles along the copies.
  double stores_of(const PackedTile& tile, std::int64_t vectors, std::int64_t count) const {
    const bool is_along = p_.stores_along[static_cast<std::size_t>(tile.lane_axis)];
    return static_cast<double>(count * vectors) * (is_along ? 1 : p_.across * static_cast<double>(p_.lanes));
  }
  double steps_of(const PackedTile& tile, std::int64_t vectors, std::int64_t count) const {
    const std::int64_t whole = count / tile.copies, left = count % tile.copies;
    return p_.terms * (static_cast<double>(whole) * step(tile, vectors, tile.copies) +
                       static_cast<double>(left) * step(tile, vectors, 1));
  }

  void try_tile(PackedTile& tile) {
    if (tile.vectors * tile.copies + std::min(tile.vectors, tile.copies) + 2 > p_.registers) return;
    const auto lane_axis = static_cast<std::size_t>(tile.lane_axis);
    const std::int64_t width = p_.lanes * tile.vectors;
    const std::int64_t blocks = p_.outputs[lane_axis] / width;
    const std::int64_t left = (p_.outputs[lane_axis] - blocks * width + p_.lanes - 1) / p_.lanes;  // vectors
    const std::int64_t count = tile.copy_axis < 0 ? 1 : p_.outputs[static_cast<std::size_t>(tile.copy_axis)];
    const std::int64_t last = p_.has_short_tiles ? left : tile.vectors;
    double steps = static_cast<double>(blocks) * steps_of(tile, tile.vectors, count);
    double stores = static_cast<double>(blocks) * stores_of(tile, tile.vectors, count);
    if (left > 0) steps += steps_of(tile, last, count), stores += stores_of(tile, last, count);
    const double multiplies = p_.terms * static_cast<double>(count) * static_cast<double>(p_.outputs[lane_axis]) /
                              static_cast<double>(p_.lanes);
    tile.cycles = (steps + stores) / multiplies;
    tile.stores = stores / multiplies;
    tiles_.push_back(tile);
  }

  const PackedProblem& p_;
  std::vector<PackedTile> tiles_;
};

}  // namespace

std::vector<PackedTile> packed_tiles(const PackedProblem& problem, std::int64_t most_vectors) {
  return PackedSearch(problem).run(most_vectors);
}

}  // namespace strata
