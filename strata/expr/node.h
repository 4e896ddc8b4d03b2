// Node: the interned node behind an Expr, and the functions of the intern table. Internal to expr/.
//
// Memory layout: a 64-byte header, then a payload that depends on `op`:
//   Const   nothing (the value is `lo`)
//   Var     one `const VariableInfo*`
//   Sum     `int64_t k0`, then `arity` Terms, sorted by compare(atom), coefficients nonzero, atoms distinct;
//           at least two terms, or k0 != 0, or a coefficient other than 1 (any other sum is the atom itself)
//   others  `arity` sources
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/base/small_vec.h"
#include "strata/expr/expr.h"

namespace strata {

struct Node;

struct Term {
  std::int64_t coefficient;
  const Node* atom;
};

struct VariableInfo {
  std::string name;
  std::int64_t min;
  std::int64_t max;
  bool bound = false;
  std::int64_t value = 0;  // meaningful when bound
};

/// Flags of a node; each is set iff its comment holds.
enum NodeFlag : std::uint8_t {
  kTight = 1,      // both lo and hi are proven to be attained
  kDense = 2,      // every integer in [lo, hi] is proven to be attained; implies kTight
  kDivMod = 4,     // this is a Div or Mod, or a sum with a Div or Mod among its atoms
  kLinear = 8,     // this is a constant, a variable, or a sum of variables
  kImmortal = 16,  // a small constant: not counted, never freed
  kBound = 32,     // the node has a bound variable in it
};

struct Node {
  mutable std::atomic<std::uint32_t> refs;
  Op op;
  std::uint8_t flags;
  std::uint16_t arity;
  std::uint64_t hash;
  std::uint64_t
      order;  // a prefix of the canonical order: op rank in the top byte, then the name of the leftmost variable
  std::uint64_t variables;        // a Bloom set of the variables in the node: disjoint sets prove independence
  std::int64_t lo, hi;            // bounds; kNegInf and kPosInf when unknown
  std::int64_t modulus, residue;  // value == residue (mod modulus), modulus 0 for a constant

  bool is(Op o) const { return op == o; }
  bool has(NodeFlag f) const { return (flags & f) != 0; }
  bool is_const(std::int64_t v) const { return op == Op::Const && lo == v; }
  bool is_boolean() const { return lo >= 0 && hi <= 1; }

  std::int64_t value() const { return lo; }  // of Const
  const VariableInfo& variable() const {     // of Var
    return **reinterpret_cast<const VariableInfo* const*>(this + 1);
  }
  std::int64_t k0() const { return *reinterpret_cast<const std::int64_t*>(this + 1); }  // of Sum
  std::span<const Term> terms() const {                                                 // of Sum
    return {reinterpret_cast<const Term*>(reinterpret_cast<const std::int64_t*>(this + 1) + 1), arity};
  }
  std::span<const Node* const> sources() const {  // of all ops but Const, Var, Sum
    return {reinterpret_cast<const Node* const*>(this + 1), arity};
  }
  const Node* src(std::size_t i) const { return sources()[i]; }
};

// The size matters for caches on 64-bit targets only; other targets are correct with any size.
static_assert(sizeof(void*) != 8 || sizeof(Node) == 64);

/// Calls f(const Node*) for each direct child, in canonical order.
template <class F>
void for_each_child(const Node* n, F&& f) {
  if (n->op == Op::Const || n->op == Op::Var) return;
  if (n->op == Op::Sum) {
    for (const Term& t : n->terms()) f(t.atom);
  } else {
    for (const Node* s : n->sources()) f(s);
  }
}

/// The k-th child from the end, or null when there are no more: a `source` function for detail::walk().
inline const Node* child_from_end(const Node* n, std::size_t k) {
  if (k >= n->arity) return nullptr;
  const std::size_t at = n->arity - 1 - k;
  return n->op == Op::Sum ? n->terms()[at].atom : n->src(at);
}

/// True for a comparison, `and` or `or`: the value is 0 or 1.
inline bool is_condition(const Node* n) {
  return n->is(Op::Lt) || n->is(Op::Eq) || n->is(Op::Ne) || n->is(Op::And) || n->is(Op::Or);
}

/// Canonical three-way order of nodes; 0 iff they are one node. Follows one path down, not the whole graph.
int compare_nodes(const Node* a, const Node* b);

/// Extends the hash `h` by the value `v`.
inline std::uint64_t mix_hash(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

inline void retain(const Node* n) noexcept {
  if (!n->has(kImmortal)) n->refs.fetch_add(1, std::memory_order_relaxed);
}
/// Drops one count. The last count frees the node, and with a worklist all nodes that die with it.
void release(const Node* n) noexcept;

/// Sound bounds for arithmetic on the extended line: a lower bound is never +infinity, an upper bound never -infinity.
inline std::int64_t lower(const Node* n) { return n->lo == kPosInf ? kPosInf - 1 : n->lo; }
inline std::int64_t upper(const Node* n) { return n->hi == kNegInf ? kNegInf + 1 : n->hi; }

/// A sum under construction: borrowed atoms, sorted, distinct, coefficients nonzero. The owner of a Linear keeps the
/// atoms alive.
struct Linear {
  std::int64_t k0 = 0;
  SmallVec<Term, 8> terms;
};

// The intern table. Each function returns a counted handle on the one node with this content. Nothing is simplified.
Expr intern_constant(std::int64_t value);
Expr intern_variable(const VariableInfo& info);
Expr intern_sum(const Linear& sum);  // a sum without terms gives the constant; 1 * atom + 0 gives the atom
Expr intern(Op op, std::span<const Node* const> sources);
/// A counted pointer to the live node that `intern` would return, or null.
const Node* find_interned(Op op, std::span<const Node* const> sources);
/// The same for the sources `x` and the constant `c`.
const Node* find_interned(Op op, const Node* x, std::int64_t c);

/// The largest number of operands of a node. Wider sums and n-ary ops are nested: one node of kMaxArity operands
/// becomes an operand of the next.
inline constexpr std::size_t kMaxArity = 1024;

/// Computes the bounds, congruence and flags of a node that `intern` is about to create (facts.cpp).
void compute_facts(Node& n);

}  // namespace strata
