// The requests check and rules, and the optional parts of view and expr.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "strata/expr/rules.h"
#include "strata/view/equal.h"
#include "tests/tools/answers.h"
#include "tools/box_text.h"

namespace strata::tools {
namespace {

std::string quoted(std::string_view text) {
  JsonWriter json;
  return json.value(text).take();
}

std::string check(std::string_view what, std::string_view a, std::string_view rest = "") {
  return answer(detail::message(R"({"do":"check","what":)", quoted(what), R"(,"a":)", quoted(a), rest, "}"));
}
std::string check_equal_of(std::string_view a, std::string_view b) {
  return check("equal", a, detail::message(R"(,"b":)", quoted(b)));
}

std::string part(const std::string& line, std::string_view name) {
  JsonDocument document;
  document.read(line);
  return document.salvage(name).value_or("none: " + line);
}

/// The one coordinate that an answer rests on.
Numbers witness_in(const std::string& line) {
  const std::string list = part(line, "witness");
  return integers(list.substr(1, list.size() - 2));
}

constexpr std::string_view yes = R"({"answer":"true","witness":null,"note":""})";

TEST(Check, EqualInAnyMixture) {
  const std::string chain = "(2,3).permute(1,0)";
  for (const char* other : {"View((3,2), (1,3))", "(3,2):(1,3)", "i: 0..2; j: 0..1; i + j*3", "coalesce((3,2):(1,3))",
                            "(3,2).reshape(6).reshape(2,3).permute(1,0)"}) {
    const std::string got = check_equal_of(chain, other);
    if (std::string_view(other).starts_with("coalesce"))
      EXPECT_NE(got.find("the shapes are (3, 2) and (6,)"), std::string::npos) << got;
    else
      EXPECT_EQ(got, yes) << other;
  }
  EXPECT_EQ(check_equal_of("i: 0..2; j: 0..1; i + j*3", chain), yes);
  const Numbers at = witness_in(check_equal_of(chain, "i: 0..2; j: 0..1; i*2 + j"));
  ASSERT_EQ(at.size(), 2u);
  EXPECT_NE(at[0] + at[1] * 3, at[0] * 2 + at[1]);
  EXPECT_EQ(check_equal_of("(4,).pad((0,1))", "i: 0..4; i; valid i < 4"), yes);
  EXPECT_EQ(check_equal_of("(4,).pad((0,1))", "i: 0..4; i"), R"({"answer":"false","witness":[[4]],"note":""})");
  EXPECT_EQ(check_equal_of("i: 0..9; j: 0..9; i + j", "j: 0..9; i: 0..9; j + i*1"), yes);
  EXPECT_EQ(check_equal_of("i: 0..9; i*2 // 2", "k: 0..9; k"), yes);
  EXPECT_EQ(check_equal_of("(2,2,2):(1,2,4)", "8:1"),
            R"({"answer":"true","witness":null,"note":"the modes differ: compared at 0, 1, 2, ..."})");
  EXPECT_GE(witness_in(check_equal_of("(2,2,2):(1,2,5)", "8:1")).at(0), 4);
  EXPECT_EQ(check_equal_of("n: 1..9; (n,3).permute(1,0)", "n: 1..9; View((3,n), (1,3))"), yes);
  EXPECT_EQ(part(check_equal_of("n: 1..9; (n,3)", "n: 1..9; i: 0..8; j: 0..2; i*3 + j"), "answer"), R"("true")");
}

TEST(Check, Injective) {
  EXPECT_EQ(check("injective", "(3,4)"), yes);
  EXPECT_EQ(part(check("injective", "View((2,2),(1,1))"), "answer"), R"("false")");
  EXPECT_EQ(check("injective", "i: 0..5; i*2"), yes);
  EXPECT_EQ(check("injective", "i: 0..5; i % 3; valid i < 3"), yes);
  const std::string pair = part(check("injective", "i: 0..5; i % 3"), "witness");
  const Numbers first = integers(pair.substr(1, pair.find(']')));
  const Numbers second = integers(pair.substr(pair.rfind('['), pair.size() - 1 - pair.rfind('[')));
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(first, second);
  EXPECT_EQ(first[0] % 3, second[0] % 3);
}

TEST(Check, WitnessesOfRandomViewsAreWitnesses) {
  const std::uint64_t seed = 5;
  Random random(seed);
  std::size_t refuted = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string text =
        detail::message("View((", random.between(1, 4), ", ", random.between(1, 4), "), (", random.between(-3, 5), ", ",
                        random.between(-3, 5), "), ", random.between(0, 9), ")");
    SCOPED_TRACE(detail::message("seed ", seed, ": ", text));
    Work work(default_budget);
    const ShapeTracker stack = read_box(text, work).view->stack;
    const std::vector<std::int64_t> all = addresses(stack);
    const auto address_at = [&](const Numbers& at) {
      return all[static_cast<std::size_t>(at[0] * stack.shape()[1].value() + at[1])];
    };
    const std::string injective = check("injective", text);
    std::vector<std::int64_t> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    EXPECT_EQ(part(injective, "answer"), distinct ? R"("true")" : R"("false")");
    if (!distinct) {
      ++refuted;
      const std::string pair = part(injective, "witness");
      const Numbers a = integers(pair.substr(1, pair.find(']')));
      const Numbers b = integers(pair.substr(pair.rfind('['), pair.size() - 1 - pair.rfind('[')));
      EXPECT_NE(a, b);
      EXPECT_EQ(address_at(a), address_at(b));
    }
    const std::string inside = check("in_bounds", text, R"(,"size":9)");
    const bool fits = sorted.front() >= 0 && sorted.back() < 9;
    EXPECT_EQ(part(inside, "answer"), fits ? R"("true")" : R"("false")");
    if (fits) continue;
    const std::string at = part(inside, "witness");
    const std::int64_t address = address_at(integers(at.substr(1, at.size() - 2)));
    EXPECT_TRUE(address < 0 || address >= 9);
  }
  EXPECT_GE(refuted, 20u);
}

TEST(Check, ContiguousAndInBounds) {
  EXPECT_EQ(check("contiguous", "(3,4).permute(1,0).permute(1,0)"), yes);
  EXPECT_EQ(part(check("contiguous", "(3,4).permute(1,0)"), "answer"), R"("false")");
  EXPECT_EQ(check("contiguous", "i: 1..3; j: 0..3; i*4 + j - 4"), yes);
  EXPECT_EQ(part(check("contiguous", "i: 0..3; i; valid i < 3"), "witness"), "[[3]]");
  EXPECT_EQ(check("in_bounds", "(4,).pad((3,3))", R"(,"size":4)"), yes);
  EXPECT_EQ(check("in_bounds", "(1099511627776,)", R"(,"size":1099511627776)"), yes);
  EXPECT_EQ(part(check("in_bounds", "(1099511627776,)", R"(,"size":1099511627775)"), "witness"), "[[1099511627775]]");
  EXPECT_EQ(part(check("in_bounds", "n: 1..9; (n,2)", R"(,"size":17)"), "at"), R"({"n":9})");
  EXPECT_EQ(check("in_bounds", "(0,3)", R"(,"size":0)"),
            R"({"answer":"true","witness":null,"note":"there are no elements"})");
}

TEST(Check, Refusals) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {R"j({"do":"check","what":"odd","a":"1"})j", "request"},
      {R"j({"do":"check","what":"equal","a":"1"})j", "request"},
      {R"j({"do":"check","what":"injective","a":"1","b":"1"})j", "request"},
      {R"j({"do":"check","what":"equal","a":"1","b":"1","size":3})j", "request"},
      {R"j({"do":"check","what":"in_bounds","a":"(2,3)"})j", "request"},
      {R"j({"do":"check","what":"injective","a":"a: f32[4]; b = a + 1"})j", "request"},
      {R"j({"do":"check","what":"injective","a":"swizzle(2,0,2)"})j", "request"},
      {R"j({"do":"check","what":"injective","a":"i*2"})j", "parse"},
      {R"j({"do":"check","what":"equal","a":"(2,3)","b":"i: 0..1; i"})j", "shape"},
      {R"j({"do":"check","what":"equal","a":"i: 0..1; i","b":"i: 0..2; i"})j", "shape"},
      {R"j({"do":"check","what":"equal","a":"n: 1..3; (n,)","b":"n: 1..4; (n,)"})j", "shape"},
  };
  for (const auto& [request, kind] : rows) EXPECT_EQ(error_kind(request), kind) << request << answer(request);
  const std::string open_bracket = answer(R"j({"do":"check","what":"equal","a":"(2,3)","b":"(2,"})j");
  EXPECT_NE(open_bracket.find("(in b)\",\"column\":"), std::string::npos) << open_bracket;
}

TEST(Extras, OfViews) {
  const std::string line = answer(
      R"({"do":"view","shape":[3,2],"ops":[["permute",[1,0]],["reshape",[3,2]]],"why":true,"facts":true,"latex":true})");
  EXPECT_NE(part(line, "why").size(), 2u);
  const std::string facts = part(line, "facts");
  EXPECT_TRUE(facts.starts_with(R"({"injective":"true","injective_witness":null,"contiguous":"false")")) << facts;
  const Numbers moved = integers(part(facts, "contiguous_witness"));
  const Numbers all = {0, 2, 4, 1, 3, 5};
  const std::int64_t number = moved.at(0) * 2 + moved.at(1);
  EXPECT_NE(all.at(static_cast<std::size_t>(number)), number);
  EXPECT_NE(part(line, "idx_latex").find("bmod"), std::string::npos);
  EXPECT_EQ(part(line, "valid_latex"), R"("1")");
  EXPECT_EQ(part(answer(R"({"do":"view","shape":[4],"why":true})"), "why"), R"("")");
  const std::string repeated =
      part(answer(R"({"do":"view","views":[{"shape":[2],"strides":[0]}],"facts":true})"), "facts");
  EXPECT_EQ(part(repeated, "injective_witness"), "[[0],[1]]");
  EXPECT_EQ(part(repeated, "contiguous_witness"), "[1]");
  EXPECT_EQ(part(answer(R"({"do":"view","shape":["n",3],"vars":{"n":[1,9]}})"), "shape"), R"(["n",3])");
  EXPECT_EQ(error_kind(R"({"do":"view","shape":["m"],"vars":{"n":[1,9]}})"), "parse");
  EXPECT_EQ(error_kind(R"({"do":"view","shape":["n"]})"), "request");
}

TEST(Extras, TraceNamesRulesGuardsAndProofs) {
  const std::string line =
      answer(R"j({"do":"expr","text":"(a*40+b)//20","vars":{"a":[0,10],"b":[0,10]},"trace":true,"notations":true})j");
  EXPECT_EQ(part(line, "python"), R"j("(a*2)")j");
  EXPECT_EQ(part(line, "latex"), R"j("2\\cdot a")j");
  EXPECT_EQ(part(line, "tree").find("Expr(Op."), 1u) << part(line, "tree");
  JsonDocument document;
  document.read(part(line, "trace"));
  const auto events = document.root().as_array("trace");
  ASSERT_FALSE(events.empty());
  for (const JsonValue& event : events) {
    std::string keys;
    for (const auto& m : event.as_object("event")) {
      keys += std::string(m.key) + " ";
      EXPECT_TRUE(m.key == "proof" || !m.value.as_string(m.key).empty()) << m.key;
    }
    EXPECT_EQ(keys, "rule title before after guard check proof ");
  }
}

TEST(Extras, RulesAreAllRules) {
  JsonDocument document;
  document.read(part(answer(R"({"do":"rules"})"), "rules"));
  EXPECT_EQ(document.root().as_array("rules").size(), rules().size());
  EXPECT_EQ(error_kind(R"({"do":"rules","text":"x"})"), "request");
}

}  // namespace
}  // namespace strata::tools
