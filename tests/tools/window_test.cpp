// Long lists of answers: parts of them, in memory, and of index expressions.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tools/answers.h"

namespace strata::tools {
namespace {

/// The raw member `key` of an answer; empty where there is none.
std::string member_of(const std::string& json, std::string_view key) {
  JsonDocument document;
  document.read(json);
  for (const auto& m : document.root().as_object("answer"))
    if (m.key == key) return m.value.raw();
  return "";
}

std::string addresses_text(const std::string& request) { return member_of(answer(request), "addresses"); }

/// The doubles that the answer to `request` left in memory, and its JSON.
std::pair<std::vector<double>, std::string> in_memory(const std::string& request) {
  NumberLists memory;
  BatchOptions options;
  options.memory = &memory;
  std::string json = answer(request, options);
  if (memory.lists().size() != 1) return {{}, json};
  return {std::get<std::vector<double>>(memory.lists()[0]), json};
}

TEST(Window, IsAPartOfTheAddresses) {
  EXPECT_EQ(addresses_text(R"({"do":"view","shape":[4,5],"addresses":true,"window":[[1,3],[2,5]]})"),
            "[7,8,9,12,13,14]");
  EXPECT_EQ(addresses_text(
                R"({"do":"view","shape":[2,2],"ops":[["pad",[[1,0],[0,1]]]],"addresses":true,"window":[[0,2],[1,3]]})"),
            "[-1,-1,1,-1]");
  EXPECT_EQ(addresses_text(R"({"do":"view","shape":[4,5],"addresses":true,"window":[[2,2],[0,5]]})"), "[]");
  EXPECT_EQ(addresses_text(R"({"do":"view","shape":[],"addresses":true,"window":[]})"), "[0]");
}

TEST(Window, OfWhatNobodyCouldList) {
  EXPECT_EQ(addresses_text(R"({"do":"view","shape":[1048576,1048576],"ops":[["permute",[1,0]]],"addresses":true,)"
                           R"("window":[[1048574,1048576],[1048575,1048576]]})"),
            "[1099511627774,1099511627775]");
  EXPECT_EQ(
      addresses_text(
          R"({"do":"view","shape":[4611686018427387904],"addresses":true,"window":[[4611686018427387903,4611686018427387904]]})"),
      "[4611686018427387903]");
  EXPECT_EQ(error_kind(R"({"do":"view","shape":[1048576,1048576],"addresses":true})"), "budget");
  EXPECT_EQ(
      error_kind(R"({"do":"view","shape":[1048576,1048576],"addresses":true,"window":[[0,1048576],[0,1048576]]})"),
      "budget");
}

TEST(Window, EachPartAgreesWithAllOfIt) {
  Random random(7);
  for (int n = 0; n < 200; ++n) {
    const std::int64_t rows = random.between(1, 5), columns = random.between(1, 6);
    const std::string shape = std::to_string(rows) + "," + std::to_string(columns);
    const std::string view = R"({"do":"view","shape":[)" + shape +
                             R"(],"ops":[["permute",[1,0]],["pad",[[1,0],[0,2]]],["reshape",[)" +
                             std::to_string((columns + 1) * (rows + 2)) + R"(]]],"addresses":true)";
    const Numbers all = integers(addresses_text(view + "}"));
    const std::int64_t begin = random.below(static_cast<std::int64_t>(all.size()) + 1);
    const std::int64_t end = random.between(begin, static_cast<std::int64_t>(all.size()));
    const std::string window = R"(,"window":[[)" + std::to_string(begin) + "," + std::to_string(end) + "]]}";
    EXPECT_EQ(integers(addresses_text(view + window)), Numbers(all.begin() + begin, all.begin() + end))
        << view << window;
  }
}

TEST(Window, IsRefused) {
  const auto kind = [](const std::string& window) {
    return error_kind(R"({"do":"view","shape":[4,5],"addresses":true,"window":)" + window + "}");
  };
  EXPECT_EQ(kind("[[0,4]]"), "shape");
  EXPECT_EQ(kind("[[0,5],[0,5]]"), "shape");
  EXPECT_EQ(kind("[[-1,4],[0,5]]"), "shape");
  EXPECT_EQ(kind("[[3,2],[0,5]]"), "shape");
  EXPECT_EQ(kind("[[0,4],[0]]"), "request");
  EXPECT_EQ(kind("[[0,4],[0,9223372036854775808]]"), "overflow");
  EXPECT_EQ(error_kind(R"({"do":"view","shape":[4],"valid":"1"})"), "request");
  EXPECT_EQ(error_kind(R"({"do":"equal_view","a":{"shape":[4],"window":[[0,1]]},"b":{"shape":[4]}})"), "request");
}

TEST(ViewExpr, AnswersAsTheCommandDoes) {
  EXPECT_EQ(
      answer(R"({"do":"view","expr":"i*2 + j","valid":"j < 2","vars":{"i":[0,1],"j":[0,2]},"addresses":true,"id":7})"),
      R"j({"id":7,"shape":[2,3],"idx":"((i*2)+j)","valid":"(j<2)","addresses":[0,1,-1,2,3,-1]})j");
  EXPECT_EQ(answer(R"({"do":"view","expr":"i","vars":{"i":[5,9]},"addresses":true,"window":[[1,3]]})"),
            R"({"shape":[5],"idx":"i","valid":"1","addresses":[6,7]})");
  EXPECT_EQ(answer(R"({"do":"view","expr":"3","addresses":true})"),
            R"({"shape":[],"idx":"3","valid":"1","addresses":[3]})");
  EXPECT_EQ(
      addresses_text(R"({"do":"view","expr":"i*1048576 + j","vars":{"i":[0,1048575],"j":[0,1048575]},"addresses":true,)"
                     R"("window":[[1048575,1048576],[1048574,1048576]]})"),
      "[1099511627774,1099511627775]");
}

TEST(ViewExpr, IsRefused) {
  EXPECT_EQ(error_kind(R"({"do":"view","expr":"i <","vars":{"i":[0,1]}})"), "parse");
  EXPECT_EQ(error_kind(R"({"do":"view","expr":"i","valid":"k","vars":{"i":[0,1]}})"), "parse");
  EXPECT_EQ(error_kind(R"({"do":"view","expr":"i","shape":[2],"vars":{"i":[0,1]}})"), "request");
  EXPECT_EQ(error_kind(R"({"do":"view","expr":"i","vars":{"i":[0,1]},"window":[[0,3]],"addresses":true})"), "shape");
  EXPECT_EQ(error_kind(R"({"do":"view","expr":"i","vars":{"i":[0,1099511627776]},"addresses":true})"), "budget");
  EXPECT_EQ(error_kind(
                R"({"do":"view","expr":"i","vars":{"i":[-9223372036854775807,9223372036854775807]},"addresses":true})"),
            "overflow");
  // What is not valid is not evaluated.
  EXPECT_EQ(addresses_text(
                R"({"do":"view","expr":"i*4611686018427387904","valid":"i < 2","vars":{"i":[0,2]},"addresses":true})"),
            "[0,4611686018427387904,-1]");
}

TEST(Memory, HoldsListsBesideTheAnswer) {
  const auto [view, json] = in_memory(R"({"do":"view","shape":[2,2],"ops":[["pad",[[0,0],[0,1]]]],"addresses":true})");
  EXPECT_EQ(member_of(json, "addresses"), R"({"memory":0,"count":6})");
  ASSERT_EQ(view.size(), 6u);
  EXPECT_EQ(view[4], 3);
  EXPECT_TRUE(std::isnan(view[5]));
  const auto [table, layout] = in_memory(R"j({"do":"layout","fn":"coalesce","args":["(2,3):(3,1)"]})j");
  EXPECT_EQ(table, (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(member_of(layout, "table"), R"({"memory":0,"count":6})");
  EXPECT_EQ(in_memory(R"({"do":"layout","fn":"swizzle","args":[1,0,1]})").first, (std::vector<double>{0, 1, 3, 2}));
  EXPECT_TRUE(std::isnan(
      in_memory(R"({"do":"view","expr":"i","valid":"i < 0","vars":{"i":[0,1]},"addresses":true})").first[1]));
}

TEST(Memory, TellsAnAddressOfMinusOneFromNone) {
  const auto [list, json] =
      in_memory(R"({"do":"view","expr":"i - 1","valid":"i < 1","vars":{"i":[0,1]},"addresses":true})");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0], -1);
  EXPECT_TRUE(std::isnan(list[1]));
}

TEST(Memory, LeavesToTheAnswerWhatIsNoDouble) {
  const std::string request =
      R"({"do":"view","shape":[9007199254740995],"ops":[["pad",[[0,1]]]],"addresses":true,"window":[[9007199254740994,9007199254740996]]})";
  const auto [list, json] = in_memory(request);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(member_of(json, "addresses"), "[9007199254740994,-1]");
}

TEST(Memory, IsEmptyAfterAnError) {
  NumberLists memory;
  BatchOptions options;
  options.memory = &memory;
  answer(R"({"do":"view","shape":[2],"addresses":true})", options);
  EXPECT_EQ(memory.lists().size(), 1u);
  answer(R"({"do":"view","shape":[2],"addresses":true,"window":[[0,3]]})", options);
  EXPECT_TRUE(memory.lists().empty());
}

TEST(Numbers, BeyondThirtyTwoBitsAreNoAxes) {
  EXPECT_EQ(error_kind(R"({"do":"view","shape":[3,2],"ops":[["permute",[4294967296,1]]]})"), "shape");
  EXPECT_EQ(error_kind(R"({"do":"view","shape":[3,2],"ops":[["flip",[4294967297]]]})"), "shape");
}

}  // namespace
}  // namespace strata::tools
