// The constructors of canonical expressions: every rewrite rule of the algebra is applied here. Internal to expr/.
//
// `Build` is what the public operators call with no context, and what `simplify_under` calls with the facts that an
// assumption adds. All methods borrow their arguments and return the canonical form.
//   sum.cpp       sums; digits.cpp puts their digits together (x//c*c + x%c = x, ...)
//   divmod.cpp    floor division and modulus by constants; divmod_symbolic.cpp by expressions
//   product.cpp   products, minmax.cpp min and max, compare.cpp < == !=, logic.cpp and or not select
#pragma once

#include "strata/expr/linear.h"
#include "strata/expr/node.h"
#include "strata/expr/rules.h"

namespace strata {

class Context;  // assume.h

class Build {
 public:
  explicit Build(const Context* context = nullptr) : context_(context) {}

  // --- sums (throw Error(overflow) when a coefficient leaves 64 bits) ---
  Expr add(const Expr& a, std::int64_t s, const Expr& b, std::int64_t t) const;  ///< s*a + t*b
  Expr sum(Linear&& l) const;
  Expr scale(const Expr& a, std::int64_t s) const { return add(a, s, a, 0); }
  Expr total(std::vector<Expr> terms) const;  ///< the sum of all

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
  Expr truth(const Expr& x) const;  ///< x != 0 as 0 or 1
  Expr select(const Expr& p, const Expr& a, const Expr& b) const;
  /// The node `op` over these canonical sources, rebuilt: what substitution calls.
  Expr rebuild(const Node* like, std::span<const Expr> sources) const;

  /// Bounds of a sum, with what the context knows.
  Range range(LinearRef l) const;
  Range range(const Expr& e) const { return range(LinearView(e.node())); }

  /// A multiple of something that the context aligns, inside `l`: l = t*sum + rest with t*sum == residue (mod c).
  struct AlignedPart {
    Expr part, rest;
    std::int64_t residue;
  };
  std::optional<AlignedPart> aligned_part(const Expr& x, std::int64_t c) const;

 private:
  /// One rule, or a few of one kind: x // c or x % c, when it applies. `l` is the linear view of x.
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
  Expr lt_zero(Linear&& l) const;  ///< l < 0
  std::optional<Expr> lt_lone(LinearRef l) const;
  bool settle_pairs(Op op, std::vector<Expr>& terms) const;
  std::optional<Expr> pull_shared(Op op, std::vector<Expr>& arms) const;
  std::optional<Expr> select_by_gap(const Expr& p, const Expr& a, const Expr& b) const;
  std::optional<Expr> lt_extremum(const Node* atom, std::int64_t a, std::int64_t k0) const;
  Expr equality(Op op, const Expr& a, const Expr& b) const;

  const Context* context_;
};

/// How deep rules call each other before they decline: a chain of a million nested operations must not become a million
/// stack frames. Past the limit a node is kept as it was written, which is right, only not reduced further.
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

/// A counted handle of `n`.
inline Expr shared(const Node* n) { return Expr::share(n); }
/// `l` without its constant.
inline LinearRef without_constant(LinearRef l) { return {0, l.terms}; }
/// gcd of the coefficients (0 when there are none).
std::int64_t content(LinearRef l);
/// The distinct gcd(coefficient, c) other than 1 and c, in the order of the terms: what a quotient by c may factor through.
SmallVec<std::int64_t, 8> shared_factors(LinearRef l, std::int64_t c);
/// l / g, coefficientwise, with the constant rounded down. @pre g divides every coefficient
Linear divided(LinearRef l, std::int64_t g);
inline Linear copy(LinearRef l) {
  Linear out;
  out.k0 = l.k0;
  out.terms.append(l.terms.data(), l.terms.size());
  return out;
}

}  // namespace strata
