// Composition of layouts: by divisibility where that works, otherwise exactly by pieces. Internal to
// layout_algebra.h.
//
// The result of A o B has B's profile with each leaf refined. For one leaf of B alone, let
// h(i) = A(stride * i). h has a unique expansion h(i) = sum over q of c_q * floor(i / q). It is a
// layout iff the q with c_q != 0 are a chain of divisors whose last one divides the leaf's size. The
// refined leaves are then read off the longest linear starts: of h, of k -> h(q1 * k), and so on.
// All leaves together are a layout iff the values of the refined leaves add up, that is, iff no
// digit of A receives a carry from two modes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "strata/layout/layout.h"
#include "strata/view/single.h"

namespace strata::detail {

/// A layout as a function of all integers, coalesced: one digit for each leaf of `leaves`; the
/// quotient above these digits has stride `tail`.
template <class I>
struct Unbounded {
  typename BasicLayout<I>::Leaves leaves;
  I tail = 0;

  constexpr explicit Unbounded(const BasicLayout<I>& l) {
    const auto& all = l.leaves();
    for (std::size_t t = 0; t + 1 < all.size(); ++t) {
      if (int_equal(all[t].size, I(1))) continue;
      if (!leaves.empty() && continues(leaves.back(), all[t].stride)) {
        leaves.back().size = int_times(leaves.back().size, all[t].size);
      } else {
        leaves.push_back(all[t]);
      }
    }
    if (all.empty()) return;
    tail = all.back().stride;
    if (leaves.empty() || !continues(leaves.back(), tail)) return;
    tail = leaves.back().stride;
    leaves.pop_back();
  }
};

/// Appends to f the steps for: register `out` += a(register `index`). Register `index` is overwritten.
constexpr void append_digits(Piecewise& f, const Unbounded<std::int64_t>& a, std::uint32_t index, std::uint32_t out) {
  std::int64_t place = 1;
  for (const StaticLayout::Leaf& l : a.leaves) place *= l.size;  // at most the size of the layout
  f.digit(index, place, out, a.tail);
  for (std::size_t t = a.leaves.size(); t-- > 0;) {
    place /= a.leaves[t].size;
    f.digit(index, place, out, a.leaves[t].stride);
  }
}

/// For 0 <= i < length a function has the value f(0) + slope * i.
struct Line {
  std::int64_t length, slope;
};

/// The longest line at the start of f on [0, size). Nothing when the budget runs out.
/// @pre f has one dimension, is valid on [0, size), and size > 1
constexpr std::optional<Line> line_from_start(const Piecewise& f, std::int64_t size, std::uint64_t budget) {
  const std::int64_t base = *value_at(f, Index{0});
  std::int64_t slope = 0;
  STRATA_CHECK(try_sub(*value_at(f, Index{1}), base, slope), overflow, "[layout] a stride leaves 64 bits");
  Pieces pieces(f, budget);
  Piece p;
  while (pieces.next(p)) {  // in increasing order
    const bool on_line = static_cast<Int128>(slope) * p.lo[0] + base == p.base;
    if (on_line && (p.extent[0] == 1 || p.slope[0] == slope)) continue;
    return Line{p.lo[0] + (on_line ? 1 : 0), slope};
  }
  if (!pieces.complete()) return std::nullopt;
  return Line{size, slope};
}

// The failures of a composition. In a constant expression the compiler shows the function's name.
[[noreturn]] void the_leaf_is_not_refined_by_a_layout(std::string_view operation, const StaticLayout& a,
                                                      const StaticLayout& b, std::size_t leaf, std::int64_t turn);
[[noreturn]] void modes_carry_into_one_another(std::string_view operation, const StaticLayout& a, const StaticLayout& b,
                                               const SmallVec<std::int64_t, 6>& coordinate, Int128 separately);
[[noreturn]] void the_composition_is_not_decided(std::string_view operation, const StaticLayout& a,
                                                 const StaticLayout& b, std::uint64_t budget);

template <class I>
class Composer {
  using Leaf = typename BasicLayout<I>::Leaf;

 public:
  constexpr Composer(std::string_view operation, const BasicLayout<I>& a, const BasicLayout<I>& b, std::uint64_t budget)
      : operation_(operation), a_(a), b_(b), digits_(a), budget_(budget) {
    loads_.resize(digits_.leaves.size(), I(0));
  }

  constexpr BasicLayout<I> run() {
    std::size_t leaf = 0;
    for (const std::int32_t n : b_.profile()) {
      if (n == kLeaf) {
        refine(leaf++);
      } else {
        nodes_.push_back(n);
      }
    }
    if (!no_carry()) check_sums();
    return BasicLayout<I>::create(nodes_, leaves_);
  }

 private:
  constexpr void refine(std::size_t t) {
    const std::size_t first = leaves_.size();
    if (!refine_by_division(b_.leaves()[t])) {
      leaves_.truncate(first);
      spread_.truncate(first);
      certain_ = false;
      refine_by_pieces(t);
    }
    const std::size_t count = leaves_.size() - first;
    if (count != 1) nodes_.push_back(static_cast<std::int32_t>(count));
    nodes_.resize(nodes_.size() + count, kLeaf);
    owner_.resize(leaves_.size(), t);
  }

  // Appends a leaf to the result. `spread` is its stride in B, and becomes that of the next leaf.
  constexpr void take(const I& size, const I& stride, I& spread) {
    leaves_.push_back({size, stride});
    spread_.push_back(spread);
    if (const std::optional<I> next = int_try_times(spread, size)) spread = *next;
  }

  // Refines a leaf of B by division: its digits are A's digits above the leaf's stride. `rest` is the
  // part of the stride, and `left` the part of the size, that A's leaves so far do not cover. False
  // when digits of A and of the leaf do not divide one another.
  constexpr bool refine_by_division(const Leaf& b) {
    I spread = b.stride, left = b.size, rest = b.stride;
    if (int_equal(left, I(1))) {
      take(left, value_of(rest), spread);
      return true;
    }
    if (int_equal(rest, I(0))) {
      take(left, I(0), spread);
      return true;
    }
    if (!digits_.leaves.empty() && !int_at_most(I(1), rest)) return false;
    for (std::size_t k = 0; k < digits_.leaves.size(); ++k) {
      const Leaf& a = digits_.leaves[k];
      const std::optional<I> reach = int_try_times(int_plus(left, I(-1)), rest);
      if (reach && int_at_most(*reach, int_plus(a.size, I(-1)))) {
        loads_[k] = int_plus(loads_[k], *reach);
        take(left, int_times(a.stride, rest), spread);
        return true;
      }
      if (const std::optional<I> skipped = int_quotient(rest, a.size)) {
        rest = *skipped;
        continue;
      }
      const std::optional<I> count = int_quotient(a.size, rest);
      const std::optional<I> above = count ? int_quotient(left, *count) : std::nullopt;
      if (!above) return false;
      loads_[k] = int_plus(loads_[k], int_plus(a.size, int_times(rest, I(-1))));
      take(*count, int_times(a.stride, rest), spread);
      if (int_equal(*above, I(1))) return true;
      left = *above;
      rest = 1;
    }
    take(left, int_times(digits_.tail, rest), spread);
    return true;
  }

  // The stride of a result leaf of size 1: A's value at the leaf's stride. 0 when this is not a
  // number or does not fit in 64 bits (a leaf of size 1 may have any stride).
  constexpr I value_of(const I& index) const {
    if (digits_.leaves.empty()) return int_try_times(digits_.tail, index).value_or(I(0));
    std::optional<std::int64_t> rest = int_number(index);
    Int128 out = 0;
    for (const Leaf& l : digits_.leaves) {
      const std::optional<std::int64_t> s = int_number(l.size), d = int_number(l.stride);
      if (!s || !d || !rest) return I(0);
      out += static_cast<Int128>(floor_mod(*rest, *s)) * *d;
      rest = floor_div(*rest, *s);
    }
    const std::optional<std::int64_t> tail = int_number(digits_.tail);
    if (!tail || !rest) return I(0);
    out += static_cast<Int128>(*rest) * *tail;
    return out < kNegInf || out > kPosInf ? I(0) : I(static_cast<std::int64_t>(out));
  }

  // True iff no digit of A overflows when all leaves of B are at their last index.
  constexpr bool no_carry() const {
    if (!certain_) return false;
    for (std::size_t k = 0; k < loads_.size() && b_.leaves().size() != 1; ++k)
      if (!int_at_most(loads_[k], int_plus(digits_.leaves[k].size, I(-1)))) return false;
    return true;
  }

  constexpr void refine_by_pieces(std::size_t t) {
    if constexpr (std::is_same_v<I, std::int64_t>) {
      std::int64_t left = b_.leaves()[t].size, spread = b_.leaves()[t].stride;
      while (left > 1) {
        const Line line = linear_start(spread, left);
        if (left % line.length != 0)
          the_leaf_is_not_refined_by_a_layout(operation_, a_, b_, t, b_.leaves()[t].size / left * line.length);
        take(line.length, line.slope, spread);
        left /= line.length;
      }
    } else {
      refuse_symbolic(t);
    }
  }
  void refuse_symbolic(std::size_t t) const {
    STRATA_CHECK(false, undefined, "[", operation_, "] leaf ", t, " of ", render(b_), ", seen through ", render(a_),
                 ", is not shown to be a layout for all sizes: the digits do not divide one another");
  }

  // The longest start [0, length) on which i -> A(stride * i) is linear, for 0 <= i < size.
  constexpr Line linear_start(std::int64_t stride, std::int64_t size) {
    Piecewise f(Index{0}, Index{size});
    const std::uint32_t index = f.load(0, Index{stride});
    const std::uint32_t out = f.load(0);
    append_digits(f, digits_, index, out);
    f.result(out);
    const std::optional<Line> line = line_from_start(f, size, budget_);
    if (!line) the_composition_is_not_decided(operation_, a_, b_, budget_);
    return *line;
  }

  // Throws unless A(B(c)) is the sum of the refined leaves for all c.
  constexpr void check_sums() {
    if constexpr (std::is_same_v<I, std::int64_t>) {
      Index extent, slope;
      SmallVec<std::size_t, 6> leaf;
      for (std::size_t t = 0; t < leaves_.size(); ++t) {
        if (leaves_[t].size == 1) continue;
        extent.push_back(leaves_[t].size);
        slope.push_back(spread_[t]);
        leaf.push_back(t);
      }
      Piecewise f(Index(extent.size(), 0), extent);
      const std::uint32_t index = f.load(0, slope);
      const std::uint32_t out = f.load(0);
      append_digits(f, digits_, index, out);
      f.result(out);
      const Single form = single(f, budget_);
      if (form.found == Answer::unknown) the_composition_is_not_decided(operation_, a_, b_, budget_);
      if (form.found == Answer::yes) return;
      const std::optional<Witness> w = find_carry(f, form.obstacle, leaf);
      STRATA_ASSERT(w, "[", operation_, "] an obstacle without a witness");
      modes_carry_into_one_another(operation_, a_, b_, w->coordinate, w->separately);
    } else {
      STRATA_CHECK(false, undefined, "[", operation_, "] the modes of ", render(b_), " may carry into one another in ",
                   render(a_), " for some sizes");
    }
  }
  struct Witness {
    SmallVec<std::int64_t, 6> coordinate;  // one index for each leaf of B
    Int128 separately;                     // the sum of the refined leaves' values there
  };
  // A coordinate at which A(B(c)) is not the sum: one of the obstacle's two points, or its neighbour along
  // the obstacle's axis.
  constexpr std::optional<Witness> find_carry(const Piecewise& f, const Obstacle& obstacle,
                                              const SmallVec<std::size_t, 6>& leaf) const {
    for (int place = 0; place < 4; ++place) {
      Index at = place < 2 ? obstacle.at : obstacle.other;
      at[obstacle.axis] += place % 2;
      if (at[obstacle.axis] >= f.extent()[obstacle.axis]) continue;
      Int128 sum = 0;
      SmallVec<std::int64_t, 6> coordinate(b_.leaves().size(), 0);
      for (std::size_t j = 0; j < leaf.size(); ++j) {
        sum += static_cast<Int128>(leaves_[leaf[j]].stride) * at[j];
        coordinate[owner_[leaf[j]]] += place_in_owner(leaf[j]) * at[j];
      }
      if (value_at(f, at) != sum) return Witness{coordinate, sum};
    }
    return std::nullopt;
  }
  constexpr std::int64_t place_in_owner(std::size_t leaf) const {
    std::int64_t place = 1;
    for (std::size_t t = leaf; t > 0 && owner_[t - 1] == owner_[leaf]; --t) place *= leaves_[t - 1].size;
    return place;
  }

  std::string_view operation_;
  const BasicLayout<I>& a_;
  const BasicLayout<I>& b_;
  const Unbounded<I> digits_;
  const std::uint64_t budget_;
  SmallVec<I, 6> loads_;  // for each digit of A, the most that all leaves of B together add to it
  bool certain_ = true;   // loads_ covers every leaf so far
  Profile nodes_;
  typename BasicLayout<I>::Leaves leaves_;  // of the result
  SmallVec<I, 6> spread_;                   // the strides of the result's leaves in B
  SmallVec<std::size_t, 6> owner_;          // for each result leaf, the leaf of B that it refines
};

}  // namespace strata::detail
