// Exact integer expressions over bounded variables: `Expr` (a handle on an immutable expression), `Variable`, the
// operators that build expressions, and functions that evaluate, substitute, bound and prove them. Views, layouts and
// the compiler compute their indices with these types.
//
// Meaning. Values are mathematical integers: arithmetic never wraps. A result that does not fit in 64 bits is an Error
// (overflow). `/` and `%` are floor division and floor modulus, like Python's // and %. A condition is an integer:
// nonzero is true, and comparisons give 0 or 1. The *box* of an expression is the set of all assignments of its
// variables within their bounds. An expression that divides by zero somewhere on its box cannot be built.
//
// Form. Every constructor and operator returns the canonical form, so an expression needs no extra step before it is
// compared, printed or stored. Nodes are immutable and hash-consed: equal structure is one node, and `same(a, b)`
// compares two pointers. (`a == b` builds the condition.)
//
// Threads. Any thread may call any function at any time. Handles are values, like std::shared_ptr: two threads may use
// two handles on one node, but must not write to one handle at once. A node dies with its last handle.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

struct Node;

/// The ops of the algebra. Their order is the canonical order of operands (ops.def).
enum class Op : std::uint8_t {
#define STRATA_EXPR_OP(name, text, meaning) name,
#include "strata/expr/ops.def"
};

/// The symbol of `op` in ops.def: "+", "//", "min", ...
std::string_view to_string(Op op);

/// Properties that hold for every value of an expression on its box.
struct Facts {
  std::int64_t min = 0;      ///< lower bound; INT64_MIN when no bound in 64 bits is known
  std::int64_t max = 0;      ///< upper bound; INT64_MAX when no bound in 64 bits is known
  std::int64_t modulus = 1;  ///< value == residue (mod modulus); 0 for a constant
  std::int64_t residue = 0;  ///< in [0, modulus), or the constant
  bool exact = false;        ///< true iff both bounds are proven to be attained
};

/// How much work an analysis may do.
enum class Effort : std::uint8_t {
  rules,  ///< the rewrite rules alone: about linear time
  exact,  ///< the rules, then tables and search over the box within `exact_budget()` (exact.h)
};

/// A handle on an immutable, interned expression: one pointer, never null. Copying adds one to a reference count.
class Expr {
 public:
  Expr() noexcept;  ///< the constant 0
  /// The constant `value`.
  template <std::integral T>
  Expr(T value) : Expr(constant(static_cast<std::int64_t>(value))) {
    static_assert(sizeof(T) < 8 || std::is_signed_v<T>, "Expr constants are signed 64-bit integers");
  }
  Expr(const Expr& other) noexcept;
  Expr(Expr&& other) noexcept;
  Expr& operator=(const Expr& other) & noexcept;
  Expr& operator=(Expr&& other) & noexcept;
  ~Expr();

  Op op() const;
  bool is_constant() const { return op() == Op::Const; }
  bool is_variable() const { return op() == Op::Var; }
  /// The value of a constant. @throws Error (undefined) when the expression is not constant.
  std::int64_t value() const;
  /// The value of a constant; nothing for any other expression.
  std::optional<std::int64_t> constant() const;

  /// Sound bounds: vmin() <= value <= vmax() on the whole box. O(1).
  /// @throws Error (overflow) when no bound in 64 bits is known.
  std::int64_t vmin() const;
  std::int64_t vmax() const;
  /// Bounds and congruence of the values. With Effort::rules: the node's own facts; unless its bounds are proven tight,
  /// the bounds are also sharpened along the variables in which the expression is monotone (for expressions of at most
  /// 1,024 nodes and 16 variables). Effort::exact gives tight facts on every box of up to 16,384 points.
  Facts facts(Effort effort = Effort::rules) const;

  /// The text in the specification's notation, e.g. `(((idx0%10)*10)+(idx0//10))`.
  std::string render() const;

  /// True for a nonzero constant, false for 0. This lets `if (a == b)` work where the algebra decides the condition;
  /// call `prove` where it may not. @throws Error (undefined) when the expression is not constant.
  explicit operator bool() const;

  /// Structural hash: the same in every process and on every thread.
  std::uint64_t hash() const;

  // For the algebra itself: `adopt`, `share` and `release` move reference counts between handles and plain pointers.
  const Node* node() const { return node_; }
  static Expr adopt(const Node* counted) { return Expr(counted, Adopt{}); }  ///< takes over one count from the caller
  static Expr share(const Node* node);                                       ///< adds one count
  const Node* release() noexcept;  ///< gives its count to the caller; this handle becomes 0

 private:
  struct Adopt {};
  Expr(const Node* node, Adopt) : node_(node) {}
  static Expr constant(std::int64_t value);
  const Node* node_;
};

/// True iff `a` and `b` are one node: iff their canonical forms are written the same. O(1). Sound for equality, not
/// complete: two nodes may be the same function (see `prove_equal`).
inline bool same(const Expr& a, const Expr& b) { return a.node() == b.node(); }

/// Canonical order: by op, then natural order of names, then sources; negative, 0 or positive. It does not depend on
/// history, addresses or threads.
int compare(const Expr& a, const Expr& b);

/// A named integer with inclusive bounds, e.g. `Variable("i", 0, 9)`. Two Variables are the same iff their names,
/// bounds and bindings are equal.
class Variable : public Expr {
 public:
  /// @throws Error (domain) when min > max; (parse) when the name is not an identifier.
  Variable(std::string_view name, std::int64_t min, std::int64_t max);
  std::string_view name() const;
  std::int64_t min() const;
  std::int64_t max() const;

  /// The variable with a value attached. The algebra still uses its bounds, so derived facts hold for every value;
  /// `evaluate` uses `value`. @throws Error (domain) when `value` is outside the bounds.
  Variable bind(std::int64_t value) const;
  /// The variable without its value, and that value. @throws Error (undefined) when no value is bound.
  std::pair<Variable, std::int64_t> unbind() const;
  std::optional<std::int64_t> bound_value() const;

  /// `e` as a Variable. @throws Error (undefined) when `e` is not a variable.
  static Variable from(const Expr& e);

 private:
  explicit Variable(Expr e) : Expr(std::move(e)) {}
};

// --- arithmetic: each returns the canonical form. Error (overflow) when a constant does not fit in 64 bits. ---
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator*(const Expr& a, const Expr& b);
/// Floor division. @throws Error (domain) when the divisor cannot be shown to exclude 0.
Expr operator/(const Expr& a, const Expr& b);
/// Floor modulus: a == b * (a / b) + a % b. @throws Error (domain) when the divisor cannot be shown to exclude 0.
Expr operator%(const Expr& a, const Expr& b);
/// The quotient rounded up: -((-a) / b). @throws as operator/.
Expr ceildiv(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
/// condition != 0 ? a : b.
Expr select(const Expr& condition, const Expr& a, const Expr& b);
Expr sum(std::span<const Expr> terms);     ///< 0 when empty
Expr all_of(std::span<const Expr> terms);  ///< `and` of all terms, 1 when empty (the specification's Node.ands)

inline Expr& operator+=(Expr& a, const Expr& b) { return a = a + b; }
inline Expr& operator-=(Expr& a, const Expr& b) { return a = a - b; }
inline Expr& operator*=(Expr& a, const Expr& b) { return a = a * b; }
inline Expr& operator/=(Expr& a, const Expr& b) { return a = a / b; }
inline Expr& operator%=(Expr& a, const Expr& b) { return a = a % b; }

// --- conditions: 0 or 1 ---
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
Expr operator>(const Expr& a, const Expr& b);
Expr operator>=(const Expr& a, const Expr& b);
Expr operator==(const Expr& a, const Expr& b);
Expr operator!=(const Expr& a, const Expr& b);
Expr operator&&(const Expr& a, const Expr& b);
Expr operator||(const Expr& a, const Expr& b);
Expr operator!(const Expr& a);

// --- reading ---
/// The operands of `e`: none for a constant or variable. For a sum: k0 unless it is 0, then each coefficient * atom.
std::vector<Expr> sources(const Expr& e);
/// The variables that occur in `e`, in natural order.
std::vector<Variable> variables(const Expr& e);

/// The affine form k0 + sum of coefficient * variable.
struct AffineForm {
  std::int64_t constant = 0;
  std::vector<std::pair<Variable, std::int64_t>> coefficients;  ///< natural order, nonzero
};
/// `e` in affine form; nothing when `e` is not affine in its variables.
std::optional<AffineForm> affine_form(const Expr& e);

// --- values and substitution ---
using Values = std::vector<std::pair<Variable, std::int64_t>>;
/// The value of `e`. A bound variable that `values` leaves out takes its bound value.
/// @throws Error (parse) for a variable without a value; (domain) for a value outside its variable's bounds;
///   (overflow) when an intermediate value does not fit in 64 bits.
std::int64_t evaluate(const Expr& e, const Values& values = {});

using Substitution = std::vector<std::pair<Expr, Expr>>;
/// `e` with each `first` replaced by its `second`, all at the same time; the result is canonical. A key may be any
/// expression, e.g. `substitute(e, {{i / 4, j}})`.
/// @throws as the operators that rebuild the result.
Expr substitute(const Expr& e, const Substitution& map);

/// `e` at each point of the box of `unrolled`, in row-major order (the last variable varies fastest). Other variables
/// stay. @throws Error (budget) above 2^20 expressions.
std::vector<Expr> expand(const Expr& e, std::span<const Variable> unrolled);
/// The specification's `expand_node`: `expand` over the variables named `_uidx...`, in natural order.
std::vector<Expr> expand_node(const Expr& e);

/// `e` with every bound variable replaced by the same variable without a value; and the values that were bound.
std::pair<Expr, Values> unbind(const Expr& e);

// --- reasoning ---
/// `e` in its simplest known form. With Effort::rules the result is `e` itself, since constructors apply the rules.
Expr simplify(const Expr& e, Effort effort = Effort::rules);
/// The simplest known form of `e` where `assumption` holds. Elsewhere the value of the result is unspecified.
Expr simplify_under(const Expr& e, const Expr& assumption, Effort effort = Effort::rules);

enum class Answer : std::uint8_t { yes, no, unknown };
/// An answer, with a counterexample for `no`.
struct Proof {
  Answer answer = Answer::unknown;
  Values counterexample;  ///< when `no`: an assignment of the variables that makes the condition false
};
/// Does `condition` hold at every point of the box where `assumption` holds? `yes` and `no` are always proven;
/// `unknown` means that neither the rules nor a search within `exact_budget()` decided.
Proof prove(const Expr& condition, const Expr& assumption = 1);

/// Do `a` and `b` agree on the whole box? The counterexample is a point where they differ.
Proof prove_equal(const Expr& a, const Expr& b);

/// The number of live nodes in the process, without constants of small magnitude (those are never freed).
std::size_t live_nodes();

}  // namespace strata

template <>
struct std::hash<strata::Expr> {
  std::size_t operator()(const strata::Expr& e) const noexcept { return static_cast<std::size_t>(e.hash()); }
};
