#include "strata/codegen/register_tile.h"

#include <algorithm>

namespace strata {

namespace {

class Search {
 public:
  explicit Search(const TileProblem& problem) : p_(problem) {}

  RegisterTile run() {
    best_.copies.assign(p_.sizes.size(), 1);
    best_.loads = cost(best_);
    for (std::size_t axis = 0; axis < p_.sizes.size(); ++axis)
      for (std::int64_t lanes = p_.lanes; lanes > 1; lanes /= 2) {
        if (p_.sizes[axis] < lanes || (!p_.is_output[axis] && !(p_.reassociates && is_row(axis)))) continue;
        RegisterTile tile;
        tile.lane_axis = static_cast<int>(axis);
        tile.lanes = lanes;
        grow(tile);
        break;  // the most lanes that fit
      }
    RegisterTile scalars;
    grow(scalars);
    return best_;
  }

 private:
  /// True iff no load is scattered along the axis.
  bool is_row(std::size_t axis) const {
    return std::none_of(p_.loads.begin(), p_.loads.end(),
                        [&](const TileAccess& a) { return a.along[axis] == TileAccess::Along::scattered; });
  }

  /// Tries all numbers of copies along up to two axes.
  void grow(RegisterTile tile) {
    tile.copies.assign(p_.sizes.size(), 1);
    try_tile(tile);
    for (std::size_t a = 0; a < p_.sizes.size(); ++a) {
      for (const std::int64_t n : amounts(tile, a)) {
        tile.copies[a] = n;
        try_tile(tile);
        for (std::size_t b = a + 1; b < p_.sizes.size(); ++b) {
          for (const std::int64_t m : amounts(tile, b)) {
            tile.copies[b] = m;
            try_tile(tile);
          }
          tile.copies[b] = 1;
        }
      }
      tile.copies[a] = 1;
    }
  }

  /// The candidate numbers of copies along an output axis: divisors of its size (for the lane axis: of its number of
  /// vectors), at most the number of registers.
  std::vector<std::int64_t> amounts(const RegisterTile& tile, std::size_t axis) const {
    std::vector<std::int64_t> out;
    if (!p_.is_output[axis]) return out;
    const bool has_lanes = tile.lane_axis == static_cast<int>(axis);
    const std::int64_t trip_count = has_lanes ? p_.sizes[axis] / tile.lanes : p_.sizes[axis];
    if (has_lanes && p_.sizes[axis] % tile.lanes != 0) return out;
    for (std::int64_t n = 2; n <= std::min<std::int64_t>(trip_count, p_.registers); ++n)
      if (trip_count % n == 0) out.push_back(n);
    return out;
  }

  double cost(const RegisterTile& tile) const {
    double made = static_cast<double>(tile.lanes), loads = 0;
    for (const std::int64_t n : tile.copies) made *= static_cast<double>(n);
    for (const TileAccess& a : p_.loads) {
      double each = 1;
      if (tile.lane_axis >= 0 && a.along[static_cast<std::size_t>(tile.lane_axis)] == TileAccess::Along::scattered)
        each = static_cast<double>(tile.lanes);
      for (std::size_t axis = 0; axis < tile.copies.size(); ++axis)
        if (a.along[axis] != TileAccess::Along::stays) each *= static_cast<double>(tile.copies[axis]);
      loads += each;
    }
    const double arithmetic = made / static_cast<double>(tile.lanes);  // one vector instruction per copy
    return (loads + arithmetic) / made;
  }

  void try_tile(RegisterTile& tile) {
    std::int64_t accumulators = 1;
    for (const std::int64_t n : tile.copies) accumulators *= n;
    if (accumulators > p_.registers - 4) return;
    tile.loads = cost(tile);
    const bool is_better = tile.loads < best_.loads * 0.999;
    const bool stores_better = tile.loads < best_.loads * 1.001 && stores(tile) && !stores(best_);
    if (is_better || stores_better) best_ = tile;
  }
  bool stores(const RegisterTile& tile) const {
    return tile.lane_axis >= 0 && p_.stores_along[static_cast<std::size_t>(tile.lane_axis)];
  }

  const TileProblem& p_;
  RegisterTile best_;
};

}  // namespace

RegisterTile best_tile(const TileProblem& problem) { return Search(problem).run(); }

}  // namespace strata
