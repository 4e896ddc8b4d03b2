// The JSON reader and writer: the grammar, its limits, exact integers, columns of errors.
#include "strata/base/json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strata/base/check.h"

namespace strata {
namespace {

struct Failure {
  ErrorKind kind = ErrorKind::undefined;
  std::size_t column = 0;
  std::string message;
};

Failure failure(const std::string& text) {
  JsonDocument document;
  try {
    document.read(text);
  } catch (const Error& e) {
    return {e.kind(), e.column(), e.what()};
  }
  ADD_FAILURE() << "was read: " << text;
  return {};
}

/// The document written again from what was read.
void rewrite(const JsonValue& value, JsonWriter& json) {
  switch (value.kind()) {
    case JsonKind::null: json.null(); break;
    case JsonKind::boolean: json.value(value.as_bool("x")); break;
    case JsonKind::integer: json.value(value.as_integer("x")); break;
    case JsonKind::real: json.raw(value.raw()); break;
    case JsonKind::string: json.value(value.as_string("x")); break;
    case JsonKind::array:
      json.begin_array();
      for (const JsonValue& item : value.as_array("x")) rewrite(item, json);
      json.end_array();
      break;
    case JsonKind::object:
      json.begin_object();
      for (const auto& m : value.as_object("x")) {
        json.key(m.key);
        rewrite(m.value, json);
      }
      json.end_object();
      break;
  }
}

std::string round_trip(const std::string& text) {
  JsonDocument document;
  document.read(text);
  JsonWriter json;
  rewrite(document.root(), json);
  return json.take();
}

TEST(Json, ReadsWhatItWrites) {
  for (const std::string text : {
           R"(null)",
           R"(true)",
           R"(false)",
           R"(0)",
           R"(-1)",
           R"(9223372036854775807)",
           R"(-9223372036854775808)",
           R"("")",
           R"("abc")",
           R"([])",
           R"({})",
           R"([[],{},[1,[2]],"x"])",
           R"({"a":1,"b":{"c":[null]},"":2})",
           R"(1.5)",
           R"(-0.25e+10)",
           R"(1E5)",
       }) {
    EXPECT_EQ(round_trip(text), text);
  }
  EXPECT_EQ(round_trip(" \t\r\n{ \"a\" : [ 1 , 2 ] } \r\n"), R"({"a":[1,2]})");
  EXPECT_EQ(round_trip("-0"), "0");
}

TEST(Json, StringsAndEscapes) {
  EXPECT_EQ(round_trip(R"("\"\\\/\b\f\n\r\t")"), R"("\"\\/\b\f\n\r\t")");
  EXPECT_EQ(round_trip(R"("\u0041\u00e9\u20ac\ud83d\ude00")"), "\"A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  EXPECT_EQ(round_trip(R"("\u0000\u001f\u007f")"), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(round_trip("\"\xF4\x8F\xBF\xBF\""), "\"\xF4\x8F\xBF\xBF\"");
  EXPECT_EQ(JsonWriter().value(std::string_view("a\xFFz\xC3")).take(), "\"a\xEF\xBF\xBDz\xEF\xBF\xBD\"");
}

TEST(Json, RefusesWithTheColumn) {
  const std::vector<std::pair<std::string, std::size_t>> cases = {
      {"", 1},
      {"  ", 3},
      {"nul", 1},
      {"nullx", 5},
      {"{\"a\" 1}", 6},
      {"[1,]", 4},
      {"[1 2]", 4},
      {"{\"a\":1,}", 8},
      {"{a:1}", 2},
      {"[1", 3},
      {"{\"a\":", 6},
      {"]", 1},
      {"[}", 2},
      {"{]", 2},
      {"01", 1},
      {"-", 2},
      {"1.", 3},
      {".5", 1},
      {"1e", 3},
      {"1e+", 4},
      {"+1", 1},
      {"NaN", 1},
      {"'a'", 1},
      {"\"a", 1},
      {"\"\\x\"", 2},
      {"\"\\u12\"", 4},
      {"\"\\ud800\"", 2},
      {"\"\\udc00\"", 2},
      {"\"\\ud800\\u0041\"", 2},
      {"\"\x01\"", 2},
      {"1 2", 3},
      {"[1]]", 4},
      {"\"a\xC3\"", 3},
      {"\"\xC0\x80\"", 2},
      {"\"\xED\xA0\x80\"", 2},
      {"\"\xF4\x90\x80\x80\"", 2},
      {"\xEF\xBB\xBF{}", 1},
      {"// x", 1},
      {std::string("[\0]", 3), 2},
      {"{\"a\":1,\"b\":2,\"a\":3}", 14},
      {"{\"a\":1,\"\\u0061\":3}", 8},
  };
  for (const auto& [text, column] : cases) {
    const Failure f = failure(text);
    EXPECT_EQ(f.kind, ErrorKind::request) << text;
    EXPECT_EQ(f.column, column) << text << ": " << f.message;
  }
}

TEST(Json, DuplicatesAmongManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 5000; ++i) text += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  JsonDocument document;
  document.read(text + "\"k\":0}");
  EXPECT_EQ(document.root().as_object("x").size(), 5001U);
  EXPECT_NE(failure(text + "\"k77\":0}").message.find("'k77' is given twice"), std::string::npos);
}

TEST(Json, DepthIsLimitedNotTheStack) {
  const std::string deep(max_json_depth, '[');
  JsonDocument document;
  document.read(deep + std::string(max_json_depth, ']'));
  EXPECT_EQ(failure("[" + deep).column, max_json_depth + 1);
  EXPECT_EQ(failure(std::string(1000000, '[')).kind, ErrorKind::request);
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_EQ(failure(objects).kind, ErrorKind::request);
}

TEST(Json, TooManyValuesIsABudget) {
  std::string text = "[";
  for (std::size_t i = 0; i < max_json_values; ++i) text += "0,";
  EXPECT_EQ(failure(text + "0]").kind, ErrorKind::budget);
}

TEST(Json, TypedAccessNamesWhatIsWrong) {
  JsonDocument document;
  document.read(R"([1.0, 9223372036854775808, -9223372036854775809, "x", {}, 1e2])");
  const auto items = document.root().as_array("list");
  ASSERT_EQ(items.size(), 6U);
  try {
    items[0].as_integer("the size");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::request);
    EXPECT_EQ(e.column(), 2U);
    EXPECT_STREQ(e.what(), "[request] the size is a number with a fraction or exponent, not an integer");
  }
  for (const std::size_t i : {1U, 2U}) {
    try {
      items[i].as_integer("the size");
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::overflow);
    }
  }
  EXPECT_THROW(items[3].as_array("x"), Error);
  EXPECT_THROW(items[4].as_string("x"), Error);
  EXPECT_THROW(items[5].as_integer("x"), Error);
  EXPECT_THROW(document.root().as_object("x"), Error);
  EXPECT_THROW(document.root().as_bool("x"), Error);
}

TEST(Json, SalvagesMembersBeforeAnError) {
  JsonDocument document;
  EXPECT_THROW(document.read(R"({"id": [1, {"a":2.50}], "x": [1, )"), Error);
  EXPECT_EQ(document.salvage("id"), R"([1, {"a":2.50}])");
  EXPECT_EQ(document.salvage("x"), std::nullopt);
  EXPECT_THROW(document.read(R"({"id": [1, )"), Error);
  EXPECT_EQ(document.salvage("id"), std::nullopt);
  EXPECT_THROW(document.read(R"([{"id": 1}, )"), Error);
  EXPECT_EQ(document.salvage("id"), std::nullopt);
  for (const std::string refused :
       {R"({"id":{"a":1,"a":2},"x":1})", R"({"id":[{"a":1,"a":2}]})", R"({"x":{"a":1,"a":2},"id":1})"}) {
    EXPECT_THROW(document.read(refused), Error);
    EXPECT_EQ(document.salvage("id"), std::nullopt) << refused;
  }
  EXPECT_THROW(document.read(R"({"id":1,"x":1,"x":2})"), Error);
  EXPECT_EQ(document.salvage("id"), "1");
  EXPECT_THROW(document.read(R"({"x":{"id":1},"y":)"), Error);
  EXPECT_EQ(document.salvage("id"), std::nullopt);
}

TEST(Json, RawStaysOnOneLine) {
  JsonDocument document;
  document.read("[1,\r\n 2.0]");
  EXPECT_EQ(document.root().raw(), "[1, 2.0]");
}

TEST(Json, ErrorsShowTheCharacter) {
  EXPECT_EQ(failure("[\xC3\xA9]").message, "[json] expected a value, found '\xC3\xA9'");
  EXPECT_EQ(failure("\"\xFF\"").message, "[json] invalid UTF-8, found '\\xFF'");
  EXPECT_EQ(failure("\"\x01\"").message, "[json] a control character inside a string, found '\\x01'");
  EXPECT_EQ(failure("[1").message, "[json] expected ',' or ']', found the end of the line");
  EXPECT_EQ(failure(R"({"\u0000":1,"\u0000":1})").message, "[json] the key '\\x00' is given twice");
}

}  // namespace
}  // namespace strata
