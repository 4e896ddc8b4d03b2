// Inverses of layouts. Internal to layout_algebra.h.
//
// Where A's leaves, sorted by stride, do not overlap, both inverses are read off directly. Leaves
// that overlap, or whose strides do not divide one another, are rare; for numbers a search within a
// budget then gives the exact answer. A right inverse is built leaf by leaf: with leaves of total
// size q, the next leaf must start at a preimage of q. A left inverse has the form sum over q of
// c_q * floor(a / q) over a chain of divisors q; the equations for the c_q are linear.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "strata/layout/layout.h"
#include "strata/layout/layout_ops.h"

namespace strata::detail {

// The failures of an inverse. In a constant expression the compiler shows the function's name.
[[noreturn]] void the_inverse_is_not_shown(std::string_view operation, const Layout& a);
[[noreturn]] void the_inverse_is_not_decided(std::string_view operation, const StaticLayout& a, std::uint64_t budget);
[[noreturn]] void two_indices_have_one_value(const StaticLayout& a, std::int64_t i, std::int64_t j);
[[noreturn]] void a_value_is_negative(const StaticLayout& a, std::int64_t i);
[[noreturn]] void no_layout_sends_values_back(const StaticLayout& a);

/// A leaf and its place: the amount by which one step of the leaf changes the index.
template <class I>
struct PlacedLeaf {
  I size = 1, stride = 0, place = 1;
};
template <class I>
using PlacedLeaves = SmallVec<PlacedLeaf<I>, 6>;

/// The leaves of `l`, coalesced, with their places in `l`.
template <class I>
constexpr PlacedLeaves<I> placed_leaves(const BasicLayout<I>& l) {
  PlacedLeaves<I> out;
  I place = 1;
  for (const auto& leaf : l.leaves()) {
    if (int_equal(leaf.size, I(1))) continue;
    if (!out.empty() && continues(out.back(), leaf.stride)) {
      out.back().size = int_times(out.back().size, leaf.size);
    } else {
      out.push_back({leaf.size, leaf.stride, place});
    }
    place = int_times(place, leaf.size);
  }
  return out;
}

/// Finds the longest right inverse by trying all chains of leaves.
class RightInverseSearch {
  using Leaf = StaticLayout::Leaf;

 public:
  /// @pre a.size() <= budget
  constexpr RightInverseSearch(const StaticLayout& a, std::uint64_t budget) : budget_(budget) {
    const std::int64_t n = a.size();
    for (std::int64_t i = 0; i < n; ++i) value_.push_back(a(i));
    // the indices of each value in [0, n), by counting sort
    first_.resize(static_cast<std::size_t>(n) + 1, 0);
    for (const std::int64_t v : value_)
      if (v >= 0 && v < n) ++first_[static_cast<std::size_t>(v) + 1];
    for (std::size_t v = 1; v < first_.size(); ++v) first_[v] += first_[v - 1];
    index_.resize(first_.back(), 0);
    std::vector<std::size_t> next(first_.begin(), first_.end());
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t v = value_[static_cast<std::size_t>(i)];
      if (v >= 0 && v < n) index_[next[static_cast<std::size_t>(v)]++] = i;
    }
    while (reach_ < n && !preimages_empty(reach_)) ++reach_;
    inverse_.resize(static_cast<std::size_t>(reach_), 0);
  }

  /// The leaves of the longest right inverse; nothing when the budget runs out first.
  constexpr std::optional<StaticLayout::Leaves> run() {
    extend(1);
    return budget_ == 0 && best_size_ < reach_ ? std::nullopt : std::optional(best_);
  }

 private:
  constexpr bool preimages_empty(std::int64_t v) const {
    return first_[static_cast<std::size_t>(v)] == first_[static_cast<std::size_t>(v) + 1];
  }

  // leaves_ is a right inverse of size q. Tries every leaf on top. Each leaf at least doubles the
  // size, so the depth is below 63.
  constexpr void extend(std::int64_t q) {
    if (q > best_size_) {
      best_size_ = q;
      best_ = leaves_;
    }
    if (q >= reach_) return;
    for (std::size_t k = first_[static_cast<std::size_t>(q)]; k < first_[static_cast<std::size_t>(q) + 1]; ++k) {
      const std::int64_t stride = index_[k];
      if (!leaves_.empty() && continues(leaves_.back(), stride)) continue;  // one longer leaf
      const std::int64_t most = longest(q, stride);
      // the values for the longest leaf start with the values for every shorter leaf
      for (std::int64_t i = q; i < q * most; ++i)
        inverse_[static_cast<std::size_t>(i)] = inverse_[static_cast<std::size_t>(i % q)] + i / q * stride;
      for (std::int64_t size = most; size > 1; --size) {
        if (budget_ == 0 || best_size_ == reach_) return;
        if (reach_ / (q * size) * (q * size) <= best_size_) continue;
        leaves_.push_back({size, stride});
        extend(q * size);
        leaves_.pop_back();
      }
    }
  }
  // The largest size of a leaf of this stride on top of leaves_.
  constexpr std::int64_t longest(std::int64_t q, std::int64_t stride) {
    std::int64_t i = q;
    for (; i < reach_ && budget_ != 0; ++i) {
      --budget_;
      const std::int64_t at = inverse_[static_cast<std::size_t>(i % q)] + i / q * stride;
      if (at >= static_cast<std::int64_t>(value_.size()) || value_[static_cast<std::size_t>(at)] != i) break;
    }
    return i / q;
  }

  std::uint64_t budget_;
  std::vector<std::int64_t> value_, index_, inverse_;
  std::vector<std::size_t> first_;  // index_[first_[v] ... first_[v + 1]) are the indices of value v
  std::int64_t reach_ = 0;          // every value of [0, reach_) occurs: no right inverse is longer
  StaticLayout::Leaves leaves_, best_;
  std::int64_t best_size_ = 0;
};

/// Finds a left inverse, or shows that there is none.
class LeftInverseSearch {
 public:
  /// @pre a.size() <= budget; a's strides are positive
  constexpr LeftInverseSearch(const StaticLayout& a, std::uint64_t budget) : budget_(budget) {
    const std::int64_t n = a.size();
    for (std::int64_t i = 0; i < n; ++i) wanted_.push_back({a(i), i});
    std::sort(wanted_.begin(), wanted_.end());
    for (std::size_t k = 1; k < wanted_.size(); ++k)
      if (wanted_[k].first == wanted_[k - 1].first)
        two_indices_have_one_value(a, wanted_[k - 1].second, wanted_[k].second);
  }

  /// @post nothing and left() == 0: not decided; nothing and left() != 0: there is no left inverse
  constexpr std::optional<StaticLayout::Leaves> run() {
    State start;
    start.moduli.push_back(1);
    start.solution.push_back(0);
    start.free.push_back(Numbers{1});
    return solve(start, 1) ? std::optional(found_) : std::nullopt;
  }
  constexpr std::uint64_t left() const { return budget_; }

 private:
  using Numbers = std::vector<std::int64_t>;
  // The coefficients c for the moduli q that reproduce the values so far: `solution` plus any integer
  // combination of the vectors in `free`.
  struct State {
    Numbers moduli, solution;
    std::vector<Numbers> free;
  };

  // True iff some further moduli above the state's reproduce all values from number `from` on.
  constexpr bool solve(const State& state, std::size_t from) {
    State without = state;
    std::size_t end = from;
    while (end < wanted_.size() && require(without, wanted_[end])) ++end;
    const std::uint64_t cost = (end - from) / 64 + 1;
    if (budget_ <= cost) budget_ = 0;
    if (budget_ == 0) return false;
    budget_ -= cost;
    if (end == wanted_.size()) return finish(without);
    // a new modulus must enter at one of the values up to the first that failed
    State before = state;
    for (std::size_t k = from; k <= end; ++k) {
      const std::int64_t step = state.moduli.back();
      const std::int64_t above = std::max(wanted_[k - 1].first, step);
      for (std::int64_t q = (above / step + 1) * step; q <= wanted_[k].first; q += step) {
        if (budget_ == 0) return false;
        State next = before;
        next.moduli.push_back(q);
        next.solution.push_back(0);
        for (Numbers& direction : next.free) direction.push_back(0);
        next.free.push_back(Numbers(next.moduli.size(), 0));
        next.free.back().back() = 1;
        if (solve(next, k)) return true;
      }
      if (k < end) require(before, wanted_[k]);
    }
    return false;
  }

  static constexpr std::int64_t at(const Numbers& c, const State& s, std::int64_t a) {
    std::int64_t out = 0;
    for (std::size_t t = 0; t < c.size(); ++t) out = int_plus(out, int_times(c[t], floor_div(a, s.moduli[t])));
    return out;
  }
  static constexpr void add(Numbers& to, const Numbers& from, std::int64_t scale) {
    for (std::size_t t = 0; t < to.size(); ++t) to[t] = int_plus(to[t], int_times(from[t], scale));
  }
  // Restricts the state to the coefficients that also reproduce `wanted`; false when there are none.
  static constexpr bool require(State& s, const std::pair<std::int64_t, std::int64_t>& wanted) {
    const std::int64_t missing = wanted.second - at(s.solution, s, wanted.first);
    Numbers share;
    for (const Numbers& direction : s.free) share.push_back(at(direction, s, wanted.first));
    // Euclid's algorithm on the shares: all of them but one become 0
    std::size_t kept = share.size();
    for (std::size_t k = 0; k < share.size(); ++k) {
      if (share[k] == 0) continue;
      if (kept == share.size()) {
        kept = k;
        continue;
      }
      while (share[k] != 0) {
        const std::int64_t times = share[kept] / share[k];
        add(s.free[kept], s.free[k], -times);
        share[kept] -= times * share[k];
        std::swap(share[kept], share[k]);
        std::swap(s.free[kept], s.free[k]);
      }
    }
    if (kept == share.size()) return missing == 0;
    if (missing % share[kept] != 0) return false;
    add(s.solution, s.free[kept], missing / share[kept]);
    s.free.erase(s.free.begin() + static_cast<std::ptrdiff_t>(kept));
    return true;
  }
  constexpr bool finish(const State& s) {
    std::int64_t stride = 0;
    const std::int64_t top = wanted_.back().first;
    for (std::size_t t = 0; t < s.moduli.size(); ++t) {
      const bool last = t + 1 == s.moduli.size();
      if (t != 0) stride = int_times(stride, s.moduli[t] / s.moduli[t - 1]);
      stride = int_plus(stride, s.solution[t]);
      found_.push_back({last ? top / s.moduli[t] + 1 : s.moduli[t + 1] / s.moduli[t], stride});
    }
    return true;
  }

  std::uint64_t budget_;
  std::vector<std::pair<std::int64_t, std::int64_t>> wanted_;  // (value, index) pairs by increasing value
  StaticLayout::Leaves found_;
};

/// The right inverse of leaves that follow one another without a gap from stride 1 on, when every
/// other leaf has stride 0 or starts beyond them. Nothing when this is not shown to be the longest.
template <class I>
constexpr std::optional<typename BasicLayout<I>::Leaves> chain_inverse(PlacedLeaves<I> rest) {
  typename BasicLayout<I>::Leaves out;
  std::optional<I> next = I(1);
  for (std::size_t k = 0; k < rest.size() && next;) {
    if (int_equal(rest[k].stride, *next)) {
      out.push_back({rest[k].size, rest[k].place});
      next = int_try_times(*next, rest[k].size);
      rest.erase_at(k);
      k = 0;
    } else {
      ++k;
    }
  }
  for (const PlacedLeaf<I>& leaf : rest)
    if (!int_equal(leaf.stride, I(0)) && !(next && int_at_most(*next, int_plus(leaf.stride, I(-1)))))
      return std::nullopt;
  return out;
}

/// The left inverse of leaves whose strides, sorted, divide one another and leave room for each leaf
/// below the next stride. Nothing otherwise.
template <class I>
constexpr std::optional<typename BasicLayout<I>::Leaves> divided_inverse(const PlacedLeaves<I>& leaves) {
  PlacedLeaves<I> sorted;
  for (const PlacedLeaf<I>& leaf : leaves) {
    if (!int_at_most(I(1), leaf.stride)) return std::nullopt;
    std::size_t at = sorted.size();
    for (; at > 0 && !int_at_most(sorted[at - 1].stride, leaf.stride); --at)
      if (!int_at_most(leaf.stride, sorted[at - 1].stride)) return std::nullopt;
    sorted.insert_at(at, leaf);
  }
  typename BasicLayout<I>::Leaves out;
  if (!sorted.empty() && !int_equal(sorted[0].stride, I(1))) out.push_back({sorted[0].stride, I(0)});
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    if (k + 1 == sorted.size()) {
      out.push_back({sorted[k].size, sorted[k].place});
      continue;
    }
    const std::optional<I> room = int_quotient(sorted[k + 1].stride, sorted[k].stride);
    if (!room || !int_at_most(sorted[k].size, *room)) return std::nullopt;
    out.push_back({*room, sorted[k].place});
  }
  return out;
}

constexpr StaticLayout search_right_inverse(const StaticLayout& a, std::uint64_t budget) {
  if (static_cast<std::uint64_t>(a.size()) <= budget)
    if (const auto found = RightInverseSearch(a, budget).run()) return coalesce(StaticLayout::flat(*found));
  the_inverse_is_not_decided("right_inverse", a, budget);
}

constexpr StaticLayout search_left_inverse(const StaticLayout& a, std::uint64_t budget) {
  std::int64_t place = 1;
  for (const StaticLayout::Leaf& leaf : a.leaves()) {
    if (leaf.size > 1 && leaf.stride == 0) two_indices_have_one_value(a, 0, place);
    if (leaf.size > 1 && leaf.stride < 0) a_value_is_negative(a, place);
    place *= leaf.size;
  }
  if (static_cast<std::uint64_t>(a.size()) > budget) the_inverse_is_not_decided("left_inverse", a, budget);
  LeftInverseSearch search(a, budget);
  if (const auto found = search.run()) return coalesce(StaticLayout::flat(*found));
  if (search.left() == 0) the_inverse_is_not_decided("left_inverse", a, budget);
  no_layout_sends_values_back(a);
}

}  // namespace strata::detail

namespace strata {

template <class I>
constexpr BasicLayout<I> right_inverse(const BasicLayout<I>& a, std::uint64_t budget) {
  if (const auto chain = detail::chain_inverse(detail::placed_leaves(a))) return coalesce(BasicLayout<I>::flat(*chain));
  if constexpr (std::is_same_v<I, Int>) {
    if (const std::optional<StaticLayout> n = numbers(a)) return to_layout(detail::search_right_inverse(*n, budget));
    detail::the_inverse_is_not_shown("right_inverse", a);
  } else {
    return detail::search_right_inverse(a, budget);
  }
}

template <class I>
constexpr BasicLayout<I> left_inverse(const BasicLayout<I>& a, std::uint64_t budget) {
  if (const auto divided = detail::divided_inverse(detail::placed_leaves(a)))
    return coalesce(BasicLayout<I>::flat(*divided));
  if constexpr (std::is_same_v<I, Int>) {
    if (const std::optional<StaticLayout> n = numbers(a)) return to_layout(detail::search_left_inverse(*n, budget));
    detail::the_inverse_is_not_shown("left_inverse", a);
  } else {
    return detail::search_left_inverse(a, budget);
  }
}

}  // namespace strata
