// ATAN and ATAN2: a polynomial of the quotient of the smaller by the larger number. The coefficients are printed by
// tests/codegen/remez.py.
#include <limits>

#include "strata/codegen/formula.h"

namespace strata::formulas {
namespace {

// clang-format off
// atan(x) = x + x^3 * p(x^2): f32 up to 1, f64 up to tan(pi/8)
constexpr double kAtanF32[] = {-0.333333015, 0.199986294, -0.142651513, 0.109570913, -0.0841803774, 0.058209911,
                               -0.0314307436, 0.0110508036, -0.00182411063};
constexpr double kAtanF64[] = {-0.33333333333333326, 0.19999999999997112, -0.1428571428532048, 0.11111111084110001,
                               -0.09090908002565881, 0.07692279651007385, -0.0666618228076105, 0.05876599164059079,
                               -0.05215760845541601, 0.04493090336258064, -0.03323721055866062, 0.01496008111509273};
// clang-format on

constexpr double kTanEighth = 0.4142135623730951;  // tan(pi/8)

/// pi/4 as high + low, where `high` is the nearest number of the dtype.
struct PiQuarter {
  double high, low;
};
PiQuarter pi_quarter(FormulaValue x) {
  if (x.scalar() == dtypes::float32) return {0.7853981852531433, -2.1855695000931213e-08};
  return {0.7853981633974483, 3.061616997868383e-17};
}

/// An angle: high + low, where `low` is small.
struct Angle {
  FormulaValue high, low;
};

/// pi/4 * times - a
Angle complement(FormulaValue times, const Angle& a) {
  const PiQuarter pi = pi_quarter(a.high);
  const FormulaValue turn = times * pi.high;
  const FormulaValue high = turn - a.high;
  const FormulaValue lost = (turn - high) - a.high;
  return {high, times * pi.low + (lost - a.low)};
}

/// atan(small / large). @pre 0 <= small <= large, both finite and large != 0
Angle atan_of_quotient(FormulaValue small, FormulaValue large) {
  if (small.scalar() == dtypes::float32) {
    const FormulaValue t = small / large;
    const FormulaValue square = t * t;
    return {t, polynomial(square, kAtanF32) * square * t};
  }
  // For a quotient q > tan(pi/8): atan(q) = pi/4 - atan((1 - q) / (1 + q)).
  const FormulaValue beyond = large * kTanEighth < small;
  const FormulaValue t = where(beyond, large - small, small) / where(beyond, large + small, large);
  const FormulaValue square = t * t;
  const Angle near{t, polynomial(square, kAtanF64) * square * t};
  const Angle far = complement(t.like(1.0), near);
  return {where(beyond, far.high, near.high), where(beyond, far.low, near.low)};
}

Angle choose(FormulaValue condition, const Angle& a, const Angle& b) {
  return {where(condition, a.high, b.high), where(condition, a.low, b.low)};
}

}  // namespace

FormulaValue atan_formula(FormulaValue x) {
  // For |x| > 2^60, 1/x does not change the result.
  const FormulaValue size = min(abs(x), 0x1p60);
  const Angle first = atan_of_quotient(min(size, 1.0), max(size, 1.0));
  const Angle angle = choose(size > 1.0, complement(x.like(2.0), first), first);
  return flip_sign(angle.high + angle.low, sign_of(x));
}

FormulaValue atan2_formula(FormulaValue y, FormulaValue x) {
  const FloatFormat& format = format_of(x.dtype());
  const bool is_f32 = format.dtype == dtypes::float32;
  const FormulaValue a = abs(y), b = abs(x);
  const FormulaValue large = max(a, b), small = min(a, b);
  // Quotients with infinities are 1 / 1 or 0 / 1, and two zeros are 0 / 1. Large numbers are scaled down, so that sums
  // do not overflow.
  const FormulaValue infinite = large == std::numeric_limits<double>::infinity();
  const FormulaValue down = where(large > (is_f32 ? 0x1p100 : 0x1p1000), is_f32 ? 0x1p-30 : 0x1p-60, large.like(1.0));
  const FormulaValue top = where(infinite | (large == 0.0), 1.0, large * down);
  const FormulaValue ratio = where(small == large, 1.0, large.like(0.0));
  const FormulaValue part = where(infinite, ratio, small * down);
  const Angle first = atan_of_quotient(part, top);
  const Angle steep = choose(a > b, complement(x.like(2.0), first), first);
  const FormulaValue back = sign_of(x) != 0;
  const Angle angle = choose(back, complement(x.like(4.0), steep), steep);
  return flip_sign(angle.high + angle.low, sign_of(y));
}

}  // namespace strata::formulas
