// Decides whether a piecewise function is one masked affine function: exactly, within a budget. Merging Views,
// composing layouts and planning rows all ask this question.
//
// A function with one piece needs no decision. Otherwise each piece gives the steps of the value along its own axes
// and, by one look beyond its lower corner, the step into it from below. Two different steps along one axis, or an
// invalid point between valid ones, give the answer `no` at once. When all pieces agree, they must also fill a box and
// continue one another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "strata/expr/expr.h"
#include "strata/view/piecewise.h"

namespace strata {

/// The work limit of one decision, in the unit of Pieces; beyond it the answer is `unknown`.
inline constexpr std::uint64_t kMergeBudget = std::uint64_t{1} << 18;

/// The reason why a function is not one masked affine function, with witnesses.
struct Obstacle {
  enum class Kind : std::uint8_t {
    none,
    slope,     ///< a step along `axis` from `at` changes the value by another amount than from `other`
    hole,      ///< `at` is invalid, but lies between the valid points `other` and `far`
    scalar,    ///< without dimensions: the one index is invalid, which no mask can express
    budget,    ///< the work limit was reached before the decision
    overflow,  ///< an intermediate value does not fit in 64 bits
  };
  Kind kind = Kind::none;
  std::size_t axis = 0;
  Index at, other, far;
};

/// The answer. `found` yes: the function is offset + stride . i exactly for begin <= i < end, and invalid elsewhere; in
/// canonical form (stride 0 where end - begin <= 1, all 0 where nothing is valid). `found` no: no such form exists; see
/// `obstacle`.
struct Single {
  Answer found = Answer::unknown;
  Index begin, end, stride;
  std::int64_t offset = 0;
  Obstacle obstacle;
  std::uint64_t work = 0;  ///< how much of the budget was used
};

/// Decides for `f`. @post found is yes iff f is one masked affine function; unknown when the budget ran out.
/// @throws Error (overflow)
constexpr Single single(const Piecewise& f, std::uint64_t budget = kMergeBudget);

// --- implementation ---

namespace detail {

constexpr Single nowhere_single(std::size_t rank) {
  Single out;
  out.found = Answer::yes;
  out.begin = out.end = out.stride = Index(rank, 0);
  return out;
}

/// The offset for which offset + stride . at == base.
constexpr std::int64_t offset_from(std::int64_t base, const Index& stride, const Index& at) {
  Int128 offset = base;
  for (std::size_t j = 0; j < at.size(); ++j) offset -= static_cast<Int128>(stride[j]) * at[j];
  STRATA_CHECK(offset >= kNegInf && offset <= kPosInf, overflow, "[merge] the offset leaves 64 bits");
  return static_cast<std::int64_t>(offset);
}

constexpr Single single_of_piece(const Piece& p) {
  Single out;
  out.found = Answer::yes;
  out.begin = out.end = p.lo;
  for (std::size_t j = 0; j < p.lo.size(); ++j) out.end[j] += p.extent[j];
  out.stride = p.slope;
  out.offset = offset_from(p.base, p.slope, p.lo);
  return out;
}

constexpr Single obstacle(Obstacle::Kind kind, std::size_t axis, const Index& at, const Index& other,
                          const Index& far = {}) {
  Single out;
  out.found = kind == Obstacle::Kind::budget ? Answer::unknown : Answer::no;
  out.obstacle = {kind, axis, at, other, far};
  return out;
}

constexpr std::int64_t difference(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  STRATA_CHECK(try_sub(a, b, out), overflow, "[merge] a stride leaves 64 bits");
  return out;
}

/// The number of points of [lo, hi).
constexpr std::int64_t points_of(const Index& lo, const Index& hi) {
  std::int64_t out = 1;
  for (std::size_t j = 0; j < lo.size(); ++j) out *= hi[j] - lo[j];
  return out;
}

/// The number of points of [lo, hi) that the pieces, which are disjoint, cover.
constexpr std::int64_t covered(const std::vector<Piece>& pieces, const Index& lo, const Index& hi) {
  std::int64_t out = 0;
  for (const Piece& p : pieces) {
    std::int64_t points = 1;
    for (std::size_t j = 0; j < lo.size() && points != 0; ++j) {
      const std::int64_t from = std::max(lo[j], p.lo[j]);
      const std::int64_t to = std::min(hi[j], p.lo[j] + p.extent[j]);
      points *= to > from ? to - from : 0;
    }
    out += points;
  }
  return out;
}

/// A point of [lo, hi) that no piece covers, by bisection: it keeps a half that is not fully covered.
/// @pre such a point exists
constexpr Index uncovered_point(const std::vector<Piece>& pieces, Index lo, Index hi) {
  for (std::size_t j = 0; j < lo.size(); ++j)
    while (hi[j] - lo[j] > 1) {
      const std::int64_t mid = lo[j] + (hi[j] - lo[j]) / 2;
      Index half = hi;
      half[j] = mid;
      if (covered(pieces, lo, half) < points_of(lo, half)) {
        hi = half;
      } else {
        lo[j] = mid;
      }
    }
  return lo;
}

// The decision for a function of more than one piece.
class Decision {
 public:
  constexpr Decision(const Piecewise& f, Pieces& pieces)
      : f_(f), pieces_(pieces), stride_(f.rank(), 0), step_(f.rank()) {}

  /// @pre `p` is the first piece
  constexpr Single run(Piece p) {
    do {
      if (const std::optional<Single> no = add(p)) return *no;
    } while (pieces_.next(p));
    if (!pieces_.complete()) return obstacle(Obstacle::Kind::budget, 0, f_.lo(), f_.lo());
    return assemble();
  }

 private:
  // The indices of the pieces with the smallest lower and the largest upper bound along an axis: the hull of the valid
  // points.
  struct Reach {
    std::size_t first = 0, last = 0;
  };

  constexpr std::int64_t begin(std::size_t j) const { return all_[reach_[j].first].lo[j]; }
  constexpr std::int64_t end(std::size_t j) const {
    const Piece& p = all_[reach_[j].last];
    return p.lo[j] + p.extent[j];
  }
  constexpr Index begin() const {
    Index out;
    for (std::size_t j = 0; j < f_.rank(); ++j) out.push_back(begin(j));
    return out;
  }
  constexpr Index end() const {
    Index out;
    for (std::size_t j = 0; j < f_.rank(); ++j) out.push_back(end(j));
    return out;
  }

  constexpr std::optional<Single> add(const Piece& p) {
    const std::size_t k = all_.size();
    all_.push_back(p);
    volume_ += volume(p);
    if (k == 0) reach_.resize(f_.rank());
    for (std::size_t j = 0; j < f_.rank(); ++j) {
      if (p.lo[j] < begin(j)) reach_[j].first = k;
      if (p.lo[j] + p.extent[j] > end(j)) reach_[j].last = k;
      if (p.extent[j] > 1)
        if (const std::optional<Single> no = step(j, p.slope[j], p.lo)) return no;
      if (p.lo[j] > begin(j))
        if (const std::optional<Single> no = look_below(p, j)) return no;
    }
    return std::nullopt;
  }

  // Records that a step along axis j at `at` changes the value by d; an obstacle when another step differs.
  constexpr std::optional<Single> step(std::size_t j, std::int64_t d, const Index& at) {
    if (!step_[j]) {
      stride_[j] = d;
      step_[j] = at;
    }
    if (stride_[j] == d) return std::nullopt;
    return obstacle(Obstacle::Kind::slope, j, at, *step_[j]);
  }

  // Records the step along axis j into the lower corner of p; an obstacle when the point below is invalid.
  constexpr std::optional<Single> look_below(const Piece& p, std::size_t j) {
    Index below = p.lo;
    --below[j];
    const std::optional<std::int64_t> v = value_at(f_, below);
    if (!v) return obstacle(Obstacle::Kind::hole, 0, below, p.lo, all_[reach_[j].first].lo);
    return step(j, difference(p.base, *v), below);
  }

  // The answer when every piece was added without an obstacle.
  constexpr Single assemble() {
    const Index lo = begin(), hi = end();
    if (volume_ != points_of(lo, hi)) return hole(uncovered_point(all_, lo, hi));
    const std::int64_t base = *value_at(f_, lo);
    for (std::size_t j = 0; j < f_.rank(); ++j) {
      Index next = lo;
      ++next[j];
      if (next[j] == hi[j] || step_[j]) continue;
      step_[j] = lo;
      stride_[j] = difference(*value_at(f_, next), base);
    }
    for (const Piece& p : all_)
      if (p.base != on_line(lo, base, p.lo)) return turn(lo, base, p.lo);
    Single out;
    out.found = Answer::yes;
    out.begin = lo;
    out.end = hi;
    out.stride = stride_;
    out.offset = offset_from(base, stride_, lo);
    return out;
  }

  // The obstacle for an invalid point of the hull. From a valid point it moves to the invalid one, one coordinate after
  // another; the first invalid point on the way lies between two valid ones.
  constexpr Single hole(const Index& invalid) const {
    Index at = all_[0].lo;
    for (std::size_t j = 0; j < f_.rank(); ++j) {
      if (at[j] == invalid[j]) continue;
      const bool down = invalid[j] < at[j];
      Index far = all_[down ? reach_[j].first : reach_[j].last].lo;
      if (!down) far[j] = end(j) - 1;
      Index next = at;
      next[j] = invalid[j];
      if (!value_at(f_, next)) return obstacle(Obstacle::Kind::hole, 0, next, at, far);
      at = next;
    }
    STRATA_ASSERT(false, "an invalid point was reached through valid ones");
    return {};
  }

  constexpr Int128 on_line(const Index& from, Int128 base, const Index& to) const {
    for (std::size_t j = 0; j < to.size(); ++j) base += static_cast<Int128>(stride_[j]) * (to[j] - from[j]);
    return base;
  }

  // The obstacle for a value at `to` that is not on the line from `from`: the first step on the way, one axis after
  // another, that is not the axis' stride.
  // @pre all points are valid; the value at `to` is not on the line
  constexpr Single turn(const Index& from, std::int64_t base, const Index& to) const {
    Index low = from;
    for (std::size_t j = 0; j < to.size(); ++j) {
      Index high = low;
      high[j] = to[j];
      if (*value_at(f_, high) == on_line(from, base, high)) {
        low = high;
        continue;
      }
      while (high[j] - low[j] > 1) {  // low is on the line, high is not
        Index mid = low;
        mid[j] += (high[j] - low[j]) / 2;
        (*value_at(f_, mid) == on_line(from, base, mid) ? low : high) = mid;
      }
      return obstacle(Obstacle::Kind::slope, j, low, *step_[j]);
    }
    STRATA_ASSERT(false, "a point off the line was reached along it");
    return {};
  }

  const Piecewise& f_;
  Pieces& pieces_;
  std::vector<Piece> all_;
  std::vector<Reach> reach_;
  std::int64_t volume_ = 0;
  Index stride_;
  std::vector<std::optional<Index>> step_;  // for each axis, the point at which its stride was first seen
};

constexpr Single decide(const Piecewise& f, Pieces& pieces, bool some, const Piece& first) {
  if (some) return pieces.was_cut() ? Decision(f, pieces).run(first) : single_of_piece(first);
  if (!pieces.complete()) return obstacle(Obstacle::Kind::budget, 0, f.lo(), f.lo());
  if (f.rank() == 0) return obstacle(Obstacle::Kind::scalar, 0, f.lo(), f.lo());
  return nowhere_single(f.rank());
}

/// The decision, where `pieces` (started with `budget`) has yielded the first piece (`some`) or none.
constexpr Single conclude(const Piecewise& f, Pieces& pieces, std::uint64_t budget, bool some, const Piece& first) {
  Single out = decide(f, pieces, some, first);
  out.work = budget - pieces.left();
  return out;
}

}  // namespace detail

constexpr Single single(const Piecewise& f, std::uint64_t budget) {
  Pieces pieces(f, budget);
  Piece first;
  const bool some = pieces.next(first);
  return detail::conclude(f, pieces, budget, some, first);
}

}  // namespace strata
