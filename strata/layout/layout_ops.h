// The implementation of layout_algebra.h, apart from the inverses. Internal to layout_algebra.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "strata/layout/layout.h"
#include "strata/layout/layout_compose.h"

namespace strata {

namespace detail {

/// The leaves without those of size 1, joined where one continues the one before.
template <class I>
constexpr typename BasicLayout<I>::Leaves coalesced_leaves(const BasicLayout<I>& l) {
  typename BasicLayout<I>::Leaves out;
  for (const auto& leaf : l.leaves()) {
    if (int_equal(leaf.size, I(1))) continue;
    if (!out.empty() && continues(out.back(), leaf.stride)) {
      out.back().size = int_times(out.back().size, leaf.size);
    } else {
      out.push_back(leaf);
    }
  }
  return out;
}

/// composition(a, b) in the name of `operation`. Layouts of numbers take the exact StaticLayout path.
template <class I>
constexpr BasicLayout<I> compose(std::string_view operation, const BasicLayout<I>& a, const BasicLayout<I>& b,
                                 std::uint64_t budget) {
  if constexpr (std::is_same_v<I, Int>) {
    const std::optional<StaticLayout> x = numbers(a), y = numbers(b);
    if (x && y) return to_layout(Composer<std::int64_t>(operation, *x, *y, budget).run());
  }
  return Composer<I>(operation, a, b, budget).run();
}

/// The leaves that matter for a tiling (stride not 0, size not 1), by increasing stride.
template <class I>
constexpr typename BasicLayout<I>::Leaves sorted_leaves(std::string_view operation, const BasicLayout<I>& l) {
  typename BasicLayout<I>::Leaves out;
  for (const auto& leaf : l.leaves()) {
    if (int_equal(leaf.size, I(1)) || int_equal(leaf.stride, I(0))) continue;
    STRATA_CHECK(int_at_most(I(1), leaf.stride), undefined, "[", operation, "] the stride ", int_text(leaf.stride),
                 " of ", render(l), " is not positive");
    std::size_t at = out.size();
    for (; at > 0 && !int_at_most(out[at - 1].stride, leaf.stride); --at)
      STRATA_CHECK(int_at_most(leaf.stride, out[at - 1].stride), undefined, "[", operation,
                   "] the order of the strides ", int_text(leaf.stride), " and ", int_text(out[at - 1].stride),
                   " depends on the sizes");
    out.insert_at(at, leaf);
  }
  return out;
}

// In a constant expression the compiler shows this function's name.
template <class I>
[[noreturn]] void the_layout_has_no_complement(std::string_view operation, const BasicLayout<I>& a, const I& stride,
                                               const std::optional<I>& period) {
  throw Error(ErrorKind::undefined,
              message("[", operation, "] ", render(a), " has no complement: its stride ", int_text(stride),
                      " is not a multiple of ", period ? int_text(*period) : std::string("more than 2^63"),
                      ", the span of the leaves with smaller strides"));
}

// Divisions and products also need complements; errors then carry the name of that operation.
template <class I>
constexpr BasicLayout<I> complement_of(std::string_view operation, const BasicLayout<I>& a, const I& n) {
  STRATA_CHECK(int_at_most(I(1), n), shape, "[", operation, "] a complement until ", int_text(n),
               ": it must be at least 1");
  typename BasicLayout<I>::Leaves out;
  std::optional<I> period = I(1);
  for (const auto& leaf : sorted_leaves(operation, a)) {
    const std::optional<I> gap = period ? int_quotient(leaf.stride, *period) : std::nullopt;
    if (!gap) the_layout_has_no_complement(operation, a, leaf.stride, period);
    if (!int_equal(*gap, I(1))) out.push_back({*gap, *period});
    period = int_try_times(leaf.size, leaf.stride);
  }
  const I rest = period ? int_ceil_quotient(n, *period) : I(1);
  if (!int_equal(rest, I(1))) out.push_back({rest, *period});
  return BasicLayout<I>::flat(out);
}

template <class I>
constexpr BasicLayout<I> divide(std::string_view operation, const BasicLayout<I>& a, const BasicLayout<I>& b,
                                std::uint64_t budget) {
  return compose(operation, a, make_layout(b, complement_of(operation, b, a.size())), budget);
}

template <class I>
constexpr BasicLayout<I> multiply(std::string_view operation, const BasicLayout<I>& a, const BasicLayout<I>& b,
                                  std::uint64_t budget) {
  const BasicLayout<I> rest = complement_of(operation, a, int_times(a.size(), b.cosize()));
  return make_layout(a, compose(operation, rest, b, budget));
}

/// A tuple under construction from the modes of other layouts.
template <class I>
class ModeList {
 public:
  constexpr void add(const BasicLayout<I>& mode) {
    append_tree(nodes_, leaves_, mode.profile(), mode.leaves());
    ++nodes_[0];
  }
  constexpr void add_modes_of(const BasicLayout<I>& l) {
    if (l.profile()[0] == kLeaf) return add(l);
    nodes_[0] += l.profile()[0];
    nodes_.append(l.profile().data() + 1, l.profile().size() - 1);
    leaves_.append(l.leaves().data(), l.leaves().size());
  }
  constexpr BasicLayout<I> layout() const { return BasicLayout<I>::create(nodes_, leaves_); }

 private:
  Profile nodes_ = Profile(1, 0);
  typename BasicLayout<I>::Leaves leaves_;
};

/// Mode 0 of a pair, whole or (`first_too`) as its modes, followed by the modes of mode 1.
template <class I>
constexpr BasicLayout<I> spread_modes(const BasicLayout<I>& pair, bool first_too) {
  ModeList<I> out;
  if (first_too) {
    out.add_modes_of(pair.mode(0));
  } else {
    out.add(pair.mode(0));
  }
  out.add_modes_of(pair.mode(1));
  return out.layout();
}

/// `l` with modes 1:0 appended up to `rank` modes.
template <class I>
constexpr BasicLayout<I> padded(const BasicLayout<I>& l, std::size_t rank) {
  if (l.rank() >= rank) return l;
  ModeList<I> out;
  out.add_modes_of(l);
  for (std::size_t k = l.rank(); k < rank; ++k) out.add(BasicLayout<I>(1, I(0)));
  return out.layout();
}

template <class I>
constexpr BasicLayout<I> zipped(std::string_view operation, const BasicLayout<I>& a, const BasicLayout<I>& b,
                                bool raked, std::uint64_t budget) {
  const std::size_t rank = a.rank() > b.rank() ? a.rank() : b.rank();
  const BasicLayout<I> block = padded(a, rank);
  const BasicLayout<I> pair = multiply(operation, block, padded(b, rank), budget);
  if (rank == 1) return raked ? make_layout(pair.mode(1), pair.mode(0)) : pair;
  const BasicLayout<I> copies = pair.mode(1);
  ModeList<I> out;
  for (std::size_t k = 0; k < rank; ++k)
    out.add(raked ? make_layout(copies.mode(k), block.mode(k)) : make_layout(block.mode(k), copies.mode(k)));
  return out.layout();
}

}  // namespace detail

template <class I>
constexpr BasicLayout<I> coalesce(const BasicLayout<I>& l) {
  return BasicLayout<I>::flat(detail::coalesced_leaves(l));
}

template <class I>
constexpr BasicLayout<I> flatten(const BasicLayout<I>& l) {
  return BasicLayout<I>::flat(l.leaves());
}

template <class I>
constexpr BasicLayout<I> composition(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                     std::uint64_t budget) {
  return detail::compose("composition", a, b, budget);
}

template <class I>
constexpr BasicLayout<I> complement(const BasicLayout<I>& a, const std::type_identity_t<I>& n) {
  return detail::complement_of("complement", a, n);
}

template <class I>
constexpr BasicLayout<I> logical_divide(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                        std::uint64_t budget) {
  return detail::divide("logical_divide", a, b, budget);
}
template <class I>
constexpr BasicLayout<I> zipped_divide(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                       std::uint64_t budget) {
  return detail::divide("zipped_divide", a, b, budget);
}
template <class I>
constexpr BasicLayout<I> tiled_divide(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                      std::uint64_t budget) {
  return detail::spread_modes(detail::divide("tiled_divide", a, b, budget), false);
}
template <class I>
constexpr BasicLayout<I> flat_divide(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                     std::uint64_t budget) {
  return detail::spread_modes(detail::divide("flat_divide", a, b, budget), true);
}

template <class I>
constexpr BasicLayout<I> logical_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                         std::uint64_t budget) {
  return detail::multiply("logical_product", a, b, budget);
}
template <class I>
constexpr BasicLayout<I> zipped_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                        std::uint64_t budget) {
  return detail::multiply("zipped_product", a, b, budget);
}
template <class I>
constexpr BasicLayout<I> tiled_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                       std::uint64_t budget) {
  return detail::spread_modes(detail::multiply("tiled_product", a, b, budget), false);
}
template <class I>
constexpr BasicLayout<I> flat_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                      std::uint64_t budget) {
  return detail::spread_modes(detail::multiply("flat_product", a, b, budget), true);
}
template <class I>
constexpr BasicLayout<I> blocked_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                         std::uint64_t budget) {
  return detail::zipped("blocked_product", a, b, false, budget);
}
template <class I>
constexpr BasicLayout<I> raked_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                       std::uint64_t budget) {
  return detail::zipped("raked_product", a, b, true, budget);
}

template <class I>
constexpr BasicLayout<I> nullspace(const BasicLayout<I>& a) {
  typename BasicLayout<I>::Leaves out;
  I place = 1;
  for (const auto& leaf : a.leaves()) {
    if (detail::int_equal(leaf.stride, I(0)) && !detail::int_equal(leaf.size, I(1))) out.push_back({leaf.size, place});
    place = detail::int_times(place, leaf.size);
  }
  return BasicLayout<I>::flat(out);
}

template <class I>
constexpr BasicCoordinate<I> idx2crd(const BasicLayout<I>& l, const std::type_identity_t<I>& index) {
  SmallVec<I, 6> digits;
  I above = index;
  for (std::size_t t = 0; t < l.leaves().size(); ++t) {
    if (t + 1 == l.leaves().size()) {
      digits.push_back(above);
    } else {
      auto [quotient, rest] = detail::int_divide(above, l.leaves()[t].size);
      digits.push_back(rest);
      above = quotient;
    }
  }
  return BasicCoordinate<I>::create(l.profile(), digits);
}

}  // namespace strata
