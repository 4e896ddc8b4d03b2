// The table of nodes: one live node per content, none that dies, whatever the hashes.
#include "strata/base/intern_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace strata::detail {
namespace {

struct Entry {
  std::uint64_t hash = 0;
  int value = 0;
  bool dies = false;
};
using Table = InternTable<Entry, 4>;

Entry* revived(Entry* e) { return e->dies ? nullptr : e; }

/// The entries of a table, which does not own them.
class Entries {
 public:
  Entry* get(std::uint64_t hash, int value) {
    return table.find_or_make(
        hash, [&](const Entry& e) { return e.value == value; }, revived,
        [&] {
          made.push_back(std::make_unique<Entry>(Entry{hash, value}));
          return made.back().get();
        });
  }
  Entry* find(std::uint64_t hash, int value) {
    return table.find(hash, [&](const Entry& e) { return e.value == value; }, revived);
  }
  Table table;
  std::vector<std::unique_ptr<Entry>> made;
};

TEST(InternTable, OneNodePerContent) {
  Entries t;
  EXPECT_EQ(t.find(7, 1), nullptr);
  Entry* one = t.get(7, 1);
  EXPECT_EQ(t.get(7, 1), one);
  EXPECT_NE(t.get(7, 2), one);  // the same hash
  EXPECT_EQ(t.find(7, 1), one);
  EXPECT_EQ(t.find(8, 1), nullptr);
  EXPECT_EQ(t.table.size(), 2u);
}

TEST(InternTable, WhatDiesIsNotFound) {
  Entries t;
  Entry* old = t.get(7, 1);
  old->dies = true;
  EXPECT_EQ(t.find(7, 1), nullptr);
  Entry* other = t.get(7, 1);
  EXPECT_NE(other, old);
  t.table.remove(old);
  EXPECT_EQ(t.get(7, 1), other);
  EXPECT_EQ(t.table.size(), 1u);
}

// Few hashes, so that entries stand far from their places, in all shards; sizes that grow and shrink.
TEST(InternTable, ManyOfOneHashComeAndGo) {
  Entries t;
  const auto hash = [](int k) { return static_cast<std::uint64_t>(k % 5) * 0x3456'789A'BCDE'F012u; };
  std::vector<Entry*> all;
  for (int k = 0; k < 3000; ++k) all.push_back(t.get(hash(k), k));
  for (int k = 0; k < 3000; k += 2) t.table.remove(all[static_cast<std::size_t>(k)]);
  for (int k = 0; k < 3000; ++k)
    ASSERT_EQ(t.find(hash(k), k), k % 2 == 0 ? nullptr : all[static_cast<std::size_t>(k)]) << k;
  for (int k = 2999; k > 10; k -= 2) t.table.remove(all[static_cast<std::size_t>(k)]);
  EXPECT_EQ(t.table.size(), 5u);
  for (int k = 0; k < 20; ++k) {
    const bool lives = k % 2 == 1 && k < 10;
    ASSERT_EQ(t.find(hash(k), k), lives ? all[static_cast<std::size_t>(k)] : nullptr) << k;
  }
}

}  // namespace
}  // namespace strata::detail
