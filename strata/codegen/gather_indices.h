// GatherIndices: the computed indices of GATHERs as variables of index expressions. Internal to codegen/.
//
// A GATHER reads at an index that a UOp computes. The UOp, clamped into the gathered axis, is represented by a variable
// with the bounds [0, size - 1]. Index expressions contain the variable, and accesses are proven in bounds with it as
// with a loop counter.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "strata/codegen/coordinates.h"
#include "strata/ir/uop.h"

namespace strata {

/// The computed index behind a variable.
struct GatherIndex {
  UOp value;  ///< the index
  std::vector<Expr>
      around;  ///< the coordinates at which `value` was computed: the loops in these are all that it depends on
};

/// All computed indices of a kernel.
class GatherIndices {
 public:
  /// The loop depth of these variables: larger than that of any loop, because the loop in which a value is computed is
  /// not known yet.
  static constexpr int kDepth = 1 << 20;

  /// The index expression for `value`, which is in [0, size) and was computed at the coordinates `at`: a number for a
  /// constant; else a variable, the same one for equal value, size and coordinates.
  Expr add(UOp value, std::int64_t size, const Coordinates& at);
  /// The computed index behind `v`; null where `v` is no variable of add().
  const GatherIndex* find(const Variable& v) const;
  /// For each computed index in `expressions`, appends the coordinates at which it was computed, transitively. Returns
  /// the names of these indices, concatenated: a reduction that depends on them must get loops of its own, after the
  /// loops that compute them.
  std::string add_around(std::vector<Expr>& expressions) const;

 private:
  std::unordered_map<std::string, GatherIndex> indices_;
  std::unordered_map<UOp, std::vector<Variable>> known_;
};

}  // namespace strata
