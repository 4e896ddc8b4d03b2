// The infix grammar by itself: values, precedence and every error, at compile time and at run time.
#include "strata/expr/grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/int_math.h"
#include "strata/expr/parse.h"
#include "tests/base/bad_text.h"
#include "tests/base/texts.h"

namespace strata {
namespace {

/// A sink that can run inside the compiler: it evaluates (names are their length) and notes the first failure.
struct Calculator {
  std::vector<std::int64_t> stack;
  bool failed = false;
  Fault fault = Fault::syntax;
  std::size_t column = 0;

  constexpr void number(std::int64_t value, std::size_t) { stack.push_back(value); }
  constexpr void name(std::string_view name, std::size_t) { stack.push_back(static_cast<std::int64_t>(name.size())); }
  constexpr void fail(Fault f, std::string_view, std::string_view, std::size_t c) {
    failed = true;
    fault = f;
    column = c;
  }
  constexpr void apply(Action action, std::size_t arity, std::size_t) {
    const std::size_t base = stack.size() - arity;
    const std::int64_t value = compute(action, {stack.data() + base, arity});
    stack.resize(base);
    stack.push_back(value);
  }
  static constexpr std::int64_t compute(Action action, std::span<const std::int64_t> in) {
    const std::int64_t a = in[0], b = in.size() > 1 ? in[1] : 0, c = in.size() > 2 ? in[2] : 0;
    switch (action) {
      case Action::neg: return a == kNegInf ? a : -a;
      case Action::add: return a + b;
      case Action::sub: return a - b;
      case Action::mul: return a * b;
      case Action::div: return floor_div(a, b);
      case Action::mod: return floor_mod(a, b);
      case Action::ceil_div: return -floor_div(-a, b);
      case Action::min: return *std::min_element(in.begin(), in.end());
      case Action::max: return *std::max_element(in.begin(), in.end());
      case Action::lt: return a < b;
      case Action::le: return a <= b;
      case Action::gt: return a > b;
      case Action::ge: return a >= b;
      case Action::eq: return a == b;
      case Action::ne: return a != b;
      case Action::logical_and: return a != 0 && b != 0;
      case Action::logical_or: return a != 0 || b != 0;
      case Action::logical_not: return a == 0;
      case Action::select: return a != 0 ? b : c;
      case Action::if_else: return b != 0 ? a : c;
    }
    return 0;
  }
};

constexpr std::int64_t value(std::string_view text) {
  Calculator sink;
  parse_infix(text, sink);
  return sink.failed || sink.stack.size() != 1 ? -777 : sink.stack[0];
}
/// The column of the failure, 0 when the text is well-formed.
constexpr std::size_t fault_column(std::string_view text) {
  Calculator sink;
  parse_infix(text, sink);
  return sink.column;
}

// --- the compiler evaluates the same grammar ---
static_assert(value("1 + 2*3") == 7);
static_assert(value("i * 128 + 64") == 192);
static_assert(value("2*-3") == -6);
static_assert(value("-7 // 2") == -4);
static_assert(value("-9223372036854775808") == kNegInf);
static_assert(value("1 if 0 else 2 if 1 else 3") == 2);
static_assert(value("max(1, min(5, 3), 2)") == 3);
static_assert(fault_column("1 +") == 4);
static_assert(fault_column("(1") == 1);

struct ValueCase {
  std::string_view text;
  std::int64_t value;
};

TEST(Grammar, PrecedenceAndAssociativity) {
  // clang-format off
  constexpr ValueCase cases[] = {
      {"7", 7}, {"007", 7}, {" \t\n7\r ", 7}, {"9223372036854775807", kPosInf}, {"True", 1}, {"False", 0},
      {"10-3-2", 5}, {"100//7//2", 7}, {"100/7/2", 7}, {"2*7%4", 2}, {"7%4*2", 6}, {"1+2*3-4", 3},
      {"-2+5", 3}, {"- -2", 2}, {"--2", 2}, {"-+-2", 2}, {"+2", 2}, {"2--3", 5}, {"2- - -3", -1}, {"2*-3", -6},
      {"-3*-2", 6}, {"-7//2", -4}, {"-(7//2)", -3}, {"-7%3", 2}, {"7%-3", -2}, {"7//-2", -4},
      {"1<2", 1}, {"2<1", 0}, {"2<=2", 1}, {"3>2", 1}, {"2>=3", 0}, {"1==1", 1}, {"1!=1", 0}, {"(1<2)<3", 1},
      {"1+1<2*2", 1}, {"1<2 and 3<4", 1}, {"0 or 5", 1}, {"2 and 3", 1}, {"1 or 1 and 0", 1}, {"(1 or 1) and 0", 0},
      {"1||1&&0", 1}, {"not 0", 1}, {"not not 5", 1}, {"not 1 == 2", 1}, {"!1 == 2", 0}, {"!0*3", 3}, {"!-1", 0}, {"!!7", 1},
      {"not 1 and 0", 0}, {"not 0 or 1", 1}, {"1 and not 0", 1}, {"-!0", -1},
      {"5 if 1 else 6", 5}, {"5 if 0 else 6", 6}, {"1 if 0 else 2 if 0 else 3", 3}, {"(1 if 0 else 2) if 1 else 3", 2},
      {"1?2:3", 2}, {"0?2:3", 3}, {"0?1:0?2:3", 3}, {"1?0?1:2:3", 2}, {"1 or 0 ? 4 : 5", 4}, {"0?1:2+3", 5},
      {"1 if 1 ? 0 : 1 else 2", 2}, {"0 ? 1 : 2 if 0 else 3", 3}, {"1+1 if 1<2 else 5", 2}, {"4 if not 1 else 5", 5},
      {"min(3)", 3}, {"min(3,1,2)", 1}, {"max( 3 , 1 , 2 )", 3}, {"ceildiv(7,2)", 4}, {"ceildiv(-7,2)", -3},
      {"select(0,1,2)", 2}, {"where(1,1,2)", 1}, {"min(1 if 0 else 2, 1?4:3)", 2}, {"min (1,2)", 1}, {"-min(1,2)", -1},
      {"2*(3+4)", 14}, {"((((5))))", 5}, {"min + max", 6}, {"_a1 * abc", 9}, {"-9223372036854775808 + 1", kNegInf + 1},
      {"- 9223372036854775808", kNegInf}, {"0-9223372036854775807", -kPosInf}, {"notx", 4}, {"iff", 3}, {"1if 1else 2", 1},
  };
  // clang-format on
  for (const ValueCase& c : cases) EXPECT_EQ(value(c.text), c.value) << c.text << " at " << fault_column(c.text);
}

TEST(Grammar, EveryErrorHasItsColumnAndItsSentence) {
  using namespace std::string_view_literals;
  // clang-format off
  const BadText cases[] = {
      {"", 1, "the text is empty"}, {"  \n", 4, "the text is empty"},
      {"()", 2, "empty brackets"}, {"1+( )", 5, "empty brackets"},
      {"1+", 3, "expected a value, found the end"}, {"-", 2, "expected a value, found the end"},
      {"(", 2, "expected a value, found the end"}, {"1 2", 3, "expected an operator: '2'"},
      {"1 x", 3, "expected an operator: 'x'"}, {"2x", 2, "expected an operator: 'x'"}, {"0x10", 2, "expected an operator"},
      {"x (1)", 1, "unknown function: 'x'"}, {"1 (2)", 3, "expected an operator: '('"}, {"(1)(2)", 4, "expected an operator"},
      {"1 $ 2", 3, "unexpected character: '$'"}, {"1.5", 2, "numbers are integers"}, {".5", 1, "numbers are integers"},
      {"1e5", 2, "expected an operator: 'e5'"}, {"a = b", 3, "write =="}, {"a & b", 3, "&& and ||"}, {"a | b", 3, "&& and ||"},
      {"2**3", 2, "no power operator"}, {"2 * ** 3", 5, "no power operator"}, {"2 * / 3", 5, "expected a value: '/'"},
      {"* 3", 1, "expected a value: '*'"}, {"1 + and", 5, "expected a value: 'and'"}, {"a not b", 3, "expected an operator: 'not'"},
      {"1 + not 2", 5, "'not' binds loosely"}, {"-not 2", 2, "'not' binds loosely"}, {"1 < not 2", 5, "'not' binds loosely"},
      {"a < b < c", 7, "do not chain"}, {"a == b != c", 8, "do not chain"}, {"a < b + 1 <= c", 11, "do not chain"},
      {"(1", 1, "'(' is never closed"}, {"((1)", 1, "'(' is never closed"}, {"1 + min (1", 9, "'(' is never closed"},
      {"1)", 2, "')' without '('"}, {"(1))", 4, "')' without '('"}, {"1,2", 2, "',' outside of a call"}, {"(1,2)", 3, "',' outside"},
      {"min()", 1, "min takes one argument or more"}, {"1+max( )", 3, "max takes one argument or more"},
      {"min(1,)", 7, "expected a value: ')'"}, {"min(,1)", 5, "expected a value: ','"},
      {"ceildiv(1)", 1, "ceildiv takes 2 arguments"}, {"ceildiv(1,2,3)", 1, "ceildiv takes 2 arguments"},
      {"select(1,2)", 1, "select takes 3 arguments"}, {"where(1,2,3,4)", 1, "where takes 3 arguments"},
      {"1 ? 2", 3, "'?' without ':'"}, {"(1 ? 2)", 4, "'?' without ':'"}, {"1 : 2", 3, "':' without '?'"},
      {"1 ? 2 : 3 : 4", 11, "':' without '?'"}, {"1 if 2", 3, "'if' without 'else'"}, {"1 else 2", 3, "'else' without 'if'"},
      {"1 if 2 : 3", 8, "':' without '?'"}, {"1 ? 2 else 3", 7, "'else' without 'if'"}, {"min(1 ? 2, 3)", 7, "'?' without ':'"},
      {"if 1 else 2", 1, "expected a value: 'if'"},
      {"9223372036854775808", 1, "does not fit in 64 bits", ErrorKind::overflow},
      {"1 - 9223372036854775808", 5, "does not fit in 64 bits", ErrorKind::overflow},
      {"-(9223372036854775808)", 3, "does not fit in 64 bits", ErrorKind::overflow},
      {"-9223372036854775809", 2, "does not fit in 64 bits", ErrorKind::overflow},
      {"x+99999999999999999999999999999999999", 3, "does not fit in 64 bits", ErrorKind::overflow},
      {"1 + \xC3\xA9", 5, "unexpected character: '\xC3\xA9'"}, {"1\0"sv, 2, "unexpected character: '\\x00'"},
      {"x \xE2\x89\xA4 3", 3, "unexpected character: '\xE2\x89\xA4'"}, {"1 + \xC3", 5, "unexpected character: '\\xC3'"},
      {"\xFF", 1, "unexpected character: '\\xFF'"}, {"x\x7F", 2, "unexpected character: '\\x7F'"},
  };
  // clang-format on
  const std::vector<std::string> names{"a", "b", "c", "x"};
  for (const BadText& c : cases) {
    EXPECT_EQ(fault_column(c.text), c.column) << c.text;
    expect_refused(c, [&](std::string_view text) { compile(text, names); });
  }
}

TEST(Grammar, SentencesThatNameTheTokenDoNotRepeatIt) {
  // clang-format off
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"1)", "[parse] ')' without '('"}, {"(1", "[parse] '(' is never closed"}, {"1,2", "[parse] ',' outside of a call"},
      {"()", "[parse] empty brackets"}, {"1 ? 2", "[parse] '?' without ':'"}, {"1 : 2", "[parse] ':' without '?'"},
      {"1 if 2", "[parse] 'if' without 'else'"}, {"1 else 2", "[parse] 'else' without 'if'"},
      {"1.5", "[parse] numbers are integers, without a point"}, {"a = b", "[parse] a single = does not compare, write =="},
      {"a < b < c", "[parse] comparisons do not chain, write 'a < b and b < c'"},
      {"-not 2", "[parse] 'not' binds loosely, put it in brackets here"},
      {"min()", "[parse] min takes one argument or more"}, {"ceildiv(1)", "[parse] ceildiv takes 2 arguments (a, b)"},
      {"\\mathit{a", "[parse] '{' is never closed"}, {"\\mathit{}", "[parse] the name is empty"},
      {"\\le & 1", "[parse] '&' outside of cases"},
      {"\\\xC3\xA9", "[parse] unknown LaTeX command: '\\\xC3\xA9'"}, {"\\mathit \xC3\xA9", "[parse] expected {: '\xC3\xA9'"},
      {"1 $ 2", "[parse] unexpected character: '$'"}, {"2 2", "[parse] expected an operator: '2'"},
  };
  // clang-format on
  const std::vector<std::string> names{"a", "b", "c"};
  for (const auto& [text, says] : cases) {
    try {
      compile(text, names);
      ADD_FAILURE() << "no error for " << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.what(), says) << text;
    }
  }
}

TEST(Grammar, DepthIsBoundedByMemoryAndBracketsByABudget) {
  EXPECT_EQ(value(repeated("(", kMaxBrackets) + "1" + repeated(")", kMaxBrackets)), 1);
  const std::string deeper = repeated("(", kMaxBrackets + 1) + "1" + repeated(")", kMaxBrackets + 1);
  EXPECT_EQ(fault_column(deeper), kMaxBrackets + 1);
  EXPECT_EQ(error_of([&] { compile(deeper, {}); }).kind(), ErrorKind::budget);
  EXPECT_EQ(value(repeated("-", 1000000) + "1"), 1);
  EXPECT_EQ(value(repeated("0?1:", 300000) + "2"), 2);
  EXPECT_EQ(value(repeated("not ", 300001) + "0"), 1);
  EXPECT_EQ(value("min(" + repeated("5,", 300000) + "4)"), 4);
  EXPECT_EQ(value(repeated("min(1+", 50000) + "1" + repeated(",7)", 50000)), 7);
  EXPECT_EQ(value(repeated("()", 3)), -777);
}

TEST(Grammar, AnyBytesGiveAResultOrAnErrorInsideTheText) {
  std::mt19937_64 random(7);
  constexpr std::string_view alphabet = "0189xy+-*/%<>=!&|?:(),. \t\nandorifelsemin\\{}\x80\xff$_";
  const std::vector<std::string> names{"x", "y"};
  const std::array<std::int64_t, 2> point{3, -4};
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::size_t n = random() % 24; n > 0; --n) text += alphabet[random() % alphabet.size()];
    try {
      (void)compile(text, names).try_evaluate(point);
    } catch (const Error& e) {
      EXPECT_GE(e.column(), 1u) << text;
      EXPECT_LE(e.column(), text.size() + 1) << text;
    }
  }
}

// --- a random tree, written with all brackets and with only those that precedence asks for ---

struct Written {
  std::string full, sparse;
  int precedence;  // of the top operator of `sparse`
};

struct Operator {
  std::string_view text;
  int precedence, left, right;  // what the sides must bind with at least
};
// clang-format off
constexpr Operator kOperators[] = {
    {"+", 6, 6, 7}, {"-", 6, 6, 7}, {"*", 7, 7, 8},      {"//", 7, 7, 8},    {"/", 7, 7, 8}, {"%", 7, 7, 8},
    {"<", 5, 6, 6}, {"==", 5, 6, 6}, {" and ", 3, 3, 4}, {" or ", 2, 2, 3}, {"&&", 3, 3, 4}, {"||", 2, 2, 3},
};
// clang-format on

std::string bracketed(const Written& w, int least) { return w.precedence < least ? "(" + w.sparse + ")" : w.sparse; }

Written write_random(std::mt19937_64& random, int depth) {
  if (depth == 0 || random() % 8 == 0) {
    const std::string leaf = random() % 2 == 0 ? std::string(1, "xyz"[random() % 3]) : std::to_string(random() % 9);
    return {leaf, leaf, 9};
  }
  const Written a = write_random(random, depth - 1);
  const Written b = write_random(random, depth - 1);
  const std::size_t which = random() % 18;
  if (which == 12) return {"(-(" + a.full + "))", "-" + bracketed(a, 8), 8};
  if (which == 13) return {"(!(" + a.full + "))", "not " + bracketed(a, 4), 4};
  if (which == 14) return {"(!(" + a.full + "))", "!" + bracketed(a, 8), 8};
  if (which == 15) return {"max((" + a.full + "),(" + b.full + "))", "max(" + a.sparse + "," + b.sparse + ")", 9};
  const Written c = write_random(random, depth - 1);
  const std::string full = "select((" + c.full + "),(" + a.full + "),(" + b.full + "))";
  if (which == 16) return {full, bracketed(a, 2) + " if " + bracketed(c, 2) + " else " + bracketed(b, 1), 1};
  if (which == 17) return {full, bracketed(c, 2) + "?" + bracketed(a, 1) + ":" + bracketed(b, 1), 1};
  const Operator& op = kOperators[which];
  return {"((" + a.full + ")" + std::string(op.text) + "(" + b.full + "))",
          bracketed(a, op.left) + std::string(op.text) + bracketed(b, op.right), op.precedence};
}

TEST(Grammar, PrecedenceAgreesWithBrackets) {
  std::mt19937_64 random(11);
  const std::vector<std::string> names{"x", "y", "z"};
  for (int round = 0; round < 4000; ++round) {
    const Written w = write_random(random, 4);
    const ExprProgram full = compile(w.full, names), sparse = compile(w.sparse, names);
    for (int point = 0; point < 5; ++point) {
      std::array<std::int64_t, 3> at{};
      for (std::int64_t& v : at) v = static_cast<std::int64_t>(random() % 11) - 5;
      const ExprProgram::Outcome a = full.try_evaluate(at), b = sparse.try_evaluate(at);
      ASSERT_EQ(a.failed, b.failed) << w.sparse << "   " << w.full;
      ASSERT_EQ(a.value, b.value) << w.sparse << "   " << w.full;
    }
  }
}

}  // namespace
}  // namespace strata
