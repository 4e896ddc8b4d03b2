// Search over boxes: extremes of an expression, and points where two expressions differ. Small boxes are enumerated;
// large ones are searched by branch and bound with interval arithmetic. The exact step and `prove` use it. Internal to
// expr/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/base/meter.h"
#include "strata/expr/evaluate.h"

namespace strata {

/// The work that a search may still do, in node evaluations.
class Budget {
 public:
  explicit Budget(std::uint64_t units) : left_(units) {}
  /// Takes `units`; false, and nothing taken, when fewer are left.
  bool take(std::uint64_t units) {
    if (units > left_) return false;
    Meter::charge(1 + units / kEvaluationsInAUnit);
    left_ -= units;
    return true;
  }
  /// Takes the cost of evaluating `tape` at `points` points.
  bool take(const Tape& tape, std::uint64_t points) {
    std::uint64_t units = 0;
    return !__builtin_mul_overflow(points, std::uint64_t{tape.size()}, &units) && take(units);
  }
  /// Takes `units`, or all units that are left; false in the second case.
  bool charge(std::uint64_t units) {
    const bool enough = take(units);
    if (!enough) left_ = 0;
    return enough;
  }
  std::uint64_t left() const { return left_; }

 private:
  /// Node evaluations that count as one unit of a Meter: in blocks of points an evaluation is cheap.
  static constexpr std::uint64_t kEvaluationsInAUnit = 64;

  std::uint64_t left_;
};

inline bool is_zero(Interval x) { return x.lo == 0 && x.hi == 0; }
/// One Interval for each slot of a tape.
using SlotIntervals = std::vector<Interval>;
/// Sound bounds of every slot of `tape` on `box`.
void run_intervals(const Tape& tape, const Box& box, SlotIntervals& bounds);

/// Bounds of root 0 on `box`. Each variable along which root 0 is monotone is pinned to the end where root 0 is
/// extreme. `exact` when this pins every variable, so that both bounds are values.
struct MonotoneBounds {
  Interval bounds;
  bool exact;
};
MonotoneBounds monotone_bounds(const Tape& tape, const Box& box);

/// The result of a complete enumeration.
struct Extremes {
  std::int64_t min, max;
  std::int64_t modulus, residue;  ///< gcd of all differences (0 for a constant) and the common remainder
};
/// The extremes of root 0 over the whole box; nothing when a value does not fit in 64 bits.
std::optional<Extremes> table_extremes(const Tape& tape);

/// A bound on the smallest (largest) value of root 0; attained iff `exact`.
struct Bound {
  std::int64_t value;
  bool exact;
};
Bound smallest(const Tape& tape, Budget& budget);
Bound largest(const Tape& tape, Budget& budget);

/// Points of a box that often refute a claim: corners, then random points from a fixed seed.
std::vector<std::vector<std::int64_t>> probe_columns(const Box& box, std::size_t count);

/// A point with root 0 != root 1 and, if there is a root 2, root 2 != 0. `equal` is `no` with such a point, `yes` when
/// there is none, `unknown` when the budget ran out first.
struct Difference {
  Answer equal;
  std::vector<std::int64_t> point;  ///< one value for each variable of the tape
};
/// Searches the tape's box. Unless `probe` is false, probe_columns is tried first.
Difference find_difference(const Tape& tape, Budget& budget, bool probe = true);

}  // namespace strata
