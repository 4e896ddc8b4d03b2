// Scattered stores: vectors whose lanes are not neighbours in memory, such as the channels of an image. The copies
// (UPCAST) of such a store along another axis often are: rows of a matrix whose columns are the vectors. Turned over in
// registers, the rows are stored as vectors. Internal to codegen/.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "strata/codegen/index_uops.h"
#include "strata/ir/uop.h"
#include "strata/view/view.h"

namespace strata {

/// A store of the vector `value`; its index and condition depend on the lanes.
struct ScatteredStore {
  IndexExprs at;
  UOp value;
};

/// The numbers of the stores in runs: the indices of a run are i, i + 1, i + 2, ..., its conditions are the same, and
/// it has at most `most` stores. Each store is in one run.
std::vector<std::vector<std::size_t>> runs_of(std::span<const ScatteredStore> stores, std::size_t most);

/// The rows of the matrix whose columns are vectors of a power of two of lanes.
class Transposed {
 public:
  /// The most lanes that are turned over where this is chosen: the number of UOps grows with their square.
  static constexpr int kMostTurned = 16;
  /// True iff fewer instructions turn the columns over and store their rows than store each element: from 4 columns on,
  /// of at most kMostTurned lanes.
  static bool pays(std::span<const UOp> columns);
  /// Appends the shuffles. @pre 2 <= columns.size() <= lanes, all vectors have the same dtype
  Transposed(UOpGraph& graph, std::span<const UOp> columns);
  /// The elements first, ..., first + count - 1 of row `lane`: lane `lane` of as many columns. A scalar for a count
  /// of 1.
  UOp row(std::size_t lane, std::size_t first, std::size_t count) const;

 private:
  UOp lane(std::size_t flat) const;  // of the matrix, row by row
  UOpGraph& graph_;
  std::size_t lanes_, width_;  // width_: the columns, rounded up to a power of two
  std::vector<UOp> rows_;      // the matrix in its row-major order, `lanes_` elements in each vector
};

}  // namespace strata
