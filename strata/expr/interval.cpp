// Interval evaluation of a tape on a box: sound bounds of every slot.

#include <algorithm>

#include "strata/expr/search.h"

namespace strata {
namespace {

std::int64_t clamp_to_64(__int128 value) {
  if (value >= kPosInf) return kPosInf;
  return value <= kNegInf ? kNegInf : static_cast<std::int64_t>(value);
}

Interval of_sum(const Node* n, std::span<const std::uint32_t> in, const SlotIntervals& v) {
  __int128 lo = n->k0(), hi = n->k0();
  bool lo_known = true, hi_known = true;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t c = n->terms()[i].coefficient;
    const Interval x = v[in[i]];
    const std::int64_t low = c > 0 ? x.lo : x.hi, high = c > 0 ? x.hi : x.lo;
    lo_known = lo_known && !is_inf(low);
    hi_known = hi_known && !is_inf(high);
    // Terms fit in 64 bits here, so the 128-bit total cannot overflow for any possible number of terms.
    lo_known = lo_known && !is_inf(sat_mul(c, low));
    hi_known = hi_known && !is_inf(sat_mul(c, high));
    if (lo_known) lo += static_cast<__int128>(c) * low;
    if (hi_known) hi += static_cast<__int128>(c) * high;
  }
  return {lo_known ? clamp_to_64(lo) : kNegInf, hi_known ? clamp_to_64(hi) : kPosInf};
}

Interval of_product(std::span<const std::uint32_t> in, const SlotIntervals& v) {
  Interval r{1, 1};
  for (const std::uint32_t s : in) {
    const std::int64_t p[] = {sat_mul(r.lo, v[s].lo), sat_mul(r.lo, v[s].hi), sat_mul(r.hi, v[s].lo),
                              sat_mul(r.hi, v[s].hi)};
    const auto [least, most] = std::minmax_element(std::begin(p), std::end(p));
    r = {*least, *most};
  }
  return r;
}

Interval of_div(Interval x, Interval d) {
  d.lo = std::max<std::int64_t>(d.lo, 1);
  const std::int64_t lo = x.lo < 0 ? sat_floor_div(x.lo, d.lo) : is_inf(d.hi) ? 0 : sat_floor_div(x.lo, d.hi);
  const std::int64_t hi = x.hi >= 0 ? sat_floor_div(x.hi, d.lo) : is_inf(d.hi) ? -1 : sat_floor_div(x.hi, d.hi);
  return {lo, hi};
}

Interval of_mod(Interval x, Interval d) {
  d.lo = std::max<std::int64_t>(d.lo, 1);
  if (d.lo == d.hi && !is_inf(x.lo) && !is_inf(x.hi)) {
    if (floor_div(x.lo, d.lo) == floor_div(x.hi, d.lo)) return {floor_mod(x.lo, d.lo), floor_mod(x.hi, d.lo)};
  }
  if (x.lo >= 0 && x.hi < d.lo) return x;
  const std::int64_t top = is_inf(d.hi) ? kPosInf : d.hi - 1;
  return {0, x.lo >= 0 ? std::min(x.hi, top) : top};
}

// INT64_MIN and INT64_MAX stand for infinity: a lower bound is never +infinity, an upper bound never -infinity.
Interval opened(Interval x) { return {std::min(x.lo, kPosInf - 1), std::max(x.hi, kNegInf + 1)}; }

bool excludes_zero(Interval x) { return x.lo > 0 || x.hi < 0; }

Interval of_equal(Interval x, Interval y) {
  if (x.hi < y.lo || y.hi < x.lo) return {0, 0};
  const bool single = x.lo == x.hi && y.lo == y.hi && !is_inf(x.lo);
  return {single ? 1 : 0, 1};
}

Interval of_step(const Node* n, std::span<const std::uint32_t> in, const SlotIntervals& v) {
  const auto fold = [&](auto combine) {
    Interval r = v[in[0]];
    for (const std::uint32_t s : in) r = {combine(r.lo, v[s].lo), combine(r.hi, v[s].hi)};
    return r;
  };
  const auto least = [](std::int64_t a, std::int64_t b) { return std::min(a, b); };
  const auto most = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
  switch (n->op) {
    case Op::Const:
    case Op::Var: return {n->lo, n->hi};
    case Op::Sum: return of_sum(n, in, v);
    case Op::Mul: return of_product(in, v);
    case Op::Div: return of_div(v[in[0]], v[in[1]]);
    case Op::Mod: return of_mod(v[in[0]], v[in[1]]);
    case Op::Min:
    case Op::And: return fold(least);  // And and Or: sources are 0 or 1
    case Op::Max:
    case Op::Or: return fold(most);
    case Op::Select: {
      const Interval p = v[in[0]], a = v[in[1]], b = v[in[2]];
      if (excludes_zero(p)) return a;
      if (is_zero(p)) return b;
      return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    case Op::Lt: {
      const Interval x = v[in[0]], y = v[in[1]];
      return {x.hi < y.lo ? 1 : 0, x.lo < y.hi ? 1 : 0};
    }
    case Op::Eq: return of_equal(v[in[0]], v[in[1]]);
    case Op::Ne: {
      const Interval equal = of_equal(v[in[0]], v[in[1]]);
      return {1 - equal.hi, 1 - equal.lo};
    }
  }
  throw InternalError("run_intervals: unknown op");
}

}  // namespace

void run_intervals(const Tape& tape, const Box& box, SlotIntervals& bounds) {
  Meter::charge(1 + tape.size() / 2);
  bounds.resize(tape.size());
  for (std::size_t i = 0; i < box.size(); ++i) bounds[tape.variables()[i]] = opened(box[i]);
  for (std::size_t slot = 0; slot < tape.size(); ++slot) {
    const Node* n = tape.node(slot);
    if (n->is(Op::Var)) continue;
    const Interval found = of_step(n, tape.operands(slot), bounds);
    bounds[slot] = opened({std::max(found.lo, n->lo), std::min(found.hi, n->hi)});
  }
}

}  // namespace strata
