// SmallVec against std::vector.
#include "strata/base/small_vec.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace strata {
namespace {

using Vec = SmallVec<int, 4>;

Vec counting(int n) {
  Vec v;
  for (int i = 0; i < n; ++i) v.push_back(i);
  return v;
}

std::vector<int> items(const Vec& v) { return {v.begin(), v.end()}; }

std::vector<int> counted(int n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  return v;
}

// Sizes below, at and above the inline capacity, and after growing twice.
const std::vector<int> kSizes = {0, 1, 3, 4, 5, 8, 9, 100};

TEST(SmallVec, HoldsWhatWasPushed) {
  for (const int n : kSizes) {
    const Vec v = counting(n);
    EXPECT_EQ(items(v), counted(n));
    EXPECT_EQ(v.size(), static_cast<std::size_t>(n));
    EXPECT_EQ(v.empty(), n == 0);
    EXPECT_TRUE(n == 0 || v.back() == n - 1);
  }
}

TEST(SmallVec, CopiesAreIndependent) {
  for (const int n : kSizes) {
    Vec original = counting(n);
    Vec copy = original;
    copy.push_back(-1);
    if (n > 0) copy[0] = -2;
    EXPECT_EQ(items(original), counted(n));
    for (const int m : kSizes) {
      Vec target = counting(m);
      target = original;
      EXPECT_EQ(items(target), counted(n)) << m << " assigned " << n;
    }
  }
}

TEST(SmallVec, MovesLeaveAnEmptyUsableVector) {
  for (const int n : kSizes) {
    for (const int m : kSizes) {
      Vec source = counting(n);
      Vec target = counting(m);
      target = std::move(source);
      EXPECT_EQ(items(target), counted(n));
      source = Vec{7, 8};
      EXPECT_EQ(items(source), (std::vector<int>{7, 8}));
    }
    Vec source = counting(n);
    const Vec moved = std::move(source);
    EXPECT_EQ(items(moved), counted(n));
  }
}

TEST(SmallVec, AssignmentToItselfKeepsTheItems) {
  for (const int n : kSizes) {
    Vec v = counting(n);
    Vec& alias = v;
    v = alias;
    EXPECT_EQ(items(v), counted(n));
    v = std::move(alias);
    EXPECT_EQ(items(v), counted(n));
  }
}

TEST(SmallVec, AppendTruncateErase) {
  Vec v{1, 2};
  const std::vector<int> more = {3, 4, 5, 6};
  v.append(more.data(), more.size());
  v.append(more.data(), 0);
  EXPECT_EQ(items(v), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  v.erase_at(0);
  v.erase_at(4);
  v.erase_at(1);
  EXPECT_EQ(items(v), (std::vector<int>{2, 4, 5}));
  v.truncate(1);
  EXPECT_EQ(items(v), (std::vector<int>{2}));
  v.pop_back();
  EXPECT_TRUE(v.empty());
}

TEST(SmallVec, BehavesAsAVectorUnderRandomOperations) {
  std::mt19937_64 random(2);
  Vec v;
  std::vector<int> model;
  for (int step = 0; step < 20000; ++step) {
    const int value = static_cast<int>(random() % 1000);
    switch (random() % 8) {
      case 0: v.clear(), model.clear(); break;
      case 1:
        if (!model.empty()) v.pop_back(), model.pop_back();
        break;
      case 2:
        if (!model.empty()) {
          const std::size_t at = random() % model.size();
          v.erase_at(at);
          model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
        }
        break;
      case 3: v.reserve(random() % 20); break;
      default: v.push_back(value), model.push_back(value);
    }
    ASSERT_EQ(items(v), model);
  }
}

}  // namespace
}  // namespace strata
