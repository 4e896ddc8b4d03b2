// `layout` of `strata batch`, and `strata layout`: every function against its definition, every kind of error,
// pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "strata/base/int_math.h"
#include "tests/tools/answers.h"
#include "tests/tools/command_line.h"
#include "tools/ask_layout.h"
#include "tools/batch.h"
#include "tools/cli.h"

namespace strata::tools {
namespace {

/// `text` with double quotes in place of single ones: JSON that is readable inside C++.
std::string json(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

std::string line(const std::string& fn, const std::string& args) {
  return json("{'do':'layout','fn':'" + fn + "','args':[" + args + "]}");
}
std::string ask(const std::string& fn, const std::string& args) { return answer(line(fn, args)); }

/// A member of the answer as JSON, "" when it has none.
std::string member(const std::string& fn, const std::string& args, std::string_view name) {
  JsonDocument document;
  document.read(ask(fn, args));
  return document.salvage(name).value_or("");
}

Numbers table_of(const std::string& fn, const std::string& args) {
  const std::string table = member(fn, args, "table");
  EXPECT_NE(table, "") << ask(fn, args);
  return integers(table.empty() ? "[]" : table);
}

TEST(BatchLayout, Answers) {
  EXPECT_EQ(ask("composition", "'(4,8):(1,4)','8:2'"), R"({"layout":"8:2","table":[0,2,4,6,8,10,12,14]})");
  EXPECT_EQ(ask("coalesce", "'(2,(1,6)):(1,(6,2))'"), R"({"layout":"12:1","table":[0,1,2,3,4,5,6,7,8,9,10,11]})");
  EXPECT_EQ(ask("size", "'((2,4),8):((1,16),2)'"), R"({"value":64})");
  EXPECT_EQ(ask("cosize", "'(2,3):(1,5)'"), R"({"value":12})");
  EXPECT_EQ(ask("crd2idx", "'((2,4),8):((1,16),2)','((1,2),3)'"), R"({"value":39})");
  EXPECT_EQ(ask("crd2idx", "'((2,4),8):((1,16),2)',[[1,2],3]"), R"({"value":39})");
  EXPECT_EQ(ask("crd2idx", "'((2,4),8):((1,16),2)',[5,3]"), R"({"value":39})");
  EXPECT_EQ(ask("crd2idx", "'((2,4),8):((1,16),2)',29"), R"({"value":39})");
  EXPECT_EQ(ask("idx2crd", "'((2,4),8):((1,16),2)',29"), R"({"value":[[1,2],3]})");
  EXPECT_EQ(ask("idx2crd", "'8:3',5"), R"({"value":5})");
  EXPECT_EQ(member("crd2idx", "'(3,2):(2,1)'", "table"), "[0,2,4,1,3,5]");
  EXPECT_EQ(member("crd2idx", "'(3):(1)'", "table"), "[0,1,2]");
  EXPECT_EQ(ask("swizzle", "1,0,1"), R"({"table":[0,1,3,2]})");
}

TEST(BatchLayout, TilersTileModeByMode) {
  EXPECT_EQ(member("zipped_divide", "'(8,16):(16,1)','<4:1, 8:1>'", "layout"), "\"((4,8),(2,2)):((16,1),(64,8))\"");
  for (const char* fn : {"composition", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide"}) {
    const std::string named = ask(fn, "'(8,16):(16,1)',' (4:1,8:1) '");
    EXPECT_NE(named.find("layout"), std::string::npos) << named;
    EXPECT_EQ(ask(fn, "'(8,16):(16,1)','( 4 , 8:1)'"), named);
    EXPECT_EQ(ask(fn, "'(8,16):(16,1)',[4,8]"), named);
    EXPECT_EQ(ask(fn, "'(8,16):(16,1)','<4>'"), ask(fn, "'(8,16):(16,1)','(4:1)'")) << fn;
  }
  EXPECT_EQ(member("composition", "'((2,4),8):((1,16),2)','((2,2):(1,4), 4:2)'", "layout"), "\"((2,2),4):((1,32),4)\"");
}

TEST(BatchLayout, TilersThatAreNone) {
  const auto args = [](const char* b) { return "'(8,16):(16,1)'," + std::string(b); };
  const auto message = [&](const char* b) { return ask("logical_divide", args(b)); };
  EXPECT_NE(message("'(4:1, 8:)'").find("\"column\":9"), std::string::npos) << message("'(4:1, 8:)'");
  EXPECT_NE(message("'(4:1,)'").find("\"parse\""), std::string::npos) << message("'(4:1,)'");
  EXPECT_NE(message("'<>'").find("\"parse\""), std::string::npos) << message("'<>'");
  EXPECT_NE(message("'(2,2,2)'").find("\"shape\""), std::string::npos) << message("'(2,2,2)'");
  EXPECT_NE(message("'(4:1'").find("\"parse\""), std::string::npos) << message("'(4:1'");
  EXPECT_NE(message("'(4:1)(8:1)'").find("\"parse\""), std::string::npos);
  EXPECT_NE(message("'3:1, 5'").find("\"parse\""), std::string::npos);
  EXPECT_NE(ask("logical_product", args("'(4:1,8:1)'")).find("\"parse\""), std::string::npos);
}

TEST(BatchLayout, WithoutTable) {
  const std::string large = "{'do':'layout','fn':'crd2idx','args':['(1048576,1048576):(1,1048576)']";
  EXPECT_EQ(error_kind(json(large + "}")), "budget");
  EXPECT_EQ(answer(json(large + ",'table':false}")), R"~({"layout":"(1048576,1048576):(1,1048576)"})~");
  EXPECT_EQ(answer(json("{'do':'layout','fn':'swizzle','args':[1,0,1],'table':false}")), R"({"table":[0,1,3,2]})");
}

TEST(BatchLayout, ErrorKinds) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"'fn':'coalesce','args':['(2,3):(1']", "parse"},
      {"'fn':'coalesce','args':['(2,3)']", "parse"},
      {"'fn':'coalesce','args':['(n,3):(1,2)']", "parse"},
      {"'fn':'coalesce','args':['']", "parse"},
      {"'fn':'complement','args':['4:2','x']", "parse"},
      {"'fn':'crd2idx','args':['4:2','(1']", "parse"},
      {"'fn':'coalesce','args':['(2,3):(1,(2,3))']", "shape"},
      {"'fn':'coalesce','args':['0:1']", "shape"},
      {"'fn':'coalesce','args':['-4:1']", "shape"},
      {"'fn':'coalesce','args':[0]", "shape"},
      {"'fn':'complement','args':['4:2',0]", "shape"},
      {"'fn':'crd2idx','args':['(4,2):(2,1)','(1,1,1)']", "shape"},
      {"'fn':'swizzle','args':[-1,0,3]", "domain"},
      {"'fn':'swizzle','args':[3,0,2]", "undefined"},
      {"'fn':'composition','args':['(4,3):(1,20)','(2,4):(3,2)']", "undefined"},
      {"'fn':'complement','args':['(2,2):(1,3)',24]", "undefined"},
      {"'fn':'left_inverse','args':['(2,2):(1,1)']", "undefined"},
      {"'fn':'coalesce','args':['9223372036854775808:1']", "overflow"},
      {"'fn':'coalesce','args':['(4294967296,4294967296):(1,0)']", "overflow"},
      {"'fn':'coalesce','args':['3:9223372036854775807']", "overflow"},
      {"'fn':'complement','args':['4:2',9223372036854775808]", "overflow"},
      {"'fn':'swizzle','args':[40,20,40]", "overflow"},
      {"'fn':'swizzle','args':[20,0,20]", "budget"},
      {"'fn':'coalesce','args':['100000000000:1']", "budget"},
      {"'fn':'size','args':['100000000000:1']", "no error"},
      {"'fn':'coalese','args':['4:1']", "request"},
      {"'fn':1,'args':['4:1']", "request"},
      {"'args':['4:1']", "no error"},
      {"'args':['4:1','4:1']", "request"},
      {"'args':[]", "request"},
      {"'args':['n:1']", "parse"},
      {"'fn':'size'", "request"},
      {"'fn':'size','args':'4:1'", "request"},
      {"'fn':'size','args':[]", "request"},
      {"'fn':'size','args':['4:1','4:1']", "request"},
      {"'fn':'composition','args':['4:1']", "request"},
      {"'fn':'swizzle','args':[1,0]", "request"},
      {"'fn':'size','args':[null]", "request"},
      {"'fn':'size','args':[1.5]", "request"},
      {"'fn':'crd2idx','args':['4:1',[true]]", "request"},
      {"'fn':'size','args':['n:1'],'vars':{'n':[1,4]}", "no error"},
      {"'fn':'size','args':['n:1'],'vars':{'n':[0,4]}", "shape"},
      {"'fn':'size','args':['4:1'],'vars':[]", "request"},
  };
  for (const auto& [members, kind] : cases) {
    const std::string request = json("{'do':'layout'," + members + "}");
    EXPECT_EQ(error_kind(request), kind) << request << '\n' << answer(request).substr(0, 300);
  }
}

TEST(BatchLayout, ATextAtFaultHasAColumn) {
  const std::string got = ask("composition", "'4:1','(2,3):(1,x)'");
  EXPECT_NE(got.find("(in args[1])"), std::string::npos) << got;
  EXPECT_NE(got.find(R"("column":10})"), std::string::npos) << got;
  EXPECT_EQ(ask("complement", "'(2,2):(1,3)',24").find("column"), std::string::npos);
}

TEST(BatchLayout, TheBudgetIsThatOfItsDecisionsToo) {
  const std::string small = line("right_inverse", "'(100,100):(1,1)'");
  EXPECT_EQ(error_kind(small), "no error");
  EXPECT_EQ(error_kind(small, {.budget = 10000}), "budget");
  const std::string large = line("right_inverse", "'(1000,1000):(1,1)'");
  EXPECT_EQ(error_kind(large), "budget");
  EXPECT_EQ(error_kind(large, {.budget = std::int64_t{1} << 28}), "no error");
}

TEST(BatchLayout, LongRequestsEndSoon) {
  std::string sizes = "2";
  std::string strides = "1";
  for (int i = 1; i < 62; ++i) {
    sizes += ",2";
    strides += "," + std::to_string(3 * i);
  }
  const std::string wide = "'(" + sizes + "):(" + strides + ")'";
  const std::string deep = "'" + std::string(100000, '(') + "4" + std::string(100000, ')') + ":1'";
  const std::string ones = "'(1" + std::string(300000, ',') + "):1'";
  EXPECT_EQ(ask("size", deep), R"({"value":4})");
  for (const LayoutFunction& f : layout_functions()) {
    std::string args = wide;
    for (std::size_t i = 1; i < f.least; ++i) args += "," + wide;
    const std::string got = ask(std::string(f.name), args);
    EXPECT_TRUE(got.starts_with('{')) << f.name;
  }
  EXPECT_EQ(error_kind(line("size", ones)), "parse");
}

// --- the definitions, over all coordinates of random layouts ---

/// A flat layout with its own evaluation.
struct Flat {
  Numbers sizes, strides;

  std::string text() const {
    std::string a;
    std::string b;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      a += (i ? "," : "") + std::to_string(sizes[i]);
      b += (i ? "," : "") + std::to_string(strides[i]);
    }
    return "'(" + a + "):(" + b + ")'";
  }
  std::int64_t size() const {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  }
  /// The value at any integer: the last digit takes all that is left.
  std::int64_t operator()(std::int64_t n) const {
    std::int64_t out = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool last = i + 1 == sizes.size();
      out += (last ? n : floor_mod(n, sizes[i])) * strides[i];
      n = floor_div(n, sizes[i]);
    }
    return out;
  }
  Numbers table() const {
    Numbers out;
    for (std::int64_t n = 0; n < size(); ++n) out.push_back((*this)(n));
    return out;
  }
};

Flat random_layout(Random& random, std::initializer_list<std::int64_t> strides) {
  Flat out;
  for (std::int64_t i = 1 + random.below(3); i-- > 0;) {
    out.sizes.push_back(random.pick({1, 2, 2, 3, 4, 6}));
    out.strides.push_back(random.pick(strides));
  }
  return out;
}

bool is_undefined(const std::string& fn, const std::string& args) { return error_kind(line(fn, args)) == "undefined"; }

TEST(BatchLayout, RandomCompositionsAreTheFunctionOfTheFunction) {
  Random random(30);
  int answered = 0;
  for (int round = 0; round < 1500; ++round) {
    const Flat a = random_layout(random, {0, 1, 2, 3, 4, 5, 8, 12, 24});
    const Flat b = random_layout(random, {0, 1, 2, 3, 4, 6, 8});
    const std::string args = a.text() + "," + b.text();
    if (is_undefined("composition", args)) continue;
    ++answered;
    Numbers expected;
    for (const std::int64_t n : b.table()) expected.push_back(a(n));
    ASSERT_EQ(table_of("composition", args), expected) << args << ask("composition", args);
  }
  EXPECT_GT(answered, 700);
}

TEST(BatchLayout, RandomCoalescedLayoutsKeepTheirTable) {
  Random random(31);
  for (int round = 0; round < 300; ++round) {
    const Flat a = random_layout(random, {0, 1, 2, 3, 4, 6, -1});
    ASSERT_EQ(table_of("coalesce", a.text()), a.table()) << a.text();
    ASSERT_EQ(member("size", a.text(), "value"), std::to_string(a.size()));
    const Numbers kernel = table_of("nullspace", a.text());
    for (const std::int64_t n : kernel) ASSERT_EQ(a(n), 0) << a.text();
  }
}

TEST(BatchLayout, RandomInversesInvert) {
  Random random(32);
  int lefts = 0;
  for (int round = 0; round < 600; ++round) {
    const Flat a = random_layout(random, {1, 1, 2, 3, 4, 6, 8, 12});
    const Numbers right = table_of("right_inverse", a.text());
    for (std::size_t i = 0; i < right.size(); ++i) {
      ASSERT_LT(right[i], a.size());
      ASSERT_EQ(a(right[i]), static_cast<std::int64_t>(i)) << a.text();
    }
    const Numbers values = a.table();
    const bool injective = std::set<std::int64_t>(values.begin(), values.end()).size() == values.size();
    if (is_undefined("left_inverse", a.text())) continue;
    ++lefts;
    ASSERT_TRUE(injective) << a.text();
    const std::string left = member("left_inverse", a.text(), "layout");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string args = left + "," + std::to_string(values[i]);
      ASSERT_EQ(member("crd2idx", args, "value"), std::to_string(i)) << a.text();
    }
  }
  EXPECT_GT(lefts, 100);
}

TEST(BatchLayout, RandomComplementsTile) {
  Random random(33);
  int answered = 0;
  for (int round = 0; round < 600; ++round) {
    const Flat a = random_layout(random, {0, 1, 2, 4, 6, 8, 12});
    const std::int64_t n = 1 + random.below(60);
    const std::string args = a.text() + "," + std::to_string(n);
    if (is_undefined("complement", args)) continue;
    ++answered;
    const Numbers copies = table_of("complement", args);
    ASSERT_TRUE(std::is_sorted(copies.begin(), copies.end())) << args;
    const Numbers all = a.table();
    const std::set<std::int64_t> values(all.begin(), all.end());
    std::set<std::int64_t> covered;
    for (const std::int64_t c : copies)
      for (const std::int64_t v : values) ASSERT_TRUE(covered.insert(c + v).second) << args;
    ASSERT_EQ(*covered.begin(), 0);
    ASSERT_EQ(*covered.rbegin() + 1, static_cast<std::int64_t>(covered.size())) << args << " has gaps";
    ASSERT_GE(static_cast<std::int64_t>(covered.size()), n) << args;
  }
  EXPECT_GT(answered, 150);
}

TEST(BatchLayout, DivisionsAndProductsAgreeUpToTheirProfiles) {
  Random random(34);
  int divided = 0;
  int multiplied = 0;
  for (int round = 0; round < 400; ++round) {
    const Flat a = random_layout(random, {1, 2, 4, 6, 12});
    const Flat b = random_layout(random, {1, 2, 4});
    const std::string args = a.text() + "," + b.text();
    if (!is_undefined("logical_divide", args)) {
      ++divided;
      const std::string rest = member("complement", b.text() + "," + std::to_string(a.size()), "table");
      const Numbers copies = table_of("complement", b.text() + "," + std::to_string(a.size()));
      Numbers expected;
      for (const std::int64_t c : copies)
        for (const std::int64_t v : b.table()) expected.push_back(a(v + c));
      for (const std::string fn : {"logical_divide", "zipped_divide", "tiled_divide", "flat_divide"})
        ASSERT_EQ(table_of(fn, args), expected) << fn << args << rest;
    }
    if (!is_undefined("logical_product", args)) {
      ++multiplied;
      const Numbers expected = table_of("logical_product", args);
      ASSERT_EQ(static_cast<std::int64_t>(expected.size()), a.size() * b.size());
      ASSERT_TRUE(std::equal(expected.begin(), expected.begin() + a.size(), a.table().begin())) << args;
      for (const std::string fn : {"zipped_product", "tiled_product", "flat_product"})
        ASSERT_EQ(table_of(fn, args), expected) << fn << args;
      Numbers blocked = table_of("blocked_product", args);
      Numbers raked = table_of("raked_product", args);
      Numbers sorted = expected;
      for (Numbers* t : {&blocked, &raked, &sorted}) std::sort(t->begin(), t->end());
      ASSERT_EQ(blocked, sorted) << args;
      ASSERT_EQ(raked, sorted) << args;
    }
  }
  EXPECT_GT(divided, 100);
  EXPECT_GT(multiplied, 100);
}

TEST(BatchLayout, SwizzlesAreInvolutions) {
  for (std::int64_t bits = 0; bits <= 3; ++bits)
    for (std::int64_t base = 0; base <= 3; ++base)
      for (const std::int64_t shift : {bits, bits + 1, -bits}) {
        const std::string args = std::to_string(bits) + "," + std::to_string(base) + "," + std::to_string(shift);
        const Numbers table = table_of("swizzle", args);
        ASSERT_EQ(static_cast<std::int64_t>(table.size()), std::int64_t{1} << (bits + base + std::abs(shift)));
        for (std::size_t i = 0; i < table.size(); ++i) {
          const std::int64_t source =
              shift >= 0 ? static_cast<std::int64_t>(i) >> shift : static_cast<std::int64_t>(i) << -shift;
          const std::int64_t low = base + std::max<std::int64_t>(-shift, 0);
          const std::int64_t mask = ((std::int64_t{1} << bits) - 1) << low;
          ASSERT_EQ(table[i], static_cast<std::int64_t>(i) ^ (source & mask)) << args << " at " << i;
          ASSERT_EQ(table[static_cast<std::size_t>(table[i])], static_cast<std::int64_t>(i)) << args;
        }
      }
}

TEST(BatchLayout, CoordinatesGoThereAndBack) {
  const std::string layout = "'((2,3),(4,1)):((5,1),(30,7))'";
  const Numbers table = table_of("crd2idx", layout);
  for (std::int64_t n = 0; n < 24; ++n) {
    const std::string c = member("idx2crd", layout + "," + std::to_string(n), "value");
    EXPECT_EQ(member("crd2idx", layout + "," + c, "value"), std::to_string(table[static_cast<std::size_t>(n)]));
  }
}

// --- the command ---

TEST(CliLayout, ShowsALayout) {
  EXPECT_EQ(run({"layout", "((2,2),3):((1,6),2)"}).out,
            "layout      ((2,2),3):((1,6),2)\n"
            "size        12\n"
            "cosize      12\n"
            "coalesced   (2,2,3):(1,6,2)\n"
            "\n"
            "          mode1\n"
            "mode0      0  1  2\n"
            "      0 |  0  2  4\n"
            "      1 |  1  3  5\n"
            "      2 |  6  8 10\n"
            "      3 |  7  9 11\n"
            "\n"
            "memory      12 addresses are touched: 0..11\n"
            " 0  1  2  3  4  5  6  7  8  9 10 11\n");
}

TEST(CliLayout, OneModeIsARowAndThreeAreSlices) {
  EXPECT_EQ(run({"layout", "4:2"}).out,
            "layout      4:2\nsize        4\ncosize      7\ncoalesced   4:2\n\n"
            "mode0 0 1 2 3\n"
            "      0 2 4 6\n\n"
            "memory      4 addresses are touched: 0 2 4 6\n"
            "0 _ 2 _ 4 _ 6\n");
  const std::string three = run({"layout", "(2,2,2):(4,2,1)"}).out;
  EXPECT_NE(three.find("mode2=1\n          mode1\nmode0     0 1\n      0 | 1 3\n      1 | 5 7\n"), std::string::npos)
      << three;
}

TEST(CliLayout, Functions) {
  EXPECT_NE(run({"layout", "composition", "(4,8):(1,4)", "8:2"}).out.find("layout      8:2\n"), std::string::npos);
  EXPECT_EQ(run({"layout", "cosize", "(2,3):(1,5)"}).out, "value       12\n");
  EXPECT_EQ(run({"layout", "idx2crd", "((2,4),8):((1,16),2)", "29"}).out, "value       ((1,2),3)\n");
  EXPECT_EQ(run({"layout", "crd2idx", "((2,4),8):((1,16),2)", "((1,2),3)"}).out, "value       39\n");
  EXPECT_NE(run({"layout", "swizzle", "1", "0", "-1"}).out.find("    0 | 0 3\n    1 | 2 1\n"), std::string::npos)
      << run({"layout", "swizzle", "1", "0", "-1"}).out;
  EXPECT_EQ(run({"layout", "complement", "4:2", "24", "--json"}).out,
            json("{'layout':'(2,3):(1,8)','table':[0,1,8,9,16,17]}\n"));
  EXPECT_EQ(run({"layout", "coalesce", "(n,4):(4,1)", "--var", "n=2..9", "--json"}).out,
            json("{'layout':'(n,4):(4,1)'}\n"));
  EXPECT_NE(run({"layout", "1000:3"}).out.find("picture     none: more than 512 elements\n"), std::string::npos);
}

TEST(CliLayout, Errors) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> usage = {
      {{"layout"}, "'layout' needs LAYOUT"},
      {{"layout", "compositon", "4:1", "2:1"}, "did you mean 'composition'?"},
      {{"layout", "coalese"}, "did you mean 'coalesce'?"},
      {{"layout", "composition", "4:1"}, "composition takes A B"},
      {{"layout", "size", "4:1", "4:1"}, "size takes A"},
  };
  for (const auto& [words, message] : usage) {
    const Output r = run(words);
    EXPECT_EQ(r.status, 2) << message;
    EXPECT_NE(r.err.find(message), std::string::npos) << r.err;
  }
  const Output bad = run({"layout", "coalesce", "(2,3):(1"});
  EXPECT_EQ(bad.status, 1);
  EXPECT_NE(bad.err.find("(2,3):(1\n        ^\n"), std::string::npos) << bad.err;
  const Output unknown = run({"layout", "(n,4):(4,1)"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_EQ(unknown.out, "");
  EXPECT_EQ(run({"layout", "complement", "(2,2):(1,3)", "24"}).status, 1);
}

TEST(CliLayout, CompletionNamesEveryFunction) {
  std::set<std::string_view> completed;
  for (const std::string_view name : split(find_command("layout")->completes, '|')) completed.insert(name);
  std::set<std::string_view> functions;
  for (const LayoutFunction& f : layout_functions()) functions.insert(f.name);
  EXPECT_EQ(completed, functions);
  for (const LayoutFunction& f : layout_functions())
    EXPECT_NE(find_command("layout")->description.find(f.name), std::string_view::npos) << f.name;
}

}  // namespace
}  // namespace strata::tools
