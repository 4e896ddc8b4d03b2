// Piecewise affine functions on a box: the engine behind views, layouts and loops. A `Piecewise` is a function of
// integer coordinates; `Pieces` lists disjoint boxes on which it is affine.
//
// A Piecewise is a short straight-line program over registers. Each register is an affine function of the coordinates;
// the instructions are floors, range tests, sums and products. A stack of views is such a function (every digit of an
// address is a floor), and so is an index expression. Pieces cuts the box until every floor is affine on each part, and
// yields each part with the result as an affine function. Coordinates that no piece covers are invalid.
//
// The test for a floor is exact and takes linear time. On a box, floor(L / P) is affine iff 0 <= r < P at both extreme
// corners, where r = L - P * q, and q is the only candidate: the lower corner and its neighbours force it. In most
// stacks the test holds on the whole box, so there is one piece and nothing is cut.
//
// Everything works in constant expressions. A value that does not fit in 64 bits throws Error (overflow).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/base/meter.h"
#include "strata/base/small_vec.h"

namespace strata {

using Index = SmallVec<std::int64_t, 6>;

/// An affine function on a box: on lo + [0, extent) the value is base + sum over j of slope[j] * (i[j] - lo[j]).
struct Piece {
  Index lo, extent, slope;  ///< slope is 0 where extent is 1
  std::int64_t base = 0;
  friend constexpr bool operator==(const Piece&, const Piece&) = default;
};

/// The number of points of the piece's box.
constexpr std::int64_t volume(const Piece& p) {
  std::int64_t out = 1;
  for (const std::int64_t n : p.extent) out *= n;  // fits: part of a box whose volume fits
  return out;
}

/// A function as a program over registers: each Instruction runs at every point of a box.
class Piecewise {
 public:
  /// An instruction of the program.
  struct Instruction {
    enum class Kind : std::uint8_t {
      set,     ///< to = a
      add,     ///< to += a * from
      digit,   ///< q = floor(from / a); from -= a * q; to += b * q
      times,   ///< to += from * other
      within,  ///< the point is valid only if a <= from <= b
    };
    Kind kind;
    std::uint32_t to, from, other;
    std::int64_t a, b;
  };
  using Step [[deprecated("renamed to Instruction")]] = Instruction;

  /// A program for coordinates that run over lo + [0, extent).
  /// @throws Error (overflow) when there are more than 2^63 - 1 points.
  constexpr Piecewise(const Index& lo, const Index& extent) : lo_(lo), extent_(extent) {
    std::int64_t points = 1;
    for (const std::int64_t n : extent) empty_ = empty_ || n <= 0;
    for (const std::int64_t n : extent)
      STRATA_CHECK(empty_ || try_mul(points, n, points), overflow,
                   "[pieces] the box has more points than 64 bits count");
  }

  /// A new register that starts as base + sum over j of slope[j] * i[j].
  /// @throws Error (overflow) when its value at the box's lower corner does not fit in 64 bits.
  constexpr std::uint32_t load(std::int64_t base, const Index& slope) {
    Int128 at = base;
    bool fits = true;
    for (std::size_t j = 0; j < slope.size() && !empty_; ++j)
      fits = fits && !__builtin_add_overflow(at, static_cast<Int128>(slope[j]) * lo_[j], &at);
    STRATA_CHECK(fits && at >= kNegInf && at <= kPosInf, overflow, "[pieces] a value leaves 64 bits");
    start_.push_back(static_cast<std::int64_t>(at));
    for (std::size_t j = 0; j < lo_.size(); ++j) start_.push_back(extent_[j] > 1 ? slope[j] : 0);
    return registers_++;
  }
  constexpr std::uint32_t load(std::int64_t base) { return load(base, Index(lo_.size(), 0)); }

  constexpr void set(std::uint32_t to, std::int64_t a) { push({Instruction::Kind::set, to, to, to, a, 0}); }
  constexpr void add(std::uint32_t to, std::uint32_t from, std::int64_t a) {
    push({Instruction::Kind::add, to, from, to, a, 0});
  }
  /// q = floor(from / by); from -= by * q; to += scale * q. @pre by > 0, to != from
  constexpr void digit(std::uint32_t from, std::int64_t by, std::uint32_t to, std::int64_t scale) {
    push({Instruction::Kind::digit, to, from, to, by, scale});
  }
  constexpr void times(std::uint32_t to, std::uint32_t a, std::uint32_t b) {
    push({Instruction::Kind::times, to, a, b, 0, 0});
  }
  constexpr void within(std::uint32_t from, std::int64_t lo, std::int64_t hi) {
    push({Instruction::Kind::within, from, from, from, lo, hi});
  }
  /// Makes the function invalid everywhere.
  constexpr void nowhere() { empty_ = true; }
  /// Makes register `from`, after all instructions, the value of the function.
  constexpr void result(std::uint32_t from) { result_ = from; }

  constexpr std::size_t rank() const { return lo_.size(); }
  constexpr bool is_nowhere() const { return empty_; }
  constexpr const Index& lo() const { return lo_; }
  constexpr const Index& extent() const { return extent_; }
  constexpr const SmallVec<Instruction, 12>& steps() const { return steps_; }
  constexpr std::uint32_t registers() const { return registers_; }
  constexpr std::uint32_t result() const { return result_; }
  /// One row for each register: its value at the lower corner, then its slopes.
  constexpr const SmallVec<std::int64_t, 32>& start() const { return start_; }

 private:
  constexpr void push(const Instruction& step) { steps_.push_back(step); }

  Index lo_, extent_;
  SmallVec<std::int64_t, 32> start_;
  SmallVec<Instruction, 12> steps_;
  std::uint32_t registers_ = 0;
  std::uint32_t result_ = 0;
  bool empty_ = false;
};

/// The value of `f` at one point, nothing where `f` is invalid: the definition of a Piecewise, instruction by
/// instruction.
/// @pre `at` lies in the box.
/// @throws Error (overflow) when the value does not fit in 64 bits, or an intermediate value in 128.
constexpr std::optional<std::int64_t> value_at(const Piecewise& f, const Index& at);

/// The pieces of a function, one by one. In one dimension they come in increasing order.
class Pieces {
 public:
  /// `budget` is a work limit: it counts the coefficients that instructions look at. When it is used up, next() is
  /// false and complete() is false. `f` must outlive this object.
  constexpr Pieces(const Piecewise& f, std::uint64_t budget);
  Pieces(Piecewise&& f, std::uint64_t budget) = delete;
  /// The next piece; false when there are no more, or the budget ran out. @throws Error (overflow)
  constexpr bool next(Piece& out);
  /// True iff every piece was yielded.
  constexpr bool complete() const { return open_.empty() && budget_ != 0; }
  /// True iff the box was cut, so there may be more than one piece.
  constexpr bool was_cut() const { return cut_; }
  constexpr std::uint64_t left() const { return budget_; }

 private:
  // A part of the box that is still to be done: the box, and the registers on it before instruction `step`. `data` is
  // one row: lo, extent, then the registers.
  struct Task {
    std::size_t step = 0;
    SmallVec<std::int64_t, 48> data;
  };
  enum class Outcome : std::uint8_t { done, dropped, cut };

  constexpr std::int64_t& lo(Task& t, std::size_t j) const { return t.data[j]; }
  constexpr std::int64_t& extent(Task& t, std::size_t j) const { return t.data[rank_ + j]; }
  constexpr std::int64_t* row(Task& t, std::uint32_t r) const { return t.data.data() + 2 * rank_ + r * (rank_ + 1); }
  struct Span {
    Int128 min, max;
  };
  using Row = SmallVec<std::int64_t, 8>;
  constexpr void charge();
  constexpr void yield(Task& t, Piece& out) const;
  constexpr Span span(Task& t, const std::int64_t* r) const;
  constexpr Outcome take(Task& t);
  constexpr Outcome take_digit(Task& t, const Piecewise::Instruction& step);
  constexpr void divide(const std::int64_t* r, std::int64_t p, Row& quotient, Row& rest) const;
  constexpr void cut_remainder(Task& t, const Row& rest, std::int64_t p);
  constexpr Outcome take_within(Task& t, const Piecewise::Instruction& step);
  constexpr Outcome take_times(Task& t, const Piecewise::Instruction& step);
  constexpr void accumulate(std::int64_t* to, std::int64_t scale, const std::int64_t* from) const;
  constexpr void narrow(Task& t, std::size_t j, std::int64_t begin, std::int64_t count) const;
  constexpr void cut_at(std::size_t j, std::int64_t c);
  constexpr void halve(Task& t, std::size_t j);
  constexpr std::size_t widest(Task& t, const std::int64_t* r) const;
  constexpr std::optional<bool> contract(Task& t, const std::int64_t* r, Span s, std::int64_t lower,
                                         std::int64_t upper) const;

  const Piecewise& f_;
  std::size_t rank_;
  std::uint64_t budget_;
  bool cut_ = false;
  std::vector<Task> open_;  // the task in progress is last
};

// --- implementation ---

namespace detail {

constexpr std::int64_t checked_multiply_add(std::int64_t sum, std::int64_t a, std::int64_t b) {
  std::int64_t p = 0;
  STRATA_CHECK(try_mul(a, b, p) && try_add(sum, p, sum), overflow, "[pieces] a value leaves 64 bits");
  return sum;
}

constexpr bool fits_in_64(Int128 a) { return a >= kNegInf && a <= kPosInf; }

/// sum += a * b in 128 bits: an intermediate value beyond 64 bits may still lead to a result that fits.
constexpr void multiply_add(Int128& sum, Int128 a, Int128 b) {
  Int128 p = 0;
  const bool fits = !__builtin_mul_overflow(a, b, &p) && !__builtin_add_overflow(sum, p, &sum);
  STRATA_CHECK(fits, overflow, "[pieces] a value leaves 128 bits");
}

/// Replaces `a` by floor_mod(a, b) and returns floor(a / b). @pre b > 0
constexpr Int128 take_quotient(Int128& a, std::int64_t b) {
  if (fits_in_64(a)) {  // 64-bit division is much faster
    const auto narrow = static_cast<std::int64_t>(a);
    a = floor_mod(narrow, b);
    return floor_div(narrow, b);
  }
  const Int128 quotient = a / b, rest = a % b;
  a = rest < 0 ? rest + b : rest;
  return rest < 0 ? quotient - 1 : quotient;
}

}  // namespace detail

constexpr std::optional<std::int64_t> value_at(const Piecewise& f, const Index& at) {
  if (f.is_nowhere()) return std::nullopt;
  SmallVec<Int128, 8> r;
  const std::size_t width = f.rank() + 1;
  for (std::uint32_t k = 0; k < f.registers(); ++k) {
    const std::int64_t* row = f.start().data() + k * width;
    r.push_back(row[0]);
    for (std::size_t j = 0; j < f.rank(); ++j)
      detail::multiply_add(r.back(), row[j + 1], static_cast<Int128>(at[j]) - f.lo()[j]);
  }
  for (const Piecewise::Instruction& s : f.steps()) {
    switch (s.kind) {
      case Piecewise::Instruction::Kind::set: r[s.to] = s.a; break;
      case Piecewise::Instruction::Kind::add: detail::multiply_add(r[s.to], s.a, r[s.from]); break;
      case Piecewise::Instruction::Kind::digit: {
        const Int128 q = detail::take_quotient(r[s.from], s.a);
        detail::multiply_add(r[s.to], s.b, q);
        break;
      }
      case Piecewise::Instruction::Kind::times: detail::multiply_add(r[s.to], r[s.from], r[s.other]); break;
      case Piecewise::Instruction::Kind::within:
        if (r[s.from] < s.a || r[s.from] > s.b) return std::nullopt;
        break;
    }
  }
  const Int128 value = r[f.result()];
  STRATA_CHECK(detail::fits_in_64(value), overflow, "[pieces] a value leaves 64 bits");
  return static_cast<std::int64_t>(value);
}

constexpr Pieces::Pieces(const Piecewise& f, std::uint64_t budget) : f_(f), rank_(f.rank()), budget_(budget) {
  if (f.is_nowhere()) return;
  Task t;
  t.data.append(f.lo().data(), rank_);
  t.data.append(f.extent().data(), rank_);
  t.data.append(f.start().data(), f.start().size());
  open_.push_back(std::move(t));
}

constexpr bool Pieces::next(Piece& out) {
  while (!open_.empty() && budget_ != 0) {
    Task& t = open_.back();  // NOTE: invalid after a cut, which may move tasks
    Outcome outcome = Outcome::done;
    while (outcome == Outcome::done && t.step < f_.steps().size() && budget_ != 0) {
      charge();
      outcome = take(t);
    }
    if (outcome == Outcome::dropped) open_.pop_back();
    if (outcome != Outcome::done) continue;
    if (t.step < f_.steps().size()) return false;  // the budget ran out in the middle
    yield(t, out);
    open_.pop_back();
    return true;
  }
  return false;
}

constexpr void Pieces::charge() {
  const std::uint64_t cost = rank_ + 1;
  if (!std::is_constant_evaluated()) Meter::charge(1 + cost / 8);
  budget_ = budget_ > cost ? budget_ - cost : 0;
}

constexpr void Pieces::yield(Task& t, Piece& out) const {
  const std::int64_t* r = row(t, f_.result());
  out.lo.clear();
  out.extent.clear();
  out.slope.clear();
  out.lo.append(t.data.data(), rank_);
  out.extent.append(t.data.data() + rank_, rank_);
  out.slope.append(r + 1, rank_);
  out.base = r[0];
}

constexpr Pieces::Span Pieces::span(Task& t, const std::int64_t* r) const {
  Span s{r[0], r[0]};
  for (std::size_t j = 0; j < rank_; ++j) {
    const Int128 d = static_cast<Int128>(r[j + 1]) * (extent(t, j) - 1);
    (d > 0 ? s.max : s.min) += d;
  }
  return s;
}

// to += scale * from, in all coefficients.
constexpr void Pieces::accumulate(std::int64_t* to, std::int64_t scale, const std::int64_t* from) const {
  for (std::size_t j = 0; j <= rank_; ++j) to[j] = detail::checked_multiply_add(to[j], scale, from[j]);
}

// Restricts axis j to the coordinates begin + [0, count).
constexpr void Pieces::narrow(Task& t, std::size_t j, std::int64_t begin, std::int64_t count) const {
  lo(t, j) += begin;
  extent(t, j) = count;
  for (std::uint32_t k = 0; k < f_.registers(); ++k) {
    std::int64_t* r = row(t, k);
    r[0] = detail::checked_multiply_add(r[0], begin, r[j + 1]);
    if (count == 1) r[j + 1] = 0;
  }
}

// Replaces the last task by two: below and from local coordinate c of axis j. The lower one is done first.
constexpr void Pieces::cut_at(std::size_t j, std::int64_t c) {
  cut_ = true;
  open_.push_back(Task(open_.back()));
  Task& upper = open_[open_.size() - 2];
  narrow(upper, j, c, extent(upper, j) - c);
  narrow(open_.back(), j, 0, c);
}

constexpr void Pieces::halve(Task& t, std::size_t j) { cut_at(j, extent(t, j) - extent(t, j) / 2); }

// The axis along which r changes most. @pre r is not constant
constexpr std::size_t Pieces::widest(Task& t, const std::int64_t* r) const {
  std::size_t best = 0;
  Int128 most = 0;
  for (std::size_t j = 0; j < rank_; ++j) {
    const Int128 d = static_cast<Int128>(r[j + 1]) * (extent(t, j) - 1);
    const Int128 size = d < 0 ? -d : d;
    if (size > most) {
      best = j;
      most = size;
    }
  }
  return best;
}

constexpr Pieces::Outcome Pieces::take(Task& t) {
  using Kind = Piecewise::Instruction::Kind;
  const Piecewise::Instruction& step = f_.steps()[t.step];
  switch (step.kind) {
    case Kind::set: {
      std::int64_t* r = row(t, step.to);
      for (std::size_t j = 0; j <= rank_; ++j) r[j] = 0;
      r[0] = step.a;
      break;
    }
    case Kind::add: accumulate(row(t, step.to), step.a, row(t, step.from)); break;
    case Kind::digit: return take_digit(t, step);
    case Kind::times: return take_times(t, step);
    case Kind::within: return take_within(t, step);
  }
  ++t.step;
  return Outcome::done;
}

// r == p * quotient + rest, where `quotient` is the only candidate for an affine floor(r / p): it agrees with the floor
// at the lower corner and at that corner's neighbours.
constexpr void Pieces::divide(const std::int64_t* r, std::int64_t p, Row& quotient, Row& rest) const {
  quotient.resize(rank_ + 1);
  rest.resize(rank_ + 1);
  quotient[0] = floor_div(r[0], p);
  rest[0] = floor_mod(r[0], p);
  for (std::size_t j = 1; j <= rank_; ++j) {
    const std::int64_t w = r[j];
    if (w == 0) continue;
    // floor((rest[0] + w) / p), without the sum
    const std::int64_t m = floor_mod(w, p);
    const bool carries = m >= p - rest[0];
    quotient[j] = floor_div(w, p) + (carries ? 1 : 0);
    rest[j] = carries ? m - p : m;
  }
}

constexpr Pieces::Outcome Pieces::take_digit(Task& t, const Piecewise::Instruction& step) {
  Row quotient, rest;
  divide(row(t, step.from), step.a, quotient, rest);
  const Span s = span(t, rest.data());
  if (s.min < 0 || s.max >= step.a) {
    cut_remainder(t, rest, step.a);
    return Outcome::cut;
  }
  accumulate(row(t, step.to), step.b, quotient.data());
  std::copy(rest.begin(), rest.end(), row(t, step.from));
  ++t.step;
  return Outcome::done;
}

// Cuts the box where `rest` leaves [0, p) along one axis alone, at the axis with the largest change; without such an
// axis, halves the axis along which `rest` changes most.
// @pre `rest` leaves [0, p) somewhere on the box
constexpr void Pieces::cut_remainder(Task& t, const Row& rest, std::int64_t p) {
  std::size_t axis = rank_;
  std::int64_t at = 0;
  Int128 most = 0;
  for (std::size_t j = 0; j < rank_; ++j) {
    const std::int64_t w = rest[j + 1];
    if (w == 0) continue;
    const std::int64_t c = w > 0 ? (p - 1 - rest[0]) / w + 1 : rest[0] / -w + 1;
    const Int128 size = static_cast<Int128>(w < 0 ? -w : w) * (extent(t, j) - 1);
    if (c < extent(t, j) && size > most) {
      axis = j;
      at = c;
      most = size;
    }
  }
  if (axis == rank_) return halve(t, widest(t, rest.data()));
  cut_at(axis, at);
}

// Drops coordinates of the first axis it can shorten: those for which no choice of the other coordinates satisfies
// lower <= r <= upper. Nothing when the box becomes empty; otherwise whether an axis was shortened.
constexpr std::optional<bool> Pieces::contract(Task& t, const std::int64_t* r, Span s, std::int64_t lower,
                                               std::int64_t upper) const {
  for (std::size_t j = 0; j < rank_; ++j) {
    const Int128 w = r[j + 1];
    if (w == 0) continue;
    const Int128 reach = w * (extent(t, j) - 1);
    const Int128 rest_max = s.max - (reach > 0 ? reach : 0);
    const Int128 rest_min = s.min - (reach < 0 ? reach : 0);
    const auto floor = [](Int128 a, Int128 b) { return a / b - ((a % b != 0 && a < 0) ? 1 : 0); };
    const Int128 size = w > 0 ? w : -w;
    // the smallest and the largest possible coordinate; for w < 0 the bounds change places
    const Int128 need = w > 0 ? lower - rest_max : rest_min - upper;
    const Int128 room = w > 0 ? upper - rest_min : rest_max - lower;
    const Int128 first = need > 0 ? -floor(-need, size) : 0;
    const Int128 last = room < 0 ? -1 : floor(room, size);
    const Int128 end = last < extent(t, j) - 1 ? last : extent(t, j) - 1;
    if (first > end) return std::nullopt;
    if (first == 0 && end == extent(t, j) - 1) continue;
    narrow(t, j, static_cast<std::int64_t>(first), static_cast<std::int64_t>(end - first + 1));
    return true;
  }
  return false;
}

constexpr Pieces::Outcome Pieces::take_within(Task& t, const Piecewise::Instruction& step) {
  const std::int64_t* r = row(t, step.from);
  const Span s = span(t, r);
  if (s.max < step.a || s.min > step.b) return Outcome::dropped;
  if (s.min >= step.a && s.max <= step.b) {
    ++t.step;
    return Outcome::done;
  }
  const std::optional<bool> contracted = contract(t, r, s, step.a, step.b);
  if (!contracted) return Outcome::dropped;
  if (*contracted) return Outcome::done;  // repeats the instruction on the smaller box
  halve(t, widest(t, r));
  return Outcome::cut;
}

constexpr Pieces::Outcome Pieces::take_times(Task& t, const Piecewise::Instruction& step) {
  const auto varies = [&](std::uint32_t k) {
    const std::int64_t* r = row(t, k);
    for (std::size_t j = 0; j < rank_; ++j)
      if (r[j + 1] != 0) return true;
    return false;
  };
  const bool first = varies(step.from), second = varies(step.other);
  if (first && second) {
    halve(t, widest(t, row(t, step.from)));
    return Outcome::cut;
  }
  const std::uint32_t constant = first ? step.other : step.from;
  const std::uint32_t affine = first ? step.from : step.other;
  accumulate(row(t, step.to), row(t, constant)[0], row(t, affine));
  ++t.step;
  return Outcome::done;
}

}  // namespace strata
