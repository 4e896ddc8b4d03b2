// Arithmetic on sums under construction. Internal to expr/.
#pragma once

#include "strata/base/int_math.h"
#include "strata/expr/node.h"

namespace strata {

/// A borrowed sum: a node seen as k0 + terms, or a Linear.
struct LinearRef {
  std::int64_t k0;
  std::span<const Term> terms;
};

/// A node seen as a sum: a constant, a sum, or 1 * node. The view borrows from the node and from itself.
class LinearView {
 public:
  explicit LinearView(const Node* n) : own_{1, n} {
    if (n->lo == n->hi && !n->has(kBound)) {
      ref_ = {n->lo, {}};
    } else if (n->is(Op::Sum)) {
      ref_ = {n->k0(), n->terms()};
    } else {
      ref_ = {0, {&own_, 1}};
    }
  }
  LinearView(const LinearView&) = delete;
  LinearView& operator=(const LinearView&) = delete;
  operator LinearRef() const { return ref_; }
  const LinearRef* operator->() const { return &ref_; }

 private:
  Term own_;
  LinearRef ref_;
};

inline LinearRef ref(const Linear& l) { return {l.k0, {l.terms.data(), l.terms.size()}}; }

/// out = s * a + t * b; false when a coefficient leaves 64 bits.
[[nodiscard]] bool combine(LinearRef a, std::int64_t s, LinearRef b, std::int64_t t, Linear& out);
/// a += t * b in place.
[[nodiscard]] bool add_scaled(Linear& a, LinearRef b, std::int64_t t);

/// The coefficient of `atom` in `l`, 0 when absent.
std::int64_t coefficient_of(LinearRef l, const Node* atom);
/// Takes the term of `atom` out of `l`.
void remove_term(Linear& l, const Node* atom);

struct Range {
  std::int64_t lo, hi;  // kNegInf, kPosInf when unknown
};
/// Bounds of a sum before they are cut to 64 bits; a side that is not known says so.
struct WideRange {
  Int128 lo, hi;
  bool lo_known, hi_known;
};
WideRange wide_interval(LinearRef l);
/// Rounds to 64 bits: outwards to infinity, inwards to the last finite value.
std::int64_t clamp_lower(Int128 v);
std::int64_t clamp_upper(Int128 v);
/// Interval bounds of a sum.
Range interval(LinearRef l);

/// Lemma: floor(l / c) as an affine function of the atoms, when it is one on their box.
/// @pre c > 0.  @post on true, c * quotient <= l < c * (quotient + 1) for all values of the atoms in their bounds; exact
/// when the atoms are independent and dense: then false means that no affine quotient exists.
[[nodiscard]] bool affine_quotient(LinearRef l, std::int64_t c, Linear& quotient);

}  // namespace strata
