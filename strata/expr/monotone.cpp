// Bounds by monotonicity: where an expression only rises, or only falls, along a variable, its extremes lie at the ends
// of the variable's range, however often the variable occurs in the expression.

#include <algorithm>
#include <array>

#include "strata/expr/search.h"

namespace strata {
namespace {

constexpr std::size_t kMaxSlopeSlots = 1024, kMaxSlopeVariables = 16;

Interval hull(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }
Interval plus(Interval a, Interval b) {
  const bool down = a.lo == kNegInf || b.lo == kNegInf, up = a.hi == kPosInf || b.hi == kPosInf;
  return {down ? kNegInf : sat_add(a.lo, b.lo), up ? kPosInf : sat_add(a.hi, b.hi)};
}
Interval times(Interval a, Interval b) {
  const std::array<std::int64_t, 4> p{sat_mul(a.lo, b.lo), sat_mul(a.lo, b.hi), sat_mul(a.hi, b.lo),
                                      sat_mul(a.hi, b.hi)};
  return {*std::min_element(p.begin(), p.end()), *std::max_element(p.begin(), p.end())};
}
std::int64_t sat_ceil_div(std::int64_t a, std::int64_t c) { return sat_neg(sat_floor_div(sat_neg(a), c)); }

// Bounds on the change of every slot when one variable grows by 1, from the slots' bounds on the box.
class Slopes {
 public:
  Slopes(const Tape& tape, const SlotIntervals& bounds, std::uint32_t variable) : tape_(tape), bounds_(bounds) {
    steps_.resize(tape.size());
    for (std::size_t slot = 0; slot < tape.size(); ++slot) {
      const Interval span = bounds[slot];
      const Interval widest{sat_sub(span.lo, span.hi), sat_sub(span.hi, span.lo)};
      Interval found = slot == variable ? Interval{1, 1} : of(tape.node(slot), tape.operands(slot), widest);
      steps_[slot] = {std::max(found.lo, widest.lo), std::min(found.hi, widest.hi)};
    }
  }
  Interval root() const { return steps_[tape_.root(0)]; }

 private:
  Interval of(const Node* n, std::span<const std::uint32_t> in, Interval widest) const {
    if (std::all_of(in.begin(), in.end(), [&](std::uint32_t s) { return is_zero(steps_[s]); })) return {0, 0};
    switch (n->op) {
      case Op::Const:
      case Op::Var: return {0, 0};
      case Op::Sum: {
        Interval r{0, 0};
        for (std::size_t i = 0; i < in.size(); ++i) {
          const std::int64_t c = n->terms()[i].coefficient;
          r = plus(r, times({c, c}, steps_[in[i]]));
        }
        return r;
      }
      case Op::Mul: {  // d(ab) = a' db + b da
        Interval value = bounds_[in[0]], step = steps_[in[0]];
        for (const std::uint32_t s : in.subspan(1)) {
          step = plus(times(value, steps_[s]), times(bounds_[s], step));
          value = times(value, bounds_[s]);
        }
        return step;
      }
      case Op::Div: return is_zero(steps_[in[1]]) ? quotient(steps_[in[0]], bounds_[in[1]]) : widest;
      case Op::Mod: return is_zero(steps_[in[1]]) ? residue(bounds_[in[0]], steps_[in[0]], bounds_[in[1]]) : widest;
      case Op::Min:
      case Op::Max: return arms(in);
      case Op::Select: return is_zero(steps_[in[0]]) ? hull(steps_[in[1]], steps_[in[2]]) : widest;
      case Op::Lt: return {steps_[in[0]].hi <= 0 ? 0 : -1, steps_[in[0]].lo >= 0 ? 0 : 1};
      case Op::Eq:
      case Op::Ne: return widest;
      case Op::And:
      case Op::Or: {
        const Interval r = arms(in);
        return {std::max<std::int64_t>(r.lo, -1), std::min<std::int64_t>(r.hi, 1)};
      }
    }
    throw InternalError("monotone_bounds: unknown op");
  }
  Interval arms(std::span<const std::uint32_t> in) const {
    Interval r = steps_[in[0]];
    for (const std::uint32_t s : in) r = hull(r, steps_[s]);
    return r;
  }
  // floor((x + t) / d) - floor(x / d) lies between floor(t / d) and ceil(t / d)
  static Interval quotient(Interval t, Interval d) {
    const std::int64_t small = std::max<std::int64_t>(d.lo, 1), large = std::max(d.hi, small);
    return {is_inf(large) && t.lo >= 0 ? 0 : sat_floor_div(t.lo, t.lo < 0 ? small : large),
            is_inf(large) && t.hi <= 0 ? 0 : sat_ceil_div(t.hi, t.hi > 0 ? small : large)};
  }
  static Interval residue(Interval x, Interval t, Interval d) {
    if (d.lo == d.hi && !is_inf(x.lo) && !is_inf(x.hi) && floor_div(x.lo, d.lo) == floor_div(x.hi, d.lo)) return t;
    if (d.lo > 0 && x.lo >= 0 && x.hi < d.lo) return t;
    const Interval q = times(quotient(t, d), d);
    return plus(t, {sat_neg(q.hi), sat_neg(q.lo)});
  }

  const Tape& tape_;
  const SlotIntervals& bounds_;
  SlotIntervals steps_;
};

// Pins every variable along which root 0 is monotone to the end where root 0 is least (sign 1) or largest (-1). Pinning
// one variable narrows the slopes of others, so this repeats until no variable moves.
Interval pinned(const Tape& tape, Box box, std::int64_t sign) {
  SlotIntervals bounds;
  for (bool moved = true; moved;) {
    moved = false;
    run_intervals(tape, box, bounds);
    for (std::size_t v = 0; v < box.size() && !moved; ++v) {
      if (box[v].lo == box[v].hi || is_inf(box[v].lo) || is_inf(box[v].hi)) continue;
      const Interval slope = Slopes(tape, bounds, tape.variables()[v]).root();
      const bool rises = slope.lo >= 0, falls = slope.hi <= 0;
      if (!rises && !falls) continue;
      const std::int64_t end = rises == (sign > 0) ? box[v].lo : box[v].hi;
      box[v] = {end, end};
      moved = true;
    }
  }
  return bounds[tape.root(0)];
}

}  // namespace

MonotoneBounds monotone_bounds(const Tape& tape, const Box& box) {
  const Node* n = tape.node(tape.root(0));
  MonotoneBounds found{{n->lo, n->hi}, false};
  if (tape.size() > kMaxSlopeSlots || box.size() > kMaxSlopeVariables) return found;
  const Interval least = pinned(tape, box, 1), most = pinned(tape, box, -1);
  found.bounds = {std::max(n->lo, least.lo), std::min(n->hi, most.hi)};
  found.exact = least.lo == least.hi && most.lo == most.hi && !is_inf(least.lo) && !is_inf(most.hi);
  return found;
}

}  // namespace strata
