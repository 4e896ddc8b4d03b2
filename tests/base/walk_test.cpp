// The walk over graphs: sources before users, each node once, whatever is not wanted left out.
#include "strata/base/walk.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace strata::detail {
namespace {

struct Vertex {
  int number = 0;
  std::vector<const Vertex*> sources;
};

std::vector<int> order_below(const Vertex& root, std::set<int> unwanted = {}) {
  std::vector<int> out;
  walk(
      &root, [&](const Vertex* v) { return unwanted.insert(v->number).second; },
      [](const Vertex* v, std::size_t k) { return k < v->sources.size() ? v->sources[k] : nullptr; },
      [&](const Vertex* v) { out.push_back(v->number); });
  return out;
}

TEST(Walk, SourcesBeforeUsersEachOnce) {
  const Vertex a{1, {}}, b{2, {&a, &a}}, c{3, {&a}}, d{4, {&c, &b, &c}};
  EXPECT_EQ(order_below(d), (std::vector<int>{1, 3, 2, 4}));
  EXPECT_EQ(order_below(a), (std::vector<int>{1}));
}

TEST(Walk, WhatIsNotEnteredIsNotWalkedThrough) {
  const Vertex a{1, {}}, b{2, {&a}}, c{3, {&b}}, d{4, {&c, &a}};
  EXPECT_EQ(order_below(d, {2}), (std::vector<int>{3, 1, 4}));
  EXPECT_EQ(order_below(d, {4}), (std::vector<int>{}));
}

TEST(Walk, DeepGraphs) {
  std::vector<Vertex> chain(100'000);
  for (std::size_t k = 0; k < chain.size(); ++k) {
    chain[k].number = static_cast<int>(k);
    if (k > 0) chain[k].sources = {&chain[k - 1], &chain[k - 1]};
  }
  const std::vector<int> order = order_below(chain.back());
  ASSERT_EQ(order.size(), chain.size());
  for (std::size_t k = 0; k < order.size(); ++k) ASSERT_EQ(order[k], static_cast<int>(k));
}

}  // namespace
}  // namespace strata::detail
