// Exact integer expressions over bounded variables: the handle `Expr`, `Variable`, and everything that builds them.
//
// Meaning. Values are mathematical integers: nothing wraps; a result that does not fit in 64 bits is an Error
// (overflow). `/` and `%` are floor division and its modulus, as Python's // and %. Conditions count as 0 and 1, and
// any integer is a condition: nonzero is true. An expression that divides by zero somewhere on its variables' box
// cannot be built.
//
// Form. Every constructor returns the canonical form, so there is nothing to call before comparing, printing or
// storing an expression. Nodes are immutable and hash-consed: equal structure is the same node, `same(a, b)` is one
// pointer comparison. (`a == b` builds the condition.)
//
// Threads. All functions may be called from any thread at any time; handles are values like std::shared_ptr (two
// threads may use two handles to one node; one handle is not to be written by two). A node dies with its last handle.
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

/// The ops of the algebra, in canonical operand order (ops.def).
enum class Op : std::uint8_t {
#define STRATA_EXPR_OP(name, text, meaning) name,
#include "strata/expr/ops.def"
};

/// The symbol of `op` in ops.def: "+", "//", "min", ...
std::string_view to_string(Op op);

/// What is known of every value an expression takes on its variables' box.
struct Facts {
  std::int64_t min = 0;      ///< lower bound, INT64_MIN when none is known in 64 bits
  std::int64_t max = 0;      ///< upper bound, INT64_MAX when none is known in 64 bits
  std::int64_t modulus = 1;  ///< value == residue (mod modulus); 0 for a constant
  std::int64_t residue = 0;  ///< in [0, modulus), or the constant
  bool exact = false;        ///< true iff both bounds are attained, proven
};

/// How hard to look.
enum class Effort : std::uint8_t {
  rules,  ///< the rewrite rules alone: linear-ish time
  exact,  ///< rules, then the exact step on small boxes: tables of up to `exact_budget()` points
};

/// A handle on an immutable, interned expression. One pointer; never null; copying is cheap.
class Expr {
 public:
  Expr() noexcept;  ///< the constant 0
  /// The constant `value`.
  template <std::integral T>
  Expr(T value) : Expr(constant(static_cast<std::int64_t>(value))) {
    static_assert(sizeof(T) < 8 || std::is_signed_v<T>,
                  "Expr constants are signed 64-bit integers");
  }
  Expr(const Expr& other) noexcept;
  Expr(Expr&& other) noexcept;
  Expr& operator=(const Expr& other) & noexcept;
  Expr& operator=(Expr&& other) & noexcept;
  ~Expr();

  Op op() const;
  bool is_constant() const { return op() == Op::Const; }
  bool is_variable() const { return op() == Op::Var; }
  /// The constant's value. @pre is_constant()
  std::int64_t value() const;
  /// The value if this is a constant.
  std::optional<std::int64_t> constant() const;

  /// Sound bounds, O(1): vmin() <= value <= vmax() on the whole box. Error (overflow) where none is known in 64 bits.
  std::int64_t vmin() const;
  std::int64_t vmax() const;
  /// What is known: the node's own facts, sharpened along the variables in which the expression is monotone (one pass
  /// over the expression a variable, unless the node's bounds are proven tight already). `facts(Effort::exact)` is tight
  /// on every box of up to 16,384 points.
  Facts facts(Effort effort = Effort::rules) const;

  /// The text in the specification's notation, e.g. `(((idx0%10)*10)+(idx0//10))`.
  std::string render() const;

  /// True for a nonzero constant, false for 0; Error (undefined) when the expression is not constant. This is what lets
  /// `if (a == b)` work when the algebra decides it; ask `prove` where it may not.
  explicit operator bool() const;

  /// Structural hash: the same in every process and on every thread.
  std::uint64_t hash() const;

  // For the algebra itself.
  const Node* node() const { return node_; }
  static Expr adopt(const Node* counted) {
    return Expr(counted, Adopt{});
  }  ///< takes over one count
  static Expr share(const Node* node);  ///< adds one count
  const Node* release() noexcept;       ///< gives its count to the caller and becomes 0

 private:
  struct Adopt {};
  Expr(const Node* node, Adopt) : node_(node) {}
  static Expr constant(std::int64_t value);
  const Node* node_;
};

/// True iff `a` and `b` are the same node, which for canonical forms means: written the same.
inline bool same(const Expr& a, const Expr& b) { return a.node() == b.node(); }

/// Canonical order: op, natural name, sources. Independent of history, addresses and threads. <0, 0, >0.
int compare(const Expr& a, const Expr& b);

/// A named integer with inclusive bounds. Two Variables are the same iff name, bounds and binding are.
class Variable : public Expr {
 public:
  /// @throws Error (domain) when min > max, (parse) when the name is not an identifier.
  Variable(std::string_view name, std::int64_t min, std::int64_t max);
  std::string_view name() const;
  std::int64_t min() const;
  std::int64_t max() const;

  /// The variable with a value attached: it keeps its bounds in the algebra (so what is derived holds for every
  /// value) and evaluates to `value`. @throws Error (domain) when value is outside the bounds.
  Variable bind(std::int64_t value) const;
  /// The variable without its value, and the value. @throws Error (undefined) when not bound.
  std::pair<Variable, std::int64_t> unbind() const;
  std::optional<std::int64_t> bound_value() const;

  /// The Variable behind `e`. @throws Error (undefined) when `e` is not one.
  static Variable from(const Expr& e);

 private:
  explicit Variable(Expr e) : Expr(std::move(e)) {}
};

// --- arithmetic: each returns the canonical form; Error (overflow) when a constant leaves 64 bits ---
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator*(const Expr& a, const Expr& b);
/// Floor division. @throws Error (domain) unless the divisor's bounds exclude 0.
Expr operator/(const Expr& a, const Expr& b);
/// Floor modulus: a == b * (a / b) + a % b. @throws Error (domain) unless the divisor's bounds exclude 0.
Expr operator%(const Expr& a, const Expr& b);
/// -((-a) / b)
Expr ceildiv(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
/// condition != 0 ? a : b
Expr select(const Expr& condition, const Expr& a, const Expr& b);
Expr sum(std::span<const Expr> terms);  ///< 0 when empty
Expr all_of(std::span<const Expr> terms);  ///< `and` of all, 1 when empty (the specification's Node.ands)

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
/// The operands: none for constants and variables; for a sum the rendered order is k0 first, see `affine_form`.
std::vector<Expr> sources(const Expr& e);
/// Variables `e` is written with, in natural order.
std::vector<Variable> variables(const Expr& e);

/// k0 + sum of coefficients: what a linear expression over variables is made of.
struct AffineForm {
  std::int64_t constant = 0;
  std::vector<std::pair<Variable, std::int64_t>> coefficients;  ///< natural order, nonzero
};
/// The affine form if `e` is one over variables.
std::optional<AffineForm> affine_form(const Expr& e);

// --- values and substitution ---
using Values = std::vector<std::pair<Variable, std::int64_t>>;
/// The value of `e`. Bound variables that `values` leaves out take their bound value.
/// @throws Error (parse) for a variable without a value, (overflow) when an intermediate leaves 64 bits.
std::int64_t evaluate(const Expr& e, const Values& values = {});

using Substitution = std::vector<std::pair<Expr, Expr>>;
/// `e` with each first replaced by its second, simultaneously; the result is canonical. Keys may be any expressions.
Expr substitute(const Expr& e, const Substitution& map);

/// All values that `e` takes when the variables `unrolled` run over their bounds, the last one fastest.
/// @throws Error (budget) above 2^20 values.
std::vector<Expr> expand(const Expr& e, std::span<const Variable> unrolled);
/// The specification's `expand_node`: the unrolled variables are those named `_uidx...`, in natural order.
std::vector<Expr> expand_node(const Expr& e);

/// `e` with every bound variable replaced by the plain one, and the values that were bound.
std::pair<Expr, Values> unbind(const Expr& e);

// --- reasoning ---
/// The expression in its simplest known form. With Effort::rules this is `e` itself: constructors already did it.
Expr simplify(const Expr& e, Effort effort = Effort::rules);
/// Simplest known form of `e` where `assumption` holds; its value elsewhere is unspecified.
Expr simplify_under(const Expr& e, const Expr& assumption, Effort effort = Effort::rules);

enum class Answer : std::uint8_t { yes, no, unknown };
/// An answer, with what shows a `no`.
struct Proof {
  Answer answer = Answer::unknown;
  Values counterexample;  ///< when `no`: an assignment of the variables that makes the condition false
};
/// Does `condition` hold on the whole box (where `assumption` holds)?
Proof prove(const Expr& condition, const Expr& assumption = 1);

/// Do `a` and `b` agree on the whole box?  The counterexample is a point where they differ.
Proof prove_equal(const Expr& a, const Expr& b);

/// Number of live nodes in the process, constants of small magnitude excepted.
std::size_t live_nodes();

}  // namespace strata

template <>
struct std::hash<strata::Expr> {
  std::size_t operator()(const strata::Expr& e) const noexcept {
    return static_cast<std::size_t>(e.hash());
  }
};
