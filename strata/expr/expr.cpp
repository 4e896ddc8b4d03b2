// Expr and Variable, and the public operators.
#include "strata/expr/expr.h"

#include <array>

#include "strata/base/quotes.h"
#include "strata/expr/build.h"
#include "strata/expr/grammar.h"

namespace strata {

std::string_view to_string(Op op) {
  constexpr std::string_view kText[] = {
#define STRATA_EXPR_OP(name, text, meaning) text,
#include "strata/expr/ops.def"
  };
  return kText[static_cast<std::size_t>(op)];
}

Expr::Expr() noexcept : node_(intern_constant(0).release()) {}
Expr::Expr(const Expr& other) noexcept : node_(other.node_) { retain(node_); }
Expr::Expr(Expr&& other) noexcept : node_(other.release()) {}
Expr& Expr::operator=(const Expr& other) & noexcept {
  retain(other.node_);
  strata::release(std::exchange(node_, other.node_));
  return *this;
}
Expr& Expr::operator=(Expr&& other) & noexcept {
  std::swap(node_, other.node_);
  return *this;
}
Expr::~Expr() { strata::release(node_); }

Expr Expr::share(const Node* node) {
  retain(node);
  return adopt(node);
}
const Node* Expr::release() noexcept {
  const Node* const zero = intern_constant(0).node_;  // immortal
  return std::exchange(node_, zero);
}
Expr Expr::constant(std::int64_t value) { return intern_constant(value); }

Op Expr::op() const { return node_->op; }
std::int64_t Expr::value() const {
  STRATA_CHECK(is_constant(), undefined, "[value] ", render(), " is not a constant");
  return node_->value();
}
std::optional<std::int64_t> Expr::constant() const {
  return is_constant() ? std::optional(node_->value()) : std::nullopt;
}
std::int64_t Expr::vmin() const {
  const bool declared = is_constant() || is_variable();
  STRATA_CHECK(declared || !is_inf(node_->lo), overflow, "[vmin] the minimum of ", render(),
               " does not fit in 64 bits");
  return node_->lo;
}
std::int64_t Expr::vmax() const {
  const bool declared = is_constant() || is_variable();
  STRATA_CHECK(declared || !is_inf(node_->hi), overflow, "[vmax] the maximum of ", render(),
               " does not fit in 64 bits");
  return node_->hi;
}
Expr::operator bool() const {
  STRATA_CHECK(is_constant(), undefined, "[bool] ", render(), " is neither always true nor always false; use prove()");
  return node_->value() != 0;
}
std::uint64_t Expr::hash() const { return node_->hash; }

int compare(const Expr& a, const Expr& b) { return compare_nodes(a.node(), b.node()); }

std::vector<Expr> sources(const Expr& e) {
  std::vector<Expr> out;
  const Node* n = e.node();
  if (n->is(Op::Sum)) {
    if (n->k0() != 0) out.emplace_back(n->k0());
    for (const Term& t : n->terms()) {
      out.push_back(Build().scale(Expr::share(t.atom), t.coefficient));
    }
  } else {
    for_each_child(n, [&](const Node* s) { out.push_back(Expr::share(s)); });
  }
  return out;
}

// --- variables ---

namespace {

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0])) return false;
  for (const char c : name) {
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  }
  return !is_reserved_word(name);
}

}  // namespace

Variable::Variable(std::string_view name, std::int64_t min, std::int64_t max)
    : Expr([&] {
        STRATA_CHECK(is_identifier(name), parse, "[variable] ", in_quotes(name),
                     " is not a name: letters, digits and _, and no word of the grammar");
        STRATA_CHECK(min <= max, domain, "[variable] the bounds of ", in_quotes(name), " are empty: min ", min,
                     " > max ", max);
        return intern_variable({std::string(name), min, max});
      }()) {}
std::string_view Variable::name() const { return node()->variable().name; }
std::int64_t Variable::min() const { return node()->variable().min; }
std::int64_t Variable::max() const { return node()->variable().max; }
Variable Variable::bind(std::int64_t value) const {
  VariableInfo info = node()->variable();
  STRATA_CHECK(info.min <= value && value <= info.max, domain, "[bind] ", value, " is outside the bounds of '",
               info.name, "', ", info.min, "..", info.max);
  info.bound = true;
  info.value = value;
  return Variable(intern_variable(info));
}
std::pair<Variable, std::int64_t> Variable::unbind() const {
  VariableInfo info = node()->variable();
  STRATA_CHECK(info.bound, undefined, "[unbind] '", info.name, "' is not bound to a value");
  const std::int64_t value = std::exchange(info.value, 0);
  info.bound = false;
  return {Variable(intern_variable(info)), value};
}
std::optional<std::int64_t> Variable::bound_value() const {
  const VariableInfo& info = node()->variable();
  return info.bound ? std::optional(info.value) : std::nullopt;
}
Variable Variable::from(const Expr& e) {
  STRATA_CHECK(e.is_variable(), undefined, "[variable] ", e.render(), " is not a variable");
  return Variable(e);
}

// --- operators ---

Expr operator+(const Expr& a, const Expr& b) { return Build().add(a, 1, b, 1); }
Expr operator-(const Expr& a, const Expr& b) { return Build().add(a, 1, b, -1); }
Expr operator-(const Expr& a) { return Build().scale(a, -1); }
Expr operator*(const Expr& a, const Expr& b) { return Build().mul(a, b); }
Expr operator/(const Expr& a, const Expr& b) { return Build().div(a, b); }
Expr operator%(const Expr& a, const Expr& b) { return Build().mod(a, b); }
Expr ceildiv(const Expr& a, const Expr& b) { return -((-a) / b); }
namespace {

// A shortcut: if the node with exactly these two arms exists, it is canonical.
Expr extremum(Op op, const Expr& a, const Expr& b) {
  const bool ordered = compare(a, b) <= 0;
  const std::array key{ordered ? a.node() : b.node(), ordered ? b.node() : a.node()};
  if (const Node* known = find_interned(op, key)) return Expr::adopt(known);
  return Build().extremum(op, std::array{a, b});
}

}  // namespace

Expr min(const Expr& a, const Expr& b) { return extremum(Op::Min, a, b); }
Expr max(const Expr& a, const Expr& b) { return extremum(Op::Max, a, b); }
Expr select(const Expr& p, const Expr& a, const Expr& b) { return Build().select(p, a, b); }
Expr operator<(const Expr& a, const Expr& b) { return Build().lt(a, b); }
Expr operator>(const Expr& a, const Expr& b) { return Build().lt(b, a); }
Expr operator<=(const Expr& a, const Expr& b) { return Build().lt(a, b + 1); }
Expr operator>=(const Expr& a, const Expr& b) { return Build().lt(b, a + 1); }
Expr operator==(const Expr& a, const Expr& b) { return Build().eq(a, b); }
Expr operator!=(const Expr& a, const Expr& b) { return Build().ne(a, b); }
Expr operator&&(const Expr& a, const Expr& b) { return Build().junction(Op::And, std::array{a, b}); }
Expr operator||(const Expr& a, const Expr& b) { return Build().junction(Op::Or, std::array{a, b}); }
Expr operator!(const Expr& a) { return Build().negate(a); }
Expr all_of(std::span<const Expr> terms) { return Build().junction(Op::And, terms); }

Expr sum(std::span<const Expr> terms) { return Build().total({terms.begin(), terms.end()}); }

// Adds pairwise, so a sum of n terms costs O(n log n).
Expr Build::total(std::vector<Expr> level) const {
  if (level.empty()) return 0;
  while (level.size() > 1) {
    std::vector<Expr> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(add(level[i], 1, level[i + 1], 1));
    if (level.size() % 2 != 0) next.push_back(level.back());
    level = std::move(next);
  }
  return level[0];
}

Expr Build::rebuild(const Node* like, std::span<const Expr> s) const {
  switch (like->op) {
    case Op::Const:
    case Op::Var: return Expr::share(like);
    case Op::Sum: {
      std::vector<Expr> terms{like->k0()};
      for (std::size_t i = 0; i < s.size(); ++i) terms.push_back(scale(s[i], like->terms()[i].coefficient));
      return total(std::move(terms));
    }
    case Op::Mul: {
      Expr out = s[0];
      for (const Expr& f : s.subspan(1)) out = mul(out, f);
      return out;
    }
    case Op::Div: return div(s[0], s[1]);
    case Op::Mod: return mod(s[0], s[1]);
    case Op::Min:
    case Op::Max: return extremum(like->op, s);
    case Op::Select: return select(s[0], s[1], s[2]);
    case Op::Lt: return lt(s[0], s[1]);
    case Op::Eq: return eq(s[0], s[1]);
    case Op::Ne: return ne(s[0], s[1]);
    case Op::And:
    case Op::Or: return junction(like->op, s);
  }
  throw InternalError("rebuild: unknown op");
}

}  // namespace strata
