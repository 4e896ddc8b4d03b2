// The algebra of layouts: coalesce, composition, complement, divisions, products, inverses. Names
// and results are CuTe's; the conditions are exact: an answer satisfies its contract for every
// coordinate, and is refused with Error (undefined), which names the place and a witness, where no
// layout does.
//
// All functions are templates over StaticLayout (constant expressions) and Layout (sizes and
// strides may be expressions: then an answer holds for every value of their variables, and is
// refused where that is not shown).
//
// |L| is size(L), L(n) the value at the integer n, from the definition in layout.h; L(n) is defined
// beyond |L|. "Refines": each leaf s:d of the original is a leaf, or a tuple of leaves of product
// s, in the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "strata/layout/layout.h"
#include "strata/layout/layout_compose.h"

namespace strata {

/// @post R(n) == L(n) for 0 <= n < |L|; no leaf of R has size 1 or continues the one before it;
///   `1:0` where |L| == 1.
template <class I>
constexpr BasicLayout<I> coalesce(const BasicLayout<I>& l);

/// The leaves of `l` as modes. @post R(n) == l(n)
template <class I>
constexpr BasicLayout<I> flatten(const BasicLayout<I>& l);

/// A o B. @post R refines B (as little as possible); R(c) == A(B(c)) for every coordinate c of B
/// @throws Error (undefined) when no layout does; (budget) when that is not decided in `budget`
///   steps; (overflow)
template <class I>
constexpr BasicLayout<I> composition(const BasicLayout<I>& a,
                                     const std::type_identity_t<BasicLayout<I>>& b,
                                     std::uint64_t budget = kMergeBudget);

/// What A leaves free up to n, in whole periods of A. Let p be the period: the largest size *
/// stride of A's leaves (without stride 0 and size 1), or 1. @post R(0) < R(1) < ...; every integer
/// of [0, p * ceil(n / p)) is A(i) + R(j) for exactly one j and one value A(i), and nothing else
/// is. R is coalesced.
/// @throws Error (undefined) where a stride is negative, or A's leaves, sorted by stride, do not
///   satisfy size[k] * stride[k] divides stride[k + 1]; (shape) for n < 1
template <class I>
constexpr BasicLayout<I> complement(const BasicLayout<I>& a, const std::type_identity_t<I>& n);

// --- divisions: A o (B, complement(B, |A|)) ---
// Mode 0 holds the elements of a tile, mode 1 the tiles. It may reach beyond A.
// @throws as complement(B, |A|) and composition

/// @post (T, R): T refines B, R the complement; T(c) == A(B(c)), R(c) == A(complement(c))
template <class I>
constexpr BasicLayout<I> logical_divide(const BasicLayout<I>& a,
                                        const std::type_identity_t<BasicLayout<I>>& b,
                                        std::uint64_t budget = kMergeBudget);
/// The same modes: (T, R)
template <class I>
constexpr BasicLayout<I> zipped_divide(const BasicLayout<I>& a,
                                       const std::type_identity_t<BasicLayout<I>>& b,
                                       std::uint64_t budget = kMergeBudget);
/// (T, R0, R1, ...)
template <class I>
constexpr BasicLayout<I> tiled_divide(const BasicLayout<I>& a,
                                      const std::type_identity_t<BasicLayout<I>>& b,
                                      std::uint64_t budget = kMergeBudget);
/// (T0, T1, ..., R0, R1, ...)
template <class I>
constexpr BasicLayout<I> flat_divide(const BasicLayout<I>& a,
                                     const std::type_identity_t<BasicLayout<I>>& b,
                                     std::uint64_t budget = kMergeBudget);

// --- products: A, repeated as B says: (A, complement(A, |A| * cosize(B)) o B) ---
// @throws as complement and composition

/// @post (A, P): P refines B; P(c) == complement(B(c))
template <class I>
constexpr BasicLayout<I> logical_product(const BasicLayout<I>& a,
                                         const std::type_identity_t<BasicLayout<I>>& b,
                                         std::uint64_t budget = kMergeBudget);
/// The same modes: (A, P)
template <class I>
constexpr BasicLayout<I> zipped_product(const BasicLayout<I>& a,
                                        const std::type_identity_t<BasicLayout<I>>& b,
                                        std::uint64_t budget = kMergeBudget);
/// (A, P0, P1, ...)
template <class I>
constexpr BasicLayout<I> tiled_product(const BasicLayout<I>& a,
                                       const std::type_identity_t<BasicLayout<I>>& b,
                                       std::uint64_t budget = kMergeBudget);
/// (A0, A1, ..., P0, P1, ...)
template <class I>
constexpr BasicLayout<I> flat_product(const BasicLayout<I>& a,
                                      const std::type_identity_t<BasicLayout<I>>& b,
                                      std::uint64_t budget = kMergeBudget);
/// ((A0,P0), (A1,P1), ...): A and B are given modes 1:0 up to equal rank first. Blocks of A lie
/// side by side.
template <class I>
constexpr BasicLayout<I> blocked_product(const BasicLayout<I>& a,
                                         const std::type_identity_t<BasicLayout<I>>& b,
                                         std::uint64_t budget = kMergeBudget);
/// ((P0,A0), (P1,A1), ...): the copies of A are interleaved.
template <class I>
constexpr BasicLayout<I> raked_product(const BasicLayout<I>& a,
                                       const std::type_identity_t<BasicLayout<I>>& b,
                                       std::uint64_t budget = kMergeBudget);

// --- inverses ---

/// @post A(R(i)) == i and 0 <= R(i) < |A| for 0 <= i < |R|; no longer layout does that. R is
///   coalesced.
/// @throws Error (budget) where the longest is not found in `budget` steps (leaves of A that
///   overlap); (undefined) for expressions where it is not shown
template <class I>
constexpr BasicLayout<I> right_inverse(const BasicLayout<I>& a, std::uint64_t budget = kMergeBudget);

/// @post R(A(i)) == i for 0 <= i < |A|. R is coalesced.
/// @throws Error (undefined) when no layout does that (two values are equal, one is negative, ...);
///   (budget)
template <class I>
constexpr BasicLayout<I> left_inverse(const BasicLayout<I>& a, std::uint64_t budget = kMergeBudget);

/// @post A(R(i)) == 0 for 0 <= i < |R|; R has A's leaves of stride 0, in A's order, and 1:0 where
///   there is none.
template <class I>
constexpr BasicLayout<I> nullspace(const BasicLayout<I>& a);

// --- coordinates ---

/// The value at a coordinate: l(c). @throws Error (shape, overflow)
template <class I>
constexpr I crd2idx(const BasicLayout<I>& l, const std::type_identity_t<BasicCoordinate<I>>& c) {
  return l(c);
}
/// @post the coordinate c with l's profile whose digits are those of `index`: l(c) == l(index); the
///   last takes all that is left
template <class I>
constexpr BasicCoordinate<I> idx2crd(const BasicLayout<I>& l, const std::type_identity_t<I>& index);

template <class I>
constexpr I size(const BasicLayout<I>& l) {
  return l.size();
}
template <class I>
constexpr I cosize(const BasicLayout<I>& l) {
  return l.cosize();
}

}  // namespace strata

#include "strata/layout/layout_inverse.h"
#include "strata/layout/layout_ops.h"

namespace strata {

// Layouts of Int are compiled once, in layout.cpp.
#define STRATA_EXTERN_LAYOUT(function) \
  extern template Layout function(const Layout&, const Layout&, std::uint64_t);
#define STRATA_EACH_LAYOUT_FUNCTION(row)                                                     \
  row(composition) row(logical_divide) row(zipped_divide) row(tiled_divide) row(flat_divide) \
      row(logical_product) row(zipped_product) row(tiled_product) row(flat_product)          \
          row(blocked_product) row(raked_product)
STRATA_EACH_LAYOUT_FUNCTION(STRATA_EXTERN_LAYOUT)
extern template Layout coalesce(const Layout&);
extern template Layout flatten(const Layout&);
extern template Layout nullspace(const Layout&);
extern template Layout complement(const Layout&, const Int&);
extern template Layout right_inverse(const Layout&, std::uint64_t);
extern template Layout left_inverse(const Layout&, std::uint64_t);
extern template Coordinate idx2crd(const Layout&, const Int&);

}  // namespace strata
