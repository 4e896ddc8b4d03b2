// Build: the constructors of canonical expressions. Every rewrite rule of the algebra is applied here. Internal to
// expr/.
//
// The public operators call a `Build` without a context; `simplify_under` calls one with the facts of an assumption.
// All methods borrow their arguments and return the canonical form.
//   sum.cpp       sums; digits.cpp recombines digits (x//c*c + x%c = x, ...)
//   divmod.cpp    floor division and modulus by constants; divmod_symbolic.cpp by expressions
//   product.cpp   products; minmax.cpp min and max; compare.cpp < == !=; logic.cpp and, or, not, select
#pragma once

#include "strata/expr/linear.h"
#include "strata/expr/node.h"
#include "strata/expr/rules.h"

namespace strata {

class Context;  // assume.h

class Build {
 public:
  explicit Build(const Context* context = nullptr) : context_(context) {}

  // --- sums (throw Error (overflow) when a coefficient does not fit in 64 bits) ---
  Expr add(const Expr& a, std::int64_t s, const Expr& b, std::int64_t t) const;  ///< s*a + t*b
  Expr sum(Linear&& l) const;
  Expr scale(const Expr& a, std::int64_t s) const { return add(a, s, a, 0); }
  Expr total(std::vector<Expr> terms) const;  ///< the sum of all terms

  Expr div(const Expr& x, const Expr& d) const;
  Expr mod(const Expr& x, const Expr& d) const;
  Expr div(const Expr& x, std::int64_t c) const;
  Expr mod(const Expr& x, std::int64_t c) const;
  Expr mul(const Expr& a, const Expr& b) const;
  Expr extremum(Op op, std::span<const Expr> arms) const;  ///< Op::Min or Op::Max
  Expr lt(const Expr& a, const Expr& b) const;             ///< a < b
  Expr eq(const Expr& a, const Expr& b) const;
  Expr ne(const Expr& a, const Expr& b) const;
  Expr junction(Op op, std::span<const Expr> terms) const;  ///< Op::And or Op::Or
  Expr negate(const Expr& condition) const;
  Expr truth(const Expr& x) const;  ///< x != 0, as 0 or 1
  Expr select(const Expr& p, const Expr& a, const Expr& b) const;
  /// The node `like` rebuilt over these canonical sources; substitution calls this.
  Expr rebuild(const Node* like, std::span<const Expr> sources) const;

  /// Bounds of a sum, narrowed by the context.
  Range range(LinearRef l) const;
  Range range(const Expr& e) const { return range(LinearView(e.node())); }

  /// A part of a sum that is a multiple of a sum which the context aligns: x = part + rest, part == residue (mod c).
  struct AlignedPart {
    Expr part, rest;
    std::int64_t residue;
  };
  std::optional<AlignedPart> aligned_part(const Expr& x, std::int64_t c) const;

 private:
  /// One rule, or a few rules of one kind, for x // c or x % c; nothing when no rule applies. `l` is the linear view of
  /// x.
  using DivModRule = std::optional<Expr> (Build::*)(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> div_aligned(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> div_carry(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> div_lone_digit(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> div_lone_choice(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> div_content(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> div_multiple(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> div_affine(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> div_constant(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> div_sign(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> mod_aligned(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> mod_inner(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> mod_reduced(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> mod_content(const Expr& x, LinearRef l, std::int64_t c) const;
  std::optional<Expr> mod_affine(const Expr& x, LinearRef l, std::int64_t c) const;
  Expr div_sum(const Expr& x, std::int64_t c) const;
  Expr mod_sum(const Expr& x, std::int64_t c) const;
  Expr div_symbolic(const Expr& x, const Expr& n) const;
  Expr mod_symbolic(const Expr& x, const Expr& n) const;
  Expr lt_zero(Linear&& l) const;  ///< the condition l < 0
  std::optional<Expr> lt_lone(LinearRef l) const;
  bool settle_pairs(Op op, std::vector<Expr>& terms) const;
  std::optional<Expr> pull_shared(Op op, std::vector<Expr>& arms) const;
  std::optional<Expr> select_by_gap(const Expr& p, const Expr& a, const Expr& b) const;
  std::optional<Expr> lt_extremum(const Node* atom, std::int64_t a, std::int64_t k0) const;
  Expr equality(Op op, const Expr& a, const Expr& b) const;

  const Context* context_;
};

/// Counts how deep rules call each other; beyond 64 they decline. Without a limit, a chain of a million nested
/// operations would become a million stack frames. A node beyond the limit is kept as it was written: correct, but not
/// reduced.
class RuleDepth {
 public:
  RuleDepth() { ++depth_; }
  ~RuleDepth() { --depth_; }
  RuleDepth(const RuleDepth&) = delete;
  RuleDepth& operator=(const RuleDepth&) = delete;
  bool exceeded() const { return depth_ > 64; }

 private:
  static inline thread_local int depth_ = 0;
};

/// A counted handle on `n`.
inline Expr shared(const Node* n) { return Expr::share(n); }
/// `l` without its constant term.
inline LinearRef without_constant(LinearRef l) { return {0, l.terms}; }
/// The gcd of the coefficients; 0 when there are none.
std::int64_t content(LinearRef l);
/// The distinct values gcd(coefficient, c) other than 1 and c, in the order of the terms. A quotient by c may factor
/// through each of them: (l // g) // (c / g).
SmallVec<std::int64_t, 8> shared_factors(LinearRef l, std::int64_t c);
/// l / g in each coefficient, with the constant rounded down. @pre g divides every coefficient
Linear divided(LinearRef l, std::int64_t g);
inline Linear copy(LinearRef l) {
  Linear out;
  out.k0 = l.k0;
  out.terms.append(l.terms.data(), l.terms.size());
  return out;
}

}  // namespace strata
