// `strata batch`: the contract's examples, every kind of error, ids, garbage, streams.
#include "tools/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/answers.h"

namespace strata::tools {
namespace {

std::string field(const std::string& line, std::string_view name) {
  JsonDocument document;
  document.read(answer(line));
  return document.salvage(name).value_or("none: " + answer(line));
}

std::string stream(const std::string& input, std::size_t block = 1 << 16, const BatchOptions& options = {}) {
  std::ostringstream out;
  std::size_t at = 0;
  answer_stream(
      [&](char* buffer, std::size_t size) {
        const std::size_t n = input.copy(buffer, std::min(size, block), at);
        at += n;
        return n;
      },
      out, options);
  return out.str();
}

TEST(Batch, ContractExample) {
  EXPECT_EQ(answer(R"({"do":"expr","text":"(a + b*10) % 10","vars":{"a":[0,10],"b":[0,10]}})"),
            R"j({"render":"(a%10)","c":"(a%10)","min":0,"max":9,"exact":true,"constant":null,"affine":null,)j"
            R"("nodes":3,"free":["a"]})");
}

TEST(Batch, ExprFields) {
  EXPECT_EQ(answer(R"({"do":"expr","text":"3 + 2*i","vars":{"i":[-5,5]},"at":[{"i":-5},{"i":5}],"id":1})"),
            R"j({"id":1,"render":"(3+(i*2))","c":"(3+(i*2))","min":-7,"max":13,"exact":true,"constant":null,)j"
            R"("affine":{"const":3,"coeffs":{"i":2}},"nodes":5,"free":["i"],"values":[-7,13]})");
  EXPECT_EQ(answer(R"({"do":"expr","text":"x*0 + 7 // 2","vars":{"x":[0,9]},"at":[]})"),
            R"({"render":"3","c":"3","min":3,"max":3,"exact":true,"constant":3,"affine":{"const":3,"coeffs":{}},)"
            R"("nodes":1,"free":[],"values":[]})");
  EXPECT_EQ(field(R"({"do":"expr","text":"i % n","vars":{"i":[0,63],"n":[1,64]},"assume":["i < n"]})", "render"),
            R"("i")");
  EXPECT_EQ(field(R"({"do":"expr","text":"-a / 4 + a % -3","vars":{"a":[0,10]},"at":[{"a":7}]})", "values"), "[-4]");
}

TEST(Batch, ValuesAreOfTheTextAndMayLeaveOutOtherNames) {
  const std::string head = R"({"do":"expr","text":"a*0 + 1","vars":{"a":[0,9],"b":[0,9]},"at":)";
  EXPECT_EQ(field(head + R"([{"a":1,"b":2},{"a":1},{"b":1,"a":3}]})", "values"), "[1,1,1]");
  EXPECT_EQ(error_kind(head + R"([{"b":1}]})"), "parse");
  EXPECT_EQ(error_kind(head + R"([{}]})"), "parse");
  EXPECT_EQ(error_kind(head + R"([{"a":1,"q":1}]})"), "parse");
  EXPECT_EQ(error_kind(head + R"([{"a":10}]})"), "domain");
}

TEST(Batch, Prove) {
  EXPECT_EQ(answer(R"({"do":"prove","text":"a % 4 < 4","vars":{"a":[-9,9]}})"), R"({"answer":"true"})");
  EXPECT_EQ(field(R"({"do":"prove","text":"a < 9 or b < 3","vars":{"a":[0,9],"b":[3,3],"c":[5,6]}})", "counterexample"),
            R"({"a":9,"b":3,"c":5})");
  EXPECT_EQ(field(R"({"do":"prove","text":"a < 5","vars":{"a":[0,9]},"assume":["a < 3"]})", "answer"), R"("true")");
  EXPECT_EQ(field(R"({"do":"prove","text":"0","vars":{}})", "answer"), R"("false")");
  EXPECT_EQ(field(R"({"do":"prove","text":"1"})", "answer"), R"("true")");
}

TEST(Batch, EqualExpr) {
  EXPECT_EQ(answer(R"({"do":"equal_expr","a":"x/2*2 + x%2","b":"x","vars":{"x":[-99,99]}})"),
            R"({"equal":true,"witness":null})");
  EXPECT_EQ(answer(R"j({"do":"equal_expr","a":"x","b":"max(x, 0-8)","vars":{"x":[-9,99]}})j"),
            R"({"equal":false,"witness":{"x":-9}})");
}

TEST(Batch, Affine) {
  EXPECT_EQ(answer(R"({"do":"affine","text":"i * 128 + 64","at":[{"i":0},{"i":127},{"i":-1}]})"),
            R"({"values":[64,16320,-64]})");
  EXPECT_EQ(error_kind(R"({"do":"affine","text":"i + j","at":[{"i":0}]})"), "parse");
  EXPECT_EQ(error_kind(R"({"do":"affine","text":"i","at":[{"i":0,"j":0}]})"), "parse");
  EXPECT_EQ(error_kind(R"({"do":"affine","text":"i *","at":[]})"), "parse");
  EXPECT_EQ(error_kind(R"({"do":"affine","text":"i*4","at":[{"i":9223372036854775807}]})"), "overflow");
  EXPECT_EQ(error_kind(R"({"do":"affine","text":"1"})"), "request");
}

TEST(Batch, ErrorKinds) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"do":"expr","text":"a +","vars":{"a":[0,1]}})", "parse"},
      {R"({"do":"expr","text":"","vars":{}})", "parse"},
      {R"({"do":"expr","text":"q","vars":{"a":[0,1]}})", "parse"},
      {R"({"do":"expr","text":"1","vars":{"9a":[0,1]}})", "parse"},
      {R"({"do":"expr","text":"a","vars":{"a":[0,1]},"assume":["a <"]})", "parse"},
      {R"({"do":"expr","text":"a \u0000","vars":{"a":[0,1]}})", "parse"},
      {R"({"do":"expr","text":"1 % a","vars":{"a":[0,1]}})", "domain"},
      {R"({"do":"expr","text":"1 // 0"})", "domain"},
      {R"({"do":"expr","text":"a","vars":{"a":[1,0]}})", "domain"},
      {R"({"do":"expr","text":"a*a","vars":{"a":[0,9223372036854775807]}})", "overflow"},
      {R"({"do":"expr","text":"9223372036854775808"})", "overflow"},
      {R"({"do":"expr","text":"a","vars":{"a":[0,9223372036854775808]}})", "overflow"},
      {R"({"do":"expr"})", "request"},
      {R"({"do":"expr","text":1})", "request"},
      {R"({"do":"expr","text":"1","vars":[]})", "request"},
      {R"({"do":"expr","text":"a","vars":{"a":[0]}})", "request"},
      {R"({"do":"expr","text":"a","vars":{"a":[0,1.0]}})", "request"},
      {R"({"do":"expr","text":"a","vars":{"a":[0,1],"a":[0,1]}})", "request"},
      {R"({"do":"expr","text":"1","Text":"1"})", "request"},
      {R"({"do":"expr","text":"1","at":[1]})", "request"},
      {R"({"do":"expr","text":"1","assume":"1"})", "request"},
      {R"({"do":"prove","text":"1","at":[]})", "request"},
      {R"({"do":"dance"})", "request"},
      {R"({"do":1})", "request"},
      {R"({"text":"1"})", "request"},
      {R"([1])", "request"},
      {R"(7)", "request"},
      {"", "request"},
      {"{", "request"},
      {"\xFF\xFE", "request"},
      {std::string(1000000, '['), "request"},
      {std::string("{\"do\":\"expr\",\"text\":\"1\"\0}", 25), "request"},
      {R"({"do":"expr","text":")" + std::string(1000000, '(') + R"("})", "budget"},
  };
  for (const auto& [line, kind] : cases) {
    EXPECT_EQ(error_kind(line), kind) << line.substr(0, 200) << '\n' << answer(line).substr(0, 300);
  }
}

TEST(Batch, ErrorsSayWhere) {
  EXPECT_EQ(answer(R"({"id":"x","do":"expr","text":"a + foo","vars":{"a":[0,1]}})").substr(0, 55),
            R"({"id":"x","error":{"kind":"parse","message":"[parse] un)");
  EXPECT_NE(answer(R"({"do":"expr","text":"a + foo","vars":{"a":[0,1]}})").find(R"("column":5}})"), std::string::npos);
  const std::string assumed = answer(R"({"do":"expr","text":"a","vars":{"a":[0,1]},"assume":["1","a < b"]})");
  EXPECT_NE(assumed.find("(in assume[1])"), std::string::npos) << assumed;
  EXPECT_NE(answer(R"({"do":"expr","text":"1","x":1})").find(R"("column":25)"), std::string::npos);
}

/// The message of the answer's error, as JSON.
std::string error_message(const std::string& line) {
  JsonDocument document;
  document.read(answer(line));
  for (const auto& part : document.root().as_object("answer").back().value.as_object("error")) {
    if (part.key == "message") return part.value.raw();
  }
  return "none";
}

TEST(Batch, ErrorsShowTheWholeTextAtFault) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"do":"expr","text":"1","x\u0000y":1})", R"("[request] unknown key 'x\\x00y'")"},
      {R"({"do":"x\u0000y"})", R"("[request] \"do\" is 'x\\x00y', which is not a kind of request")"},
      {R"({"do":"expr","text":"1","vars":{"a\u0000b":[0,1]}})",
       R"("[variable] 'a\\x00b' is not a name: letters, digits and _, and no word of the grammar")"},
      {R"({"do":"expr","text":"1","vars":{"a\u0000b":[0]}})",
       R"("[request] the bounds of 'a\\x00b' are not [min,max]")"},
      {R"({"do":"expr","text":"1","at":[{"a\u0000b":1}]})", R"("[at[0]] unknown name 'a\\x00b'")"},
      {R"({"do":"expr","text":"1","at":[{"a\u0000b":1.5}]})",
       R"("[request] the value of 'a\\x00b' is a number with a fraction or exponent, not an integer")"},
      {R"({"do":"affine","text":"i","at":[{"a\u0000b":1}]})",
       R"("[at[0]] unknown name 'a\\x00b': the text does not hold it")"},
      {R"({"do":"expr","text":"1","assume":["1\u0000"]})",
       R"j("[parse] unexpected character: '\\x00' (in assume[0])")j"},
      {R"({"do":"expr","text":"1 \u2264 2"})", "\"[parse] unexpected character: '\xE2\x89\xA4'\""},
      {R"({"do":"affine","text":"\u00e9","at":[]})", "\"[affine] unexpected character: '\xC3\xA9' (column 1)\""},
  };
  for (const auto& [line, message] : cases) EXPECT_EQ(error_message(line), message) << line;
}

TEST(Batch, BudgetLimitsTheWork) {
  const std::string line = R"({"do":"affine","text":"i * 128 + 64","at":[{"i":0},{"i":1},{"i":2}]})";
  EXPECT_EQ(error_kind(line, {.budget = 47}), "budget");
  EXPECT_EQ(answer(line, {.budget = 48}), R"({"values":[64,192,320]})");
  EXPECT_EQ(error_kind(R"({"do":"expr","text":"1+1"})", {.budget = 2}), "budget");
}

TEST(Batch, IdComesBackAsItWas) {
  for (const std::string id : {"0", "-7", "1.50", "1e3", "99999999999999999999", "null", "true", R"("a\u00e9")", "[]",
                               R"({"a":[1, {"b" : null}]})", R"("\ud83d\ude00")"}) {
    EXPECT_EQ(answer(R"({"do":"prove","text":"1","id":)" + id + "}"), R"({"id":)" + id + R"(,"answer":"true"})");
    EXPECT_EQ(answer(R"({"id":)" + id + R"(,"do":"dance"})").find(R"({"id":)" + id + R"(,"error":{"kind":"request",)"),
              0U);
    EXPECT_EQ(answer(R"({"id":)" + id + R"(,"do":)").find(R"({"id":)" + id + R"(,"error":{"kind":"request",)"), 0U);
  }
}

TEST(Batch, AMalformedIdDoesNotComeBack) {
  const std::string twice = R"({"id":{"a":1,"a":2},"do":"prove","text":"1"})";
  EXPECT_EQ(answer(twice), R"({"error":{"kind":"request","message":"[json] the key 'a' is given twice","column":14}})");
  EXPECT_EQ(error_kind(R"({"id":{"id":null,"id":"layout"}null})"), "request");
}

TEST(Batch, StreamKeepsOrderAcrossBlocks) {
  std::string input;
  std::string expected;
  for (int i = 0; i < 50; ++i) {
    input += R"({"id":)" + std::to_string(i) + R"(,"do":"prove","text":"1"})" + (i % 2 == 0 ? "\n" : "\r\n");
    expected += R"({"id":)" + std::to_string(i) + R"(,"answer":"true"})" + "\n";
  }
  for (const std::size_t block : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 16}) {
    EXPECT_EQ(stream(input, block), expected);
    EXPECT_EQ(stream(input.substr(0, input.size() - 2), block), expected) << "without the last newline";
    EXPECT_EQ(stream(input + " \t ", block), expected) << "white space after the last line";
  }
  EXPECT_EQ(stream(""), "");
}

TEST(Batch, EveryLineGetsOneAnswer) {
  const std::string good = R"({"do":"prove","text":"1"})";
  const std::string out = stream(good + "\n\n" + good + "\n\xFF\n" + good);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 5);
}

TEST(Batch, LongLinesAreSkippedInConstantMemory) {
  const std::string good = R"({"do":"prove","text":"1"})";
  const std::string out =
      stream(good + "\n" + std::string(1000, 'x') + "\n" + good + "\n" + std::string(1000, ' '), 13, {.max_line = 100});
  const std::string error = R"({"error":{"kind":"budget","message":"[budget] the line is longer than 100 bytes"}})";
  const std::string yes = R"({"answer":"true"})";
  EXPECT_EQ(out, yes + "\n" + error + "\n" + yes + "\n" + error + "\n");
}

TEST(Batch, AnswersBeforeReadingOn) {
  std::ostringstream out;
  int reads = 0;
  answer_stream(
      [&](char* buffer, std::size_t) -> std::size_t {
        EXPECT_EQ(std::count(out.view().begin(), out.view().end(), '\n'), reads);
        if (reads == 3) return 0;
        ++reads;
        return std::string("{}\n").copy(buffer, 3);
      },
      out);
  EXPECT_EQ(reads, 3);
}

TEST(Batch, RandomBytesAreAnswered) {
  std::uint64_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string line;
    for (int i = 0; i < 40; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      line += static_cast<char>(state >> 56);
    }
    EXPECT_EQ(error_kind(line), "request");
  }
}

}  // namespace
}  // namespace strata::tools
