// Gather indices: those that a kernel computes, as variables of index expressions.
//
// A GATHER reads where a value says. The value, kept inside of its axis, becomes a variable with that axis' bounds: index
// expressions are written with it, and accesses are proven, as with the counter of a loop.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "strata/codegen/coordinates.h"
#include "strata/ir/uop.h"

namespace strata {

struct GatherIndex {
  UOp value;                 ///< the value
  std::vector<Expr> around;  ///< what it was asked for at: it depends on no other loops
};

class GatherIndices {
 public:
  /// Deeper than each loop, as nobody knows where the value is made.
  static constexpr int kDepth = 1 << 20;

  /// A value from 0 to size - 1 that was asked for at `at`, as an index: a number where it is known, else a variable, the same one for
  /// the same value, size and coordinates.
  Expr add(UOp value, std::int64_t size, const Coordinates& at);
  /// Null for a variable that is none of these.
  const GatherIndex* find(const Variable& v) const;
  /// Adds what the variables in `expressions` were asked for at, and what those in that were. Gives the names of all of them:
  /// reductions at indices that others give stand behind those.
  std::string add_around(std::vector<Expr>& expressions) const;

 private:
  std::unordered_map<std::string, GatherIndex> indices_;
  std::unordered_map<UOp, std::vector<Variable>> known_;
};

}  // namespace strata
