// The rewrite rules as data: one row for each rule, with its name, both sides, its guard, and how it is proven.
//
// The table (rules.def) is the specification of the algebra. Code that applies a rule names its row with STRATA_FIRED
// and passes the bindings that turn the row into this instance. The tests replay every firing: the guard must hold and
// both sides must agree. Both sides and the guard are texts of grammar.h. Letters in a row: x y z w are integers; a b d
// e are integer constants; c k g h are positive constants; n m are positive variables (symbolic sizes); p q r are
// conditions (0 or 1). A letter that `before` does not contain is a constant that the guard determines.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/trace.h"
#include "strata/expr/expr.h"

namespace strata {

/// The proof of a rule beyond the exhaustive check on a box, which every rule gets.
enum class Check : std::uint8_t {
  z3,       ///< by Z3, with unbounded variables and instantiated constants
  written,  ///< by the written proof in the row, where Z3 gives no answer (non-linear rules)
};

/// A row of rules.def.
struct Rule {
  std::string_view name;    ///< "D8"
  std::string_view title;   ///< "gcd, small rest"
  std::string_view before;  ///< "(g*x+y)//(g*c)"
  std::string_view after;   ///< "x//c"
  std::string_view guard;   ///< "0<=y and y<g", "1" when none
  Check check;
  std::string_view proof;  ///< the written proof, empty for Check::z3
};

enum class RuleId : std::uint16_t {
#define STRATA_RULE(name, title, before, after, guard, check, proof) name,
#include "strata/expr/rules.def"
};

std::span<const Rule> rules();

/// How a row without a STRATA_FIRED of its own takes effect: the rows that cover it, or the reason why the rule is
/// listed but not applied. Empty for a row that fires itself.
std::string_view through(RuleId id);
inline const Rule& rule(RuleId id) { return rules()[static_cast<std::size_t>(id)]; }

/// One firing: `rule.before` with the bindings inserted was rewritten to `rule.after` with the bindings inserted.
struct RewriteEvent {
  RuleId rule;
  std::vector<std::pair<std::string_view, Expr>> bindings;
  Expr given = 1;  ///< the assumption that the guard may use; simplify_under sets it, 1 elsewhere
};

namespace detail {

/// Passes the event that `make` returns to `trace`. An event whose bindings cannot be built, because a value does not
/// fit in 64 bits, is dropped: tracing must not change a result or throw.
template <class Make>
void record(RewriteTrace& trace, const Make& make) {
  std::optional<RewriteEvent> event;
  try {
    event.emplace(make());
  } catch (const Error&) {
    return;
  }
  trace.record(*event);
}

}  // namespace detail

}  // namespace strata

/// Records that a rule fired: the row's name, and the Expr for each letter of the row, e.g. for D8, `(g*x+y)//(g*c)` to
/// `x//c`, STRATA_FIRED(D8, {"g", g}, {"x", x}, {"y", y}, {"c", c}). The bindings are evaluated only while a
/// RewriteTrace is installed on this thread, so an untraced rule costs one thread-local load. @pre the row's guard
/// holds
#define STRATA_FIRED(id, ...)                                                                                        \
  do {                                                                                                               \
    if (::strata::RewriteTrace* trace = ::strata::RewriteTrace::current(); trace != nullptr) [[unlikely]]            \
      ::strata::detail::record(*trace, [&] { return ::strata::RewriteEvent{::strata::RuleId::id, {__VA_ARGS__}}; }); \
  } while (false)
