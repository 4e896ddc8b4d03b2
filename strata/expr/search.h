// Search over boxes: exact extremes and points of difference, by tables where the box is small and by branch and bound
// with interval evaluation where it is not. Internal to expr/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/base/meter.h"
#include "strata/expr/evaluate.h"

namespace strata {

/// Work that one call may still do, in node evaluations.
class Budget {
 public:
  explicit Budget(std::uint64_t units) : left_(units) {}
  /// Takes `units` if they are there.
  bool take(std::uint64_t units) {
    if (units > left_) return false;
    Meter::charge(1 + units / kEvaluationsInAUnit);
    left_ -= units;
    return true;
  }
  /// Takes what evaluating `tape` on `points` points costs.
  bool take(const Tape& tape, std::uint64_t points) {
    std::uint64_t units = 0;
    return !__builtin_mul_overflow(points, std::uint64_t{tape.size()}, &units) && take(units);
  }
  /// Takes `units`, or all that is left: false then.
  bool charge(std::uint64_t units) {
    const bool enough = take(units);
    if (!enough) left_ = 0;
    return enough;
  }
  std::uint64_t left() const { return left_; }

 private:
  /// Of a Meter: blocks of points are fast.
  static constexpr std::uint64_t kEvaluationsInAUnit = 64;

  std::uint64_t left_;
};

inline bool is_zero(Interval x) { return x.lo == 0 && x.hi == 0; }
/// One Interval for each slot of a tape.
using SlotIntervals = std::vector<Interval>;
/// Sound bounds of every slot of `tape` on `box`.
void run_intervals(const Tape& tape, const Box& box, SlotIntervals& bounds);

/// Bounds of root 0 on `box`, with every variable along which it is monotone put at its ends. `exact` when that pins all of
/// them, so that both bounds are values.
struct MonotoneBounds {
  Interval bounds;
  bool exact;
};
MonotoneBounds monotone_bounds(const Tape& tape, const Box& box);

/// What a whole table shows.
struct Extremes {
  std::int64_t min, max;
  std::int64_t modulus, residue;  ///< gcd of all differences (0 for a constant) and the common remainder
};
/// The extremes of root 0 over the whole box; nothing when a value leaves 64 bits.
std::optional<Extremes> table_extremes(const Tape& tape);

/// The smallest (largest) value of root 0: a bound, attained iff `exact`.
struct Bound {
  std::int64_t value;
  bool exact;
};
Bound smallest(const Tape& tape, Budget& budget);
Bound largest(const Tape& tape, Budget& budget);

/// Points of a box for quick refutation: corners, then random ones from a fixed seed.
std::vector<std::vector<std::int64_t>> probe_columns(const Box& box, std::size_t count);

/// Looks for a point with root 0 != root 1 and, if there is a root 2, root 2 != 0.
/// `no` with the point when there is one, `yes` when there is none, `unknown` when the budget ended first.
struct Difference {
  Answer equal;
  std::vector<std::int64_t> point;  ///< one value a variable of the tape
};
/// A few points are tried first unless `probe` is false.
Difference find_difference(const Tape& tape, Budget& budget, bool probe = true);

}  // namespace strata
