// The rewrite rules as data: one row a rule, each with its name, both sides, its guard and how it is proven.
//
// The table (rules.def) is the specification of the algebra. The code that applies a rule names its row with
// STRATA_FIRED, with the bindings that make the row an instance; the tests replay every firing and check that the guard
// held and both sides agree. letters in a row: x y z w are integers; a b d e are integer constants; c k g h are positive
// constants; n m are positive variables (symbolic sizes); p q r are conditions (0 or 1).
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

/// How a rule was proven beyond the exhaustive check on a box, which every rule gets.
enum class Check : std::uint8_t {
  z3,       ///< by Z3 with unbounded variables, constants instantiated
  written,  ///< by the written proof in the row: non-linear, where Z3 gives no answer
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

/// How a row that no code fires by its own name takes effect: the rows that cover it, or why it is only known.
/// Empty for a row that fires itself.
std::string_view through(RuleId id);
inline const Rule& rule(RuleId id) { return rules()[static_cast<std::size_t>(id)]; }

/// One firing: `rule.before` with the bindings put in became `rule.after` with them put in.
struct RewriteEvent {
  RuleId rule;
  std::vector<std::pair<std::string_view, Expr>> bindings;
  Expr given = 1;  ///< what was assumed: the row holds where this does
};

namespace detail {

/// Records the event that `make` gives. One whose bindings leave 64 bits cannot be written down, and says nothing: a trace
/// changes no result.
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

/// Records that a rule fired: STRATA_FIRED(D8, {"g", g}, {"x", x}, {"y", y}, {"c", c}). The bindings are evaluated
/// only while a RewriteTrace is installed.
#define STRATA_FIRED(id, ...)                                                                   \
  do {                                                                                          \
    if (::strata::RewriteTrace* trace = ::strata::RewriteTrace::current(); trace != nullptr)    \
        [[unlikely]]                                                                            \
      ::strata::detail::record(                                                                 \
          *trace, [&] { return ::strata::RewriteEvent{::strata::RuleId::id, {__VA_ARGS__}}; }); \
  } while (false)
