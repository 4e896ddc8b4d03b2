// Text of rewrite events: inserts the bindings of an event into its rule.
#include "strata/expr/rewrite_text.h"

#include <algorithm>

#include "strata/expr/grammar.h"

namespace strata {
namespace {

/// The text of a binding, bracketed where it must be to stand as an operand.
std::string operand_text(const Expr& e) {
  const std::string text = e.render();
  return text.starts_with("-") ? "(" + text + ")" : text;
}

}  // namespace

std::string instance(std::string_view side, const RewriteEvent& event) {
  const auto in_name = [](char c) { return is_name_start(c) || is_digit(c); };
  std::string out;
  for (std::size_t i = 0; i < side.size();) {
    if (!is_name_start(side[i])) {
      out += side[i++];
      continue;
    }
    std::size_t end = i;
    while (end < side.size() && in_name(side[end])) ++end;
    const std::string_view word = side.substr(i, end - i);
    const auto bound =
        std::find_if(event.bindings.begin(), event.bindings.end(), [&](const auto& b) { return b.first == word; });
    out += bound == event.bindings.end() ? std::string(word) : operand_text(bound->second);
    i = end;
  }
  return out;
}

std::string describe(const RewriteEvent& event) {
  const Rule& row = rule(event.rule);
  std::string name(row.name);
  name.resize(std::max<std::size_t>(4, name.size()), ' ');
  return name + std::string(row.title) + ":  " + instance(row.before, event) + "  ->  " + instance(row.after, event);
}

RewriteLog::RewriteLog(std::function<void(const std::string&)> print)
    : trace_([this, print = std::move(print)](const RewriteEvent& event) {
        if (printing_) return;  // skips rewrites that rendering causes
        printing_ = true;
        print("[rewrite] " + describe(event) + "\n");
        printing_ = false;
      }) {}

}  // namespace strata
