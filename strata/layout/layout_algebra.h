// The algebra of layouts: coalesce, composition, complement, divisions, products, inverses. Names
// and results are CuTe's, but conditions are exact: a result satisfies its contract at every
// coordinate. Where no layout does, the operation throws Error (undefined) with the place and a
// witness.
//
// All functions are templates over StaticLayout (constant expressions) and Layout. The sizes and
// strides of a Layout may be expressions: the result then holds for every value of their variables,
// and the operation is refused where that is not shown.
//
// Below, |L| is size(L), and L(n) is the value at the integer n, defined in layout.h also beyond
// |L|. R is the result. "R refines B" means: each leaf s:d of B became a leaf of R, or a tuple of
// leaves of product s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "strata/layout/layout.h"
#include "strata/layout/layout_compose.h"

namespace strata {

/// The same function in the fewest leaves, e.g. (2,4):(1,2) gives 8:1. @post R(n) == L(n) for
///   0 <= n < |L|; no leaf of R has size 1 or continues the one before it; `1:0` where |L| == 1.
template <class I>
constexpr BasicLayout<I> coalesce(const BasicLayout<I>& l);

/// The leaves of `l` as modes of one tuple. @post R(n) == l(n)
template <class I>
constexpr BasicLayout<I> flatten(const BasicLayout<I>& l);

/// A o B: first B, then A. @post R refines B (with as few leaves as possible); R(c) == A(B(c)) for
///   every coordinate c of B
/// @throws Error (undefined) when no layout is A o B; (budget) when `budget` steps do not decide
///   this; (overflow)
template <class I>
constexpr BasicLayout<I> composition(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                     std::uint64_t budget = kMergeBudget);

/// The values up to n that A leaves free, in whole periods of A, e.g. complement(4:2, 16) is
/// (2,2):(1,8). Let p be the period: the largest size * stride of A's leaves (without leaves of
/// stride 0 or size 1), or 1. @post R(0) < R(1) < ...; every integer of [0, p * ceil(n / p)) is
/// A(i) + R(j) for exactly one j and one value A(i), and no other integer is. R is coalesced.
/// @throws Error (undefined) when a stride is negative, or when A's leaves, sorted by stride, do not
///   satisfy "size[k] * stride[k] divides stride[k + 1]"; (shape) for n < 1
template <class I>
constexpr BasicLayout<I> complement(const BasicLayout<I>& a, const std::type_identity_t<I>& n);

// --- divisions: A o (B, complement(B, |A|)) ---
// Mode 0 holds the elements of a tile, mode 1 the tiles. The last tiles may reach beyond A.
// @throws as complement(B, |A|) and composition

/// @post (T, R): T refines B, R refines the complement; T(c) == A(B(c)), R(c) == A(complement(c))
template <class I>
constexpr BasicLayout<I> logical_divide(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                        std::uint64_t budget = kMergeBudget);
/// The same modes as logical_divide: (T, R)
template <class I>
constexpr BasicLayout<I> zipped_divide(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                       std::uint64_t budget = kMergeBudget);
/// T as one mode, the modes of R apart: (T, R0, R1, ...)
template <class I>
constexpr BasicLayout<I> tiled_divide(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                      std::uint64_t budget = kMergeBudget);
/// The modes of T and of R apart: (T0, T1, ..., R0, R1, ...)
template <class I>
constexpr BasicLayout<I> flat_divide(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                     std::uint64_t budget = kMergeBudget);

// --- products: copies of A, arranged by B: (A, complement(A, |A| * cosize(B)) o B) ---
// @throws as complement and composition

/// @post (A, P): P refines B; P(c) == complement(B(c))
template <class I>
constexpr BasicLayout<I> logical_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                         std::uint64_t budget = kMergeBudget);
/// The same modes as logical_product: (A, P)
template <class I>
constexpr BasicLayout<I> zipped_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                        std::uint64_t budget = kMergeBudget);
/// A as one mode, the modes of P apart: (A, P0, P1, ...)
template <class I>
constexpr BasicLayout<I> tiled_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                       std::uint64_t budget = kMergeBudget);
/// The modes of A and of P apart: (A0, A1, ..., P0, P1, ...)
template <class I>
constexpr BasicLayout<I> flat_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                      std::uint64_t budget = kMergeBudget);
/// Blocks of A side by side: ((A0,P0), (A1,P1), ...). The shorter of A and B first gets modes 1:0 up
/// to equal rank.
template <class I>
constexpr BasicLayout<I> blocked_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                         std::uint64_t budget = kMergeBudget);
/// Copies of A interleaved: ((P0,A0), (P1,A1), ...). Ranks are equalized as in blocked_product.
template <class I>
constexpr BasicLayout<I> raked_product(const BasicLayout<I>& a, const std::type_identity_t<BasicLayout<I>>& b,
                                       std::uint64_t budget = kMergeBudget);

// --- inverses ---

/// The longest R that A undoes. @post A(R(i)) == i and 0 <= R(i) < |A| for 0 <= i < |R|; no longer
///   layout satisfies this. R is coalesced.
/// @throws Error (budget) when the longest is not found in `budget` steps (leaves of A that
///   overlap); (undefined) for expressions when no result is shown
template <class I>
constexpr BasicLayout<I> right_inverse(const BasicLayout<I>& a, std::uint64_t budget = kMergeBudget);

/// The layout that undoes A. @post R(A(i)) == i for 0 <= i < |A|. R is coalesced.
/// @throws Error (undefined) when no layout satisfies this (two values are equal, a value is
///   negative, ...); (budget)
template <class I>
constexpr BasicLayout<I> left_inverse(const BasicLayout<I>& a, std::uint64_t budget = kMergeBudget);

/// The indices that A sends to 0 by its strides of 0. @post A(R(i)) == 0 for 0 <= i < |R|; R has a
///   leaf for each leaf of A with stride 0, in A's order; `1:0` when A has none.
template <class I>
constexpr BasicLayout<I> nullspace(const BasicLayout<I>& a);

// --- coordinates ---

/// The value at a coordinate: l(c). @throws Error (shape, overflow)
template <class I>
constexpr I crd2idx(const BasicLayout<I>& l, const std::type_identity_t<BasicCoordinate<I>>& c) {
  return l(c);
}
/// The coordinate of an index. @post the coordinate c has l's profile and the digits of `index`, so
///   l(c) == l(index); the last digit is not reduced modulo its size
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
#define STRATA_EXTERN_LAYOUT(function) extern template Layout function(const Layout&, const Layout&, std::uint64_t);
#define STRATA_EACH_LAYOUT_FUNCTION(row)                                                                          \
  row(composition) row(logical_divide) row(zipped_divide) row(tiled_divide) row(flat_divide) row(logical_product) \
      row(zipped_product) row(tiled_product) row(flat_product) row(blocked_product) row(raked_product)
STRATA_EACH_LAYOUT_FUNCTION(STRATA_EXTERN_LAYOUT)
extern template Layout coalesce(const Layout&);
extern template Layout flatten(const Layout&);
extern template Layout nullspace(const Layout&);
extern template Layout complement(const Layout&, const Int&);
extern template Layout right_inverse(const Layout&, std::uint64_t);
extern template Layout left_inverse(const Layout&, std::uint64_t);
extern template Coordinate idx2crd(const Layout&, const Int&);

}  // namespace strata
