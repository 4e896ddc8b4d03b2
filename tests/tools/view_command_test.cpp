// `strata view`: what it tells, pictures, errors, the examples of its help.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/command_line.h"
#include "tools/batch.h"
#include "tools/cli.h"

namespace strata::tools {
namespace {

TEST(CliView, TellsAndDrawsAStack) {
  EXPECT_EQ(run({"view", "--shape", "3,2", "--permute", "1,0", "--reshape", "3,2"}).out,
            "shape         (3, 2)  (6 elements)\n"
            "view 0        View(shape=(2, 3), strides=(1, 2), offset=0, mask=None, contiguous=False)"
            "  (addresses memory)\n"
            "view 1        View(shape=(3, 2), strides=(2, 1), offset=0, mask=None, contiguous=True)"
            "  (takes the indices)\n"
            "index         (((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))\n"
            "valid         1\n"
            "real_strides  (none, none)\n"
            "real_size     6\n"
            "\n"
            "          ridx1\n"
            "ridx0     0 1\n"
            "      0 | 0 2\n"
            "      1 | 4 1\n"
            "      2 | 3 5\n"
            "\n"
            "memory        6 addresses are touched: 0..5\n"
            "0 1 2 3 4 5\n");
}

TEST(CliView, Starts) {
  const std::string gaps =
      run({"view", "--shape", "2,2", "--strides", "4,1", "--offset", "1", "--idxs", "row,col"}).out;
  EXPECT_TRUE(has(gaps, "index         ((1+(row*4))+col)\n")) << gaps;
  EXPECT_TRUE(has(gaps, "row     0 1\n    0 | 1 2\n    1 | 5 6\n")) << gaps;
  EXPECT_TRUE(has(gaps, "_ 1 2 _ _ 5 6\n")) << gaps;
  const std::string masked = run({"view", "--shape", "2,2", "--mask", ":,:1"}).out;
  EXPECT_TRUE(has(masked, "      0 | 0 ·\n      1 | 2 ·\n")) << masked;
  const std::string repeated = run({"view", "--shape", "4,3", "--strides", "0,1"}).out;
  EXPECT_TRUE(has(repeated, "3 addresses are touched: 0..2; up to 4 elements share one\n")) << repeated;
  const std::string stack =
      "ShapeTracker(views=(View(shape=(2, 3), strides=(1, 2), offset=0, mask=None, "
      "contiguous=False), "
      "View(shape=(3, 2), strides=(2, 1), offset=0, mask=None, contiguous=True)))";
  const std::string expected = run({"view", "--shape=3,2", "--permute=1,0", "--reshape=3,2"}).out;
  EXPECT_EQ(run({"view", "--views", stack}).out, expected);
  EXPECT_EQ(run({"view", "--views", R"([{"shape":[2,3],"strides":[1,2]},{"shape":[3,2]}])"}).out, expected);
  EXPECT_EQ(run({"view", "--views", "View(shape=(2,3), strides=(1,2)), View(shape=(3,2))"}).out, expected);
  const std::string one = "View(shape=(4,), strides=(2,), offset=1, mask=((1, 3),), contiguous=False)";
  EXPECT_TRUE(has(run({"view", "--views", one}).out, "view          " + one + "\n"));
  EXPECT_TRUE(has(run({"view", "--views", "ShapeTracker(views=(" + one + ",))"}).out, one));
  EXPECT_TRUE(has(run({"view", "--shape", ""}).out, "shape         ()  (1 element)\n"));
  EXPECT_TRUE(has(run({"view", "--shape", "0,2"}).out, "\nno elements\n"));
}

TEST(CliView, MovementInTheOrderGiven) {
  const auto addresses = [](std::vector<std::string> ops) {
    ops.insert(ops.begin(), {"view", "--shape", "2,3"});
    ops.push_back("--addresses");
    const std::string out = run(ops).out;
    const std::size_t at = out.find("addresses     ");
    return at == std::string::npos ? out : out.substr(at + 14, out.find('\n', at) - at - 14);
  };
  EXPECT_EQ(addresses({"--flip", "1", "--shrink", ":,1:3"}), "1 0 4 3");
  EXPECT_EQ(addresses({"--shrink", ":,1:3", "--flip", "1"}), "2 1 5 4");
  EXPECT_EQ(addresses({"--shrink", "((0,1),(1,3))"}), "1 2");
  EXPECT_EQ(addresses({"--pad", "0,1:0", "--stride", "1,-2"}), "2 0 5 3");
  EXPECT_EQ(addresses({"--shrink", ":1,:1", "--pad", "1,0:1"}), "-1 -1 0 -1 -1 -1");
  EXPECT_EQ(addresses({"--reshape", "(2, 1, 3)", "--expand", "[2,2,3]"}), "0 1 2 0 1 2 3 4 5 3 4 5");
}

TEST(CliView, SymbolicSizes) {
  const std::string out = run({"view", "--shape", "n,3", "--var", "n=1..100", "--idxs", "x,y"}).out;
  EXPECT_TRUE(has(out, "shape         (n, 3)  ((n*3) elements)\n")) << out;
  EXPECT_TRUE(has(out, "index         ((x*3)+y)\n")) << out;
  EXPECT_TRUE(has(out, "real_size     (n*3)\n")) << out;
  EXPECT_TRUE(has(out, "picture       none: the sizes are symbolic\n")) << out;
  const std::string json = run({"view", "--shape", "n*2,3", "--var", "n=1..100", "--permute", "1,0", "--json"}).out;
  EXPECT_TRUE(has(json, R"j("shape":[3,"(n*2)"])j")) << json;
}

TEST(CliView, ExpressionAndValid) {
  EXPECT_EQ(run({"view", "--expr", "(((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))", "--valid", "1", "--var",
                 "ridx0=0..2", "--var", "ridx1=0..1"})
                .out,
            "shape         (3, 2)\n"
            "index         (((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))\n"
            "valid         1\n"
            "\n"
            "          ridx1\n"
            "ridx0     0 1\n"
            "      0 | 0 2\n"
            "      1 | 4 1\n"
            "      2 | 3 5\n"
            "\n"
            "memory        6 addresses are touched: 0..5\n"
            "0 1 2 3 4 5\n");
  const std::string shifted =
      run({"view", "--expr", "i*i - 4", "--valid", "i != 0", "--var", "i=-2..2", "--addresses"}).out;
  EXPECT_TRUE(has(shifted, "i -2 -1  0  1  2\n   0 -3  · -3  0\n")) << shifted;
  EXPECT_TRUE(has(shifted, "addresses     0 -3 -1 -3 0\n")) << shifted;
  EXPECT_TRUE(has(shifted, "-3  _  _  0\n")) << shifted;
  EXPECT_EQ(run({"view", "--expr", "i*2", "--valid", "i < 2", "--var", "i=0..2", "--addresses", "--json"}).out,
            R"j({"shape":[3],"idx":"(i*2)","valid":"(i<2)","addresses":[0,2,-1]})j"
            "\n");
  EXPECT_TRUE(has(run({"view", "--expr", "7"}).out, "\n7\n"));
}

TEST(CliView, LargeOnesAreNotDrawn) {
  const std::string out = run({"view", "--shape", "1000,1000"}).out;
  EXPECT_TRUE(has(out, "picture       none: more than 512 elements\n")) << out;
  const std::string sparse = run({"view", "--shape", "3", "--strides", "1000000"}).out;
  EXPECT_TRUE(has(sparse, "3 addresses are touched: 0 1000000 2000000\n")) << sparse;
  EXPECT_LT(sparse.size(), 1000U);
  EXPECT_EQ(run({"view", "--shape", "100000,100000", "--addresses"}).status, 1);
  EXPECT_EQ(run({"view", "--expr", "i", "--var", "i=0..9999999999", "--addresses"}).status, 1);
  const Output all = run({"view", "--expr", "i", "--var", "i=-9223372036854775808..9223372036854775807"});
  EXPECT_TRUE(has(all.err, "more than 64 bits count")) << all.err;
}

TEST(CliView, WideRowsAreFolded) {
  std::istringstream out(run({"view", "--shape", "2,200"}).out);
  for (std::string line; std::getline(out, line);) {
    if (has(line, "View(")) continue;
    EXPECT_LE(line.size(), 110U) << line;
  }
}

TEST(CliView, Why) {
  const std::string two = run({"view", "--shape", "3,2", "--permute", "1,0", "--reshape", "3,2", "--why"}).out;
  EXPECT_TRUE(has(two, "why           a step along dimension 1 at (1, 0)")) << two;
  EXPECT_TRUE(has(run({"view", "--shape", "3,2", "--why"}).out, "why           one View says it\n"));
  const std::string kept = run({"view", "--shape", "4", "--views", "View(shape=(4,))"}).err;
  EXPECT_TRUE(has(kept, "leave out --shape")) << kept;
}

TEST(CliView, JsonIsTheBatchAnswer) {
  const std::string expected = answer(
      R"({"do":"view","shape":[3,2],"ops":[["pad",[[0,1],[1,0]]],["flip",[0]]],"addresses":true,"simplify":false})");
  EXPECT_EQ(
      run({"view", "--shape", "3,2", "--pad", "0:1,1:0", "--flip", "0", "--addresses", "--no-simplify", "--json"}).out,
      expected + "\n");
}

TEST(CliView, Colours) {
  const std::vector<std::string> words = {"view", "--shape", "2,2", "--mask", "0:1,:"};
  EXPECT_FALSE(has(run(words).out, "\x1b"));
  EXPECT_TRUE(has(run(words, true).out, "\x1b[30;48;5;"));
  std::vector<std::string> always = words;
  always.insert(always.end(), {"--color", "always"});
  EXPECT_EQ(run(always).out, run(words, true).out);
  std::vector<std::string> never = words;
  never.insert(never.end(), {"--color", "never"});
  EXPECT_EQ(run(never, true).out, run(words).out);
  std::string plain = run(always).out;  // without the escape sequences
  for (std::size_t at = plain.find('\x1b'); at != std::string::npos; at = plain.find('\x1b'))
    plain.erase(at, plain.find('m', at) + 1 - at);
  EXPECT_EQ(plain, run(words).out);
}

TEST(CliView, Errors) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> usage = {
      {{"view"}, "'view' needs --shape, --views or --expr"},
      {{"view", "3,2"}, "unexpected argument '3,2'"},
      {{"view", "--shap", "3"}, "did you mean '--shape'?"},
      {{"view", "--shape", "3", "--valid", "1"}, "--valid goes with --expr"},
      {{"view", "--expr", "1", "--flip", "0"}, "--flip is for Views"},
      {{"view", "--expr", "1", "--shape", "3"}, "--shape is for Views"},
      {{"view", "--shape", "3", "--color", "blue"}, "not one of always|never|auto"},
      {{"view", "--shape", "3", "--shape", "4"}, "given twice"},
      {{"view", "--shape", "n", "--var", "n"}, "expected NAME=MIN..MAX"},
  };
  for (const auto& [words, message] : usage) {
    const Output r = run(words);
    EXPECT_EQ(r.status, 2) << message;
    EXPECT_TRUE(has(r.err, message)) << r.err << " lacks " << message;
    EXPECT_EQ(r.out, "");
  }
  const std::vector<std::pair<std::vector<std::string>, std::string>> failures = {
      {{"view", "--shape", "2,k"}, "2,k\n  ^\ngive its bounds: --var k=0..9\n"},
      {{"view", "--shape", "2,3", "--reshape", "4,,2"}, "4,,2\n  ^\n"},
      {{"view", "--shape", "2,3", "--shrink", "0:1,3"}, "expected begin:end, found '3' (in --shrink)\n0:1,3\n    ^\n"},
      {{"view", "--shape", "2", "--shrink", "0:1,2:"}, "there is no such dimension"},
      {{"view", "--shape", "2,3", "--reshape", "4,2"}, "[reshape]"},
      {{"view", "--shape", "2,3", "--permute", "0,0"}, "[permute]"},
      {{"view", "--shape", "9223372036854775808"}, "9223372036854775808\n^\n"},
      {{"view", "--views", "View(strides=(1,))"}, "a View needs shape=(...)"},
      {{"view", "--views", "View(shape=(1,), size=3)"},
       "a View has no 'size' (in --views)\nView(shape=(1,), size=3)\n                 ^\n"},
      {{"view", "--views", "View(shape=(1,)"}, "is not closed"},
      {{"view", "--views", "(2,3):(3,1)"}, "expected View(shape=(...), ...)"},
      {{"view", "--views", "[1]"}, "not an object"},
      {{"view", "--views", "[{]"}, "[json]"},
      {{"view", "--shape", "2,3", "--idxs", "x"}, "1 names for 2 dimensions"},
      {{"view", "--expr", "i +", "--var", "i=0..1"}, "i +\n   ^\n"},
      {{"view", "--expr", "1 // i", "--var", "i=0..1"}, "1 // i\n  ^\n"},
  };
  for (const auto& [words, message] : failures) {
    const Output r = run(words);
    EXPECT_EQ(r.status, 1) << message << r.err;
    EXPECT_TRUE(has(r.err, message)) << r.err << " lacks " << message;
    EXPECT_EQ(r.out, "") << message;
  }
}

TEST(CliView, ExamplesOfTheHelpAreReal) {
  for (const std::string_view name : {"view", "layout"}) {
    for (const Example& example : find_command(name)->examples) {
      std::vector<std::string> words = words_of(example.line);
      ASSERT_EQ(words.front(), "strata");
      words.erase(words.begin());
      const Output r = run(words);
      EXPECT_EQ(r.status, 0) << example.line << r.err;
      EXPECT_NE(example.note, "") << example.line;
      EXPECT_TRUE(has("\n" + r.out, "\n" + std::string(example.note) + "\n")) << example.line << '\n' << r.out;
    }
  }
}

}  // namespace
}  // namespace strata::tools
