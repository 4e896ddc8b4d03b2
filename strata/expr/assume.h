// What an assumption says, as inequalities. Internal to expr/.
#pragma once

#include <vector>

#include "strata/expr/linear.h"

namespace strata {

/// Facts of the form sum < 0, taken from the conjuncts of an assumption. Borrowed by Build.
class Context {
 public:
  explicit Context(const Expr& assumption);

  /// `known` narrowed: when l = t*f + rest for a fact f < 0 and a small t, its range follows from that of the rest.
  Range narrow(LinearRef l, Range known) const;

  /// sum == residue (mod modulus)
  struct Aligned {
    Linear sum;
    std::int64_t modulus, residue;
  };
  std::span<const Aligned> aligned() const { return aligned_; }

 private:
  std::vector<Linear> negative_;  // each is < 0
  std::vector<Aligned> aligned_;  // from conjuncts x%c == r
  std::vector<Expr> held_;
};

}  // namespace strata
