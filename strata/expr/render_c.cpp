// C: an expression of int64_t variables with the same value.
//
// C division truncates towards zero; divisors are positive here. Where the numerator may be negative, the text shifts
// it by a multiple of the divisor, `((x+30)/3-10)`. Where the shift could overflow, the text corrects the quotient
// instead,
// `(x/n-(x%n<0))`. A sum whose partial sums may exceed 64 bits is computed in 128 bits, `((__int128)a+(__int128)b)`,
// which our parser accepts, too. Comparisons have type int in C, so sums of them that may exceed 32 bits are widened:
// `(0*4294967296+(x<3))`.
#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "strata/expr/printer.h"

namespace strata {

namespace {

constexpr std::uint64_t kIntMax = 2147483647;

std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<std::uint64_t>::max() : out;
}
std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<std::uint64_t>::max() : out;
}
std::uint64_t reach(const Node* n) { return std::max(magnitude(n->lo), magnitude(n->hi)); }

/// A multiple of the divisor that makes the numerator nonnegative and keeps it within 64 bits; nothing when there is
/// none.
std::optional<std::int64_t> shift_of(const Node* n) {
  const Node* x = n->src(0);
  const Node* d = n->src(1);
  if (!d->is(Op::Const) || is_inf(x->lo) || is_inf(x->hi)) return std::nullopt;
  std::int64_t shift = 0, end = 0;
  if (!try_mul(floor_div(x->lo, d->value()), -d->value(), shift)) return std::nullopt;
  if (!try_add(x->hi, shift, end)) return std::nullopt;
  return shift;
}

class CPrinter : public Printer {
 public:
  bool turns_quotients() const override { return false; }
  explicit CPrinter(const Node* root) { find_narrow(root); }

 private:
  /// Fills narrow_: true iff the text of a node has type int in C.
  void find_narrow(const Node* root) {
    std::vector<const Node*> work{root};
    while (!work.empty()) {
      const Node* n = work.back();
      if (narrow_.try_emplace(n, false).second) {
        for_each_child(n, [&](const Node* child) { work.push_back(child); });
        continue;
      }
      work.pop_back();
      narrow_[n] = is_narrow(n);
    }
  }
  bool is_narrow(const Node* n) const {
    if (n->is(Op::Var)) return false;
    if (is_condition(n)) return true;
    if (n->is(Op::Select)) return narrow_.at(n->src(1)) && narrow_.at(n->src(2));
    bool narrow = reach(n) <= kIntMax && narrow_reach(n) <= kIntMax;
    if (n->is(Op::Sum)) {
      narrow = narrow && magnitude(n->k0()) <= kIntMax;
      for (const Term& t : n->terms()) narrow = narrow && magnitude(t.coefficient) <= kIntMax;
    }
    for_each_child(n, [&](const Node* child) { narrow = narrow && narrow_.at(child); });
    return narrow;
  }
  /// A bound on the values that C computes with type int between the children of `n` and `n`.
  std::uint64_t narrow_reach(const Node* n) const {
    std::uint64_t out = 0;
    if (n->is(Op::Sum)) {
      if (magnitude(n->k0()) <= kIntMax) out = magnitude(n->k0());
      for (const Term& t : n->terms())
        if (narrow_.at(t.atom) && magnitude(t.coefficient) <= kIntMax)
          out = saturating_sum(out, saturating_mul(magnitude(t.coefficient), reach(t.atom)));
    } else if (n->is(Op::Mul)) {
      out = 1;
      for (const Node* s : n->sources())
        if (narrow_.at(s)) out = saturating_mul(out, std::max<std::uint64_t>(reach(s), 1));
    } else if ((n->is(Op::Div) || n->is(Op::Mod)) && narrow_.at(n->src(0))) {
      out = saturating_mul(2, saturating_sum(reach(n->src(0)), reach(n->src(1))));
    }
    return out;
  }
  void operand(const Node* n, const Node* parent) override {
    if (n->is(Op::Const) || !narrow_.at(n)) return node(n);
    if (parent != measured_) {  // computed once for all operands of the parent
      measured_ = parent;
      measured_reach_ = narrow_reach(parent);
    }
    if (measured_reach_ <= kIntMax) return node(n);
    text("(0*4294967296+");
    node(n);
    text(")");
  }

  /// The cast to 128 bits, for a sum whose partial sums may exceed 64 bits.
  std::string_view term_prefix(const Node* sum) const override {
    __int128 lo = sum->k0(), hi = lo;
    for (const Term& t : printed_terms(sum)) {
      const __int128 p = static_cast<__int128>(t.coefficient) * t.atom->lo;
      const __int128 q = static_cast<__int128>(t.coefficient) * t.atom->hi;
      lo += std::min(p, q);
      hi += std::max(p, q);
      const __int128 least = std::min({lo, p, q}), most = std::max({hi, p, q});
      if (least < kNegInf || most > kPosInf) return "(__int128)";
    }
    return {};
  }
  void constant(std::int64_t value) override {
    if (value == kNegInf) return text("(-9223372036854775807-1)");
    number(value);
  }
  void quotient(const Node* n) override {
    const Node* x = n->src(0);
    if (x->lo >= 0) return list(n->sources(), "(", "/", ")");
    if (const std::optional<std::int64_t> shift = shift_of(n)) {
      shifted(n, *shift);
      text("/");
      node(n->src(1));
      text("-");
      number(*shift / n->src(1)->value());
      return text(")");
    }
    text("(");
    operand(x, n);
    text("/");
    node(n->src(1));
    text("-(");
    operand(x, n);
    text("%");
    node(n->src(1));
    text("<0))");
  }
  void remainder(const Node* n) override {
    const Node* x = n->src(0);
    if (x->lo >= 0) return list(n->sources(), "(", "%", ")");
    if (const std::optional<std::int64_t> shift = shift_of(n)) {
      shifted(n, *shift);
      text("%");
      node(n->src(1));
      return text(")");
    }
    text("(");
    operand(x, n);
    text("%");
    node(n->src(1));
    text("+(");
    operand(x, n);
    text("%");
    node(n->src(1));
    text("<0)*");
    node(n->src(1));
    text(")");
  }
  void shifted(const Node* n, std::int64_t shift) {
    text("((");
    operand(n->src(0), n);
    text("+");
    number(shift);
    text(")");
  }

  void extremum(const Node* n) override { tail(n, 0); }
  /// The smallest (largest) source from `from` on, as nested conditionals: the first that is less (greater) than all
  /// later ones.
  void expand_tail(const Node* n, std::size_t from) override {
    if (from + 1 == n->arity) return node(n->src(from));
    text("(");
    for (std::size_t i = from + 1; i < n->arity; ++i) {
      if (i != from + 1) text("&&");
      node(n->src(from));
      text(n->is(Op::Min) ? "<" : ">");
      node(n->src(i));
    }
    text("?");
    node(n->src(from));
    text(":");
    tail(n, from + 1);
    text(")");
  }
  void choice(const Node* n) override {
    text("(");
    node(n->src(0));
    text("?");
    node(n->src(1));
    text(":");
    node(n->src(2));
    text(")");
  }
  void junction(const Node* n) override { list(n->sources(), "(", n->is(Op::And) ? "&&" : "||", ")"); }

  std::unordered_map<const Node*, bool> narrow_;
  const Node* measured_ = nullptr;  // the parent whose narrow_reach is cached
  std::uint64_t measured_reach_ = 0;
};

}  // namespace

std::string print_c(const Node* root) { return CPrinter(root).print(root); }

}  // namespace strata
