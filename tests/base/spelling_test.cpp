#include "strata/base/spelling.h"

#include <gtest/gtest.h>

namespace strata::test {
namespace {

TEST(Spelling, CountsLetters) {
  struct Row {
    std::string a, b;
    std::size_t distance;
  };
  for (const auto& [a, b, distance] : std::vector<Row>{{"", "", 0},
                                                       {"axis", "axis", 0},
                                                       {"axs", "axis", 1},
                                                       {"bais", "bias", 1},
                                                       {"dimm", "dim", 1},
                                                       {"lr", "", 2},
                                                       {"in_feature", "in_features", 1},
                                                       {"kitten", "sitting", 3},
                                                       {"abc", "cab", 2}}) {
    EXPECT_EQ(spelling_distance(a, b), distance) << a << " " << b;
    EXPECT_EQ(spelling_distance(b, a), distance) << a << " " << b;
  }
  EXPECT_EQ(spelling_distance(std::string(1000, 'a'), std::string(1000, 'b')), 64U);
}

TEST(Spelling, OrdersByNearness) {
  const std::vector<std::string> known = {"in_features", "out_features", "bias"};
  EXPECT_EQ(nearest_first("bais", known), (std::vector<std::string>{"bias", "in_features", "out_features"}));
  EXPECT_EQ(nearest_first("out_feature", known)[0], "out_features");
  EXPECT_EQ(nearest_first("", {"bb", "aa"}), (std::vector<std::string>{"bb", "aa"}));
}

}  // namespace
}  // namespace strata::test
