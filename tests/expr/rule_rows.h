// Rule rows parsed for the tests: their three texts as trees over one list of letters, and what each letter ranges
// over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strata/expr/rules.h"
#include "tests/expr/tree_text.h"

namespace strata::oracle {

enum class LetterKind : std::uint8_t { integer, constant, positive_constant, positive, condition, unknown };

inline LetterKind kind_of_letter(std::string_view letter) {
  if (letter.size() != 1) return LetterKind::unknown;
  const auto is_in = [&](std::string_view set) { return set.find(letter[0]) != std::string_view::npos; };
  return is_in("xyzw")   ? LetterKind::integer
         : is_in("abde") ? LetterKind::constant
         : is_in("ckgh") ? LetterKind::positive_constant
         : is_in("nm")   ? LetterKind::positive
         : is_in("pqr")  ? LetterKind::condition
                         : LetterKind::unknown;
}

struct ParsedRule {
  std::vector<std::string> letters;  // of `before` first, then those that only the guard has
  std::size_t bound_letters = 0;     // how many occur in `before`
  std::size_t guarded_letters = 0;   // how many occur in `before` or in the guard; letters.size() when the row is sound
  Tree before, after, guard;
};

inline ParsedRule parse_rule(const Rule& rule) {
  ParsedRule out;
  out.before = parse_tree(rule.before, out.letters);
  out.bound_letters = out.letters.size();
  out.guard = parse_tree(rule.guard, out.letters);
  out.guarded_letters = out.letters.size();
  out.after = parse_tree(rule.after, out.letters);
  return out;
}

/// Wrong rows that every checker of rules has to catch.
inline constexpr Rule kWrongRules[] = {
    {"W1", "carry", "(x+y)//c", "x//c+y//c", "1", Check::z3, ""},
    {"W2", "digits swapped", "(x%c)//k", "(x//k)%c", "1", Check::z3, ""},
    {"W3", "floor as truncation", "(-x)//c", "-(x//c)", "1", Check::z3, ""},
    {"W4", "missing upper bound", "(g*x+y)%(g*c)", "g*(x%c)+y", "0<=y", Check::z3, ""},
    {"W5", "floor for ceiling", "c*x<a", "x<a//c", "1", Check::z3, ""},
    {"W6", "missing upper bound, symbolic", "(n*x+y)//n", "x", "0<=y", Check::z3, ""},
    {"W7", "sign of the divisor", "x%(-c)", "x%c", "1", Check::z3, ""},
    {"W8", "off by one", "not x<a", "a<x", "1", Check::z3, ""},
    {"W9", "select arms", "select(p,1,0)", "not p", "1", Check::z3, ""},
};

}  // namespace strata::oracle
