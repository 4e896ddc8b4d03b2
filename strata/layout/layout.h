// Layouts: functions from coordinates to integers, given by a hierarchy of sizes and strides. They
// have CuTe's semantics and notation, e.g. `((2,4),8):((1,16),2)`. layout_algebra.h has the
// operations on them; layout_convert.h converts Views.
//
// A layout is a tuple of modes; a mode is a leaf `size:stride` or a tuple of modes. The leaves, in
// order, are the digits of an index, the first one fastest (colexicographic). The value of an index
// is the sum of digit * stride:
//   L(n) = sum over leaves t of stride[t] * digit[t],
//   digit[t] = n / (product of the sizes before t) % size[t]
// The last leaf is not reduced modulo its size, so L is defined for every integer n: beyond the size
// of L, and below 0 (`/` and `%` floor), the layout continues in its last leaf. A coordinate is an
// integer, or a tuple with one coordinate for each mode: each mode is then evaluated as a layout of
// its own, and the values are added. E.g. (3,4):(4,1) maps 5 and (2,1) to 2 * 4 + 1 * 1 = 9.
//
// Form. A tuple of one mode is written as that mode: `(3):(1)` is `3:1`. Sizes are at least 1;
// strides have any sign. The empty layout `():()` has size 1 and value 0.
//
// BasicLayout<std::int64_t> (StaticLayout) works in constant expressions. BasicLayout<Int> (Layout)
// also takes expressions as sizes and strides; a condition on them must then be shown for every value
// of their variables.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/layout/layout_int.h"
#include "strata/view/int.h"

namespace strata {

/// The tree of modes without sizes and strides: nodes in preorder; a tuple is its number of
/// children, a leaf is kLeaf. E.g. (2,(3,4)) is {2, kLeaf, 2, kLeaf, kLeaf}.
using Profile = SmallVec<std::int32_t, 12>;
inline constexpr std::int32_t kLeaf = -1;

namespace detail {

/// The index of the node after the subtree that starts at node `at`.
constexpr std::size_t subtree_end(const Profile& nodes, std::size_t at) {
  for (std::int64_t open = 1; open != 0; ++at) open += nodes[at] == kLeaf ? -1 : nodes[at] - 1;
  return at;
}

/// `nodes` with every tuple of one child replaced by that child.
constexpr Profile without_singletons(const Profile& nodes) {
  Profile out;
  for (const std::int32_t n : nodes)
    if (n != 1) out.push_back(n);
  return out;
}

constexpr bool is_well_formed(const Profile& nodes, std::size_t leaves) {
  std::int64_t open = 1;
  for (const std::int32_t n : nodes) {
    if (open == 0 || n < kLeaf) return false;
    open += n == kLeaf ? -1 : n - 1;
    leaves -= n == kLeaf ? 1 : 0;
  }
  return open == 0 && leaves == 0;
}

}  // namespace detail

/// A coordinate: an integer, or a tuple of coordinates.
template <class I>
class BasicCoordinate {
 public:
  template <class T>
    requires std::convertible_to<T, I>
  constexpr BasicCoordinate(const T& value) : nodes_(1, kLeaf), values_(1, I(value)) {}
  /// @throws Error (shape) unless `nodes` is one tree with as many leaves as there are values.
  static constexpr BasicCoordinate create(const Profile& nodes, const SmallVec<I, 6>& values) {
    STRATA_CHECK(detail::is_well_formed(nodes, values.size()), shape, "[coordinate] the profile is not that of ",
                 values.size(), " values");
    return BasicCoordinate(detail::without_singletons(nodes), values);
  }

  constexpr const Profile& profile() const { return nodes_; }
  constexpr const SmallVec<I, 6>& values() const { return values_; }
  friend constexpr bool operator==(const BasicCoordinate&, const BasicCoordinate&) = default;

 private:
  constexpr BasicCoordinate(const Profile& nodes, const SmallVec<I, 6>& values) : nodes_(nodes), values_(values) {}
  Profile nodes_;
  SmallVec<I, 6> values_;
};

/// A layout over numbers or expressions: a tree of modes with a size and a stride at each leaf.
template <class I>
class BasicLayout {
 public:
  /// A mode without inner modes.
  struct Leaf {
    I size = 1, stride = 0;
    friend constexpr bool operator==(const Leaf& a, const Leaf& b) { return a.size == b.size && a.stride == b.stride; }
  };
  using Leaves = SmallVec<Leaf, 6>;

  /// The empty layout `():()`.
  constexpr BasicLayout() : nodes_(1, 0) {}
  /// The leaf `size:stride`. An integer n converts to the layout `n:1`. @throws as create
  template <class T>
    requires std::convertible_to<T, I>
  constexpr BasicLayout(const T& size, I stride = 1) : nodes_(1, kLeaf) {
    leaves_.push_back(Leaf{I(size), std::move(stride)});
    check();
  }
  /// @throws Error (shape) for a size that is not (shown to be) at least 1, or for nodes that are
  ///   not one tree with as many leaves; (overflow) when the size, or a value inside it, does not
  ///   fit in 64 bits (checked when all sizes and strides are numbers).
  static constexpr BasicLayout create(const Profile& nodes, const Leaves& leaves);
  /// The tuple `(a,b,...)` of the leaves; a single leaf by itself; `1:0` for none. @throws as create
  static constexpr BasicLayout flat(const Leaves& leaves);

  constexpr const Profile& profile() const { return nodes_; }
  /// All leaves, the fastest first.
  constexpr const Leaves& leaves() const { return leaves_; }
  /// The number of modes; 1 for a leaf.
  constexpr std::size_t rank() const { return nodes_[0] == kLeaf ? 1 : static_cast<std::size_t>(nodes_[0]); }
  /// The depth of the tree: 0 for a leaf, 1 for a tuple of leaves and for `():()`.
  constexpr std::size_t depth() const;
  /// Mode k; a leaf is its own mode 0. @throws Error (shape) unless k < rank()
  constexpr BasicLayout mode(std::size_t k) const;
  /// True iff all sizes and strides are numbers.
  constexpr bool is_concrete() const;

  /// The number of coordinates: the product of the sizes. @throws Error (overflow), unless the layout
  ///   is concrete: create has checked it then
  constexpr I size() const {
    I out = 1;
    for (const Leaf& l : leaves_) out = detail::int_times(out, l.size);
    return out;
  }
  /// The number of elements that memory must span: largest value - smallest value + 1.
  /// @throws Error (overflow); (undefined) when the sign of a stride is not shown
  constexpr I cosize() const;
  /// L(index), by the definition at the top of this file. @throws Error (overflow)
  template <class T>
    requires std::convertible_to<T, I>
  constexpr I operator()(const T& index) const {
    return value(0, leaves_.size(), I(index));
  }
  /// The value at coordinate `c`. An integer may stand for a whole mode: (5,3) and ((1,2),3) are one
  ///   place of ((2,4),8). @throws Error (shape) unless each tuple of `c` has as many coordinates as the tuple of modes
  ///   at its place, e.g. for a tuple where the layout has a leaf; (overflow)
  constexpr I operator()(const BasicCoordinate<I>& c) const;
  /// The value at a tuple of one coordinate for each mode, e.g. l(1, 3). @throws as above
  template <class... C>
    requires(sizeof...(C) >= 2 && (std::convertible_to<C, BasicCoordinate<I>> && ...))
  constexpr I operator()(const C&... coordinates) const;

  /// True iff both layouts are written the same.
  friend constexpr bool operator==(const BasicLayout& a, const BasicLayout& b) {
    return a.nodes_ == b.nodes_ && a.leaves_ == b.leaves_;
  }

 private:
  constexpr BasicLayout(const Profile& nodes, const Leaves& leaves) : nodes_(nodes), leaves_(leaves) {}
  constexpr I value(std::size_t first, std::size_t last, I index) const;
  constexpr void check() const;

  Profile nodes_;
  Leaves leaves_;
};

using Layout = BasicLayout<Int>;
using StaticLayout = BasicLayout<std::int64_t>;
using Coordinate = BasicCoordinate<Int>;
using StaticCoordinate = BasicCoordinate<std::int64_t>;

/// The layout with the given modes; a single mode by itself, `():()` for none. @throws as create
template <class I, class... Rest>
constexpr BasicLayout<I> make_layout(const BasicLayout<I>& first, const Rest&... rest);
Layout make_layout(const std::vector<Layout>& modes);
/// The coordinate `(a,b,...)`; a single one by itself. Each is an integer or a coordinate.
template <class... C>
Coordinate coordinate(const C&... c);
template <class... C>
constexpr StaticCoordinate static_coordinate(const C&... c);

/// The layout over numbers; nothing when a size or stride is an expression.
std::optional<StaticLayout> numbers(const Layout& layout);
Layout to_layout(const StaticLayout& layout);

/// The text of a layout: `((2,4),8):((1,16),2)`, `3:1`, `():()`; expressions as Int renders them.
std::string render(const Layout& layout);
std::string render(const StaticLayout& layout);
/// The text of a coordinate: `(1,(2,3))`, `5`.
std::string render(const Coordinate& c);
std::string render(const StaticCoordinate& c);

/// Reads the text of a layout of numbers; blanks are skipped. @post parse_layout(render(l)) == l, when
/// l.is_concrete().
/// @throws Error with the column: (parse) for bad text; (overflow) for a literal beyond 64 bits;
///   (shape) when sizes and strides nest differently or a size is below 1. Without a column:
///   (overflow) as create
Layout parse_layout(std::string_view text);
/// The same with sizes and strides in the grammar of parse.h over `variables`: `(n,4):(4,1)`.
/// @throws also as parse for each size and stride; (shape) for a size that is not shown to be at
///   least 1
Layout parse_layout(std::string_view text, const std::vector<Variable>& variables);
/// Reads the text of a coordinate. @throws Error (parse, overflow) with the column
Coordinate parse_coordinate(std::string_view text);

/// The values L(0), L(1), ..., L(size - 1). @throws Error (undefined) when a size or stride is an
/// expression; (budget) when there are more than `most` values
std::vector<std::int64_t> table(const Layout& layout, std::int64_t most = std::int64_t{1} << 24);

// --- implementation ---

namespace detail {

/// @throws Error (overflow) when the size, or a value inside it, does not fit in 64 bits.
template <class Leaves>
constexpr void check_layout_range(const Leaves& leaves) {
  std::int64_t size = 1;
  Int128 least = 0, most = 0;
  bool fits = true;
  for (const auto& l : leaves) {
    const std::optional<std::int64_t> s = int_number(l.size), d = int_number(l.stride);
    if (!s || !d) return;
    const Int128 reach = static_cast<Int128>(*s - 1) * *d;
    fits = fits && try_mul(size, *s, size);
    (reach < 0 ? least : most) += reach;
  }
  STRATA_CHECK(fits, overflow, "[layout] the size leaves 64 bits");
  STRATA_CHECK(least >= kNegInf && most <= kPosInf, overflow, "[layout] a value leaves 64 bits");
}

/// True iff a leaf of stride `stride` continues `prev`: prev.size * prev.stride == stride. The two
/// are then one leaf.
template <class Leaf, class I>
constexpr bool continues(const Leaf& prev, const I& stride) {
  const std::optional<std::int64_t> s = int_number(prev.size), d = int_number(prev.stride), next = int_number(stride);
  if (s && d && next) return static_cast<Int128>(*s) * *d == *next;
  return int_equal(int_times(prev.size, prev.stride), stride);
}

/// Appends the tree `part` with its values to an open tuple.
template <class List, class Item>
constexpr void append_tree(Profile& nodes, List& items, const Profile& part, const Item& values) {
  nodes.append(part.data(), part.size());
  items.append(values.data(), values.size());
}

}  // namespace detail

template <class I>
constexpr BasicLayout<I> BasicLayout<I>::create(const Profile& nodes, const Leaves& leaves) {
  STRATA_CHECK(detail::is_well_formed(nodes, leaves.size()), shape, "[layout] the profile is not that of ",
               leaves.size(), " leaves");
  const BasicLayout out(detail::without_singletons(nodes), leaves);
  out.check();
  return out;
}

template <class I>
constexpr void BasicLayout<I>::check() const {
  for (const Leaf& l : leaves_)
    STRATA_CHECK(detail::int_at_most(I(1), l.size), shape, "[layout] the size ", detail::int_text(l.size),
                 " is not at least 1");
  detail::check_layout_range(leaves_);
}

template <class I>
constexpr BasicLayout<I> BasicLayout<I>::flat(const Leaves& leaves) {
  if (leaves.empty()) return BasicLayout(1, I(0));
  Profile nodes(1, static_cast<std::int32_t>(leaves.size()));
  nodes.resize(leaves.size() + 1, kLeaf);
  return create(nodes, leaves);
}

template <class I>
constexpr std::size_t BasicLayout<I>::depth() const {
  SmallVec<std::int32_t, 12> open;  // of each tuple around: the children that are still to come
  std::size_t out = 0;
  for (const std::int32_t n : nodes_) {
    if (n != kLeaf) open.push_back(n);
    if (open.size() > out) out = open.size();
    if (n == kLeaf && !open.empty()) --open.back();
    while (!open.empty() && open.back() == 0) {
      open.pop_back();
      if (!open.empty()) --open.back();
    }
  }
  return out;
}

template <class I>
constexpr BasicLayout<I> BasicLayout<I>::mode(std::size_t k) const {
  STRATA_CHECK(k < rank(), shape, "[layout] there is no mode ", k, ": the rank is ", rank());
  if (nodes_[0] == kLeaf) return *this;
  std::size_t at = 1, leaf = 0;
  Profile nodes;
  Leaves leaves;
  for (std::size_t m = 0; m <= k; ++m) {
    const std::size_t end = detail::subtree_end(nodes_, at);
    for (; at < end; ++at) {
      if (m == k) nodes.push_back(nodes_[at]);
      if (nodes_[at] != kLeaf) continue;
      if (m == k) leaves.push_back(leaves_[leaf]);
      ++leaf;
    }
  }
  return BasicLayout(nodes, leaves);
}

template <class I>
constexpr bool BasicLayout<I>::is_concrete() const {
  for (const Leaf& l : leaves_)
    if (!detail::int_number(l.size) || !detail::int_number(l.stride)) return false;
  return true;
}

template <class I>
constexpr I BasicLayout<I>::cosize() const {
  I out = 1;
  for (const Leaf& l : leaves_) {
    const I reach = detail::int_times(detail::int_plus(l.size, I(-1)), l.stride);
    const bool rises = detail::int_at_most(I(0), reach);
    STRATA_CHECK(rises || detail::int_at_most(reach, I(0)), undefined, "[cosize] the sign of ", detail::int_text(reach),
                 " is not the same for all sizes");
    out = detail::int_plus(out, rises ? reach : detail::int_times(reach, I(-1)));
  }
  return out;
}

// The value of `index` in the leaves [first, last), taken as a layout of their own.
template <class I>
constexpr I BasicLayout<I>::value(std::size_t first, std::size_t last, I index) const {
  I out = 0;
  for (std::size_t t = first; t < last; ++t) {
    I digit = index;
    if (t + 1 < last) {
      auto [quotient, rest] = detail::int_divide(index, leaves_[t].size);
      digit = rest;
      index = quotient;
    }
    out = detail::int_plus(out, detail::int_times(digit, leaves_[t].stride));
  }
  return out;
}

template <class I>
constexpr I BasicLayout<I>::operator()(const BasicCoordinate<I>& c) const {
  I out = 0;
  std::size_t at = 0, leaf = 0, number = 0;
  for (const std::int32_t n : c.profile()) {
    if (n != kLeaf) {
      const std::int32_t modes = nodes_[at++];
      STRATA_CHECK(modes == n, shape, "[crd2idx] a tuple of ", n, " coordinates stands where the layout has ",
                   modes == kLeaf ? 1 : static_cast<std::int64_t>(modes), " modes");
      continue;
    }
    const std::size_t end = detail::subtree_end(nodes_, at);
    const std::size_t first = leaf;
    for (; at < end; ++at) leaf += nodes_[at] == kLeaf ? 1 : 0;
    out = detail::int_plus(out, value(first, leaf, c.values()[number++]));
  }
  return out;
}

template <class I>
template <class... C>
  requires(sizeof...(C) >= 2 && (std::convertible_to<C, BasicCoordinate<I>> && ...))
constexpr I BasicLayout<I>::operator()(const C&... coordinates) const {
  Profile nodes(1, static_cast<std::int32_t>(sizeof...(C)));
  SmallVec<I, 6> values;
  const auto append = [&](const BasicCoordinate<I>& c) { detail::append_tree(nodes, values, c.profile(), c.values()); };
  (append(coordinates), ...);
  return (*this)(BasicCoordinate<I>::create(nodes, values));
}

template <class I, class... Rest>
constexpr BasicLayout<I> make_layout(const BasicLayout<I>& first, const Rest&... rest) {
  Profile nodes(1, static_cast<std::int32_t>(1 + sizeof...(Rest)));
  typename BasicLayout<I>::Leaves leaves;
  const auto append = [&](const BasicLayout<I>& l) { detail::append_tree(nodes, leaves, l.profile(), l.leaves()); };
  append(first);
  (append(rest), ...);
  return BasicLayout<I>::create(nodes, leaves);
}

namespace detail {

template <class I, class... C>
constexpr BasicCoordinate<I> make_coordinate(const C&... c) {
  Profile nodes(1, static_cast<std::int32_t>(sizeof...(C)));
  SmallVec<I, 6> values;
  const auto append = [&](const BasicCoordinate<I>& part) {
    append_tree(nodes, values, part.profile(), part.values());
  };
  (append(c), ...);
  return BasicCoordinate<I>::create(nodes, values);
}

}  // namespace detail

template <class... C>
Coordinate coordinate(const C&... c) {
  return detail::make_coordinate<Int>(c...);
}
template <class... C>
constexpr StaticCoordinate static_coordinate(const C&... c) {
  return detail::make_coordinate<std::int64_t>(c...);
}

extern template class BasicCoordinate<Int>;
extern template class BasicLayout<Int>;

}  // namespace strata
