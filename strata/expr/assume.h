// Context: the inequalities and congruences that an assumption states, as `simplify_under` uses them. Internal to
// expr/.
#pragma once

#include <vector>

#include "strata/expr/linear.h"

namespace strata {

/// Facts taken from the conjuncts of an assumption: sum < 0, and sum == residue (mod modulus). Build borrows it.
class Context {
 public:
  explicit Context(const Expr& assumption);

  /// `known`, narrowed: where l = t*f + rest for a fact f < 0 and t = 1 or -1, the range of l follows from that of
  /// rest.
  Range narrow(LinearRef l, Range known) const;

  /// The fact sum == residue (mod modulus).
  struct Aligned {
    Linear sum;
    std::int64_t modulus, residue;
  };
  std::span<const Aligned> aligned() const { return aligned_; }

 private:
  std::vector<Linear> negative_;  // each sum is < 0
  std::vector<Aligned> aligned_;  // from conjuncts x % c == r
  std::vector<Expr> held_;
};

}  // namespace strata
