// Arithmetic on sums under construction: linear combinations, coefficients, bounds, affine quotients. The constructors
// (build.h) work on these. Internal to expr/.
#pragma once

#include "strata/base/int_math.h"
#include "strata/expr/node.h"

namespace strata {

/// A borrowed sum k0 + terms, from a node or a Linear.
struct LinearRef {
  std::int64_t k0;
  std::span<const Term> terms;
};

/// A node as a sum: a constant (also for a node with one value and no bound variable), a sum, or 1 * node. The
/// LinearRef borrows from the node and from this view.
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

/// out = s * a + t * b. False when a coefficient does not fit in 64 bits.
[[nodiscard]] bool combine(LinearRef a, std::int64_t s, LinearRef b, std::int64_t t, Linear& out);
/// a += t * b in place. False, with `a` unchanged, when a coefficient does not fit in 64 bits.
[[nodiscard]] bool add_scaled(Linear& a, LinearRef b, std::int64_t t);

/// The coefficient of `atom` in `l`; 0 when absent.
std::int64_t coefficient_of(LinearRef l, const Node* atom);
/// Removes the term of `atom` from `l`, if there is one.
void remove_term(Linear& l, const Node* atom);

struct Range {
  std::int64_t lo, hi;  // kNegInf, kPosInf when unknown
};
/// Bounds of a sum in 128 bits. A bound that is not known has its flag false.
struct WideRange {
  Int128 lo, hi;
  bool lo_known, hi_known;
};
WideRange wide_interval(LinearRef l);
/// Rounds a bound to 64 bits: outwards to infinity, inwards to the last finite value.
std::int64_t clamp_lower(Int128 v);
std::int64_t clamp_upper(Int128 v);
/// Interval bounds of a sum.
Range interval(LinearRef l);

/// The floor lemma: floor(l / c) as an affine function of the atoms, when it is one on their box.
/// @pre c > 0.  @post on true, c * quotient <= l < c * (quotient + 1) for all values of the atoms in their bounds.
/// Complete when the atoms are independent and dense: false then means that no affine quotient exists.
[[nodiscard]] bool affine_quotient(LinearRef l, std::int64_t c, Linear& quotient);

}  // namespace strata
