// Loops over tensors: every visit, in order, against the definition (evaluate the texts, then the stack's address).
#include "strata/loops/tiled.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "strata/expr/parse.h"
#include "tests/base/errors.h"
#include "tests/view/view_oracle.h"

namespace strata {
namespace {

using Texts = std::vector<std::string>;

/// A tensor whose elements are their own addresses.
std::vector<std::int64_t> addresses_up_to(std::int64_t size) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(size));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

/// Moves the stack's addresses to 0 and up; the number of elements that it needs.
std::int64_t settle(oracle::Stack& stack) {
  std::int64_t least = 0, most = -1;
  bool any = false;
  for (const auto& address : oracle::table(stack)) {
    if (!address) continue;
    least = any ? std::min(least, *address) : *address;
    most = any ? std::max(most, *address) : *address;
    any = true;
  }
  stack[0].offset -= least;
  return any ? most - least + 1 : 0;
}

struct Visit {
  std::int64_t address;
  std::vector<std::int64_t> offsets;
};
std::string to_string(const std::vector<Visit>& visits) {
  std::string out;
  for (const Visit& v : visits) {
    out += std::to_string(v.address) + ":";
    for (const std::int64_t n : v.offsets) out += std::to_string(n) + ",";
    out += " ";
  }
  return out;
}

/// The definition: counters in row-major order, texts evaluated as they stand. Nothing where an index leaves the shape.
std::optional<std::vector<Visit>> expected_visits(const oracle::Stack& stack, const Texts& texts) {
  const Index& shape = stack.back().shape;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < shape.size(); ++k) names.push_back("_" + std::to_string(k));
  std::vector<ExprProgram> programs;
  for (const std::string& text : texts) programs.push_back(compile(text, names));
  std::vector<Visit> out;
  if (oracle::elements(shape) == 0) return out;
  Index counters(shape.size(), 0);
  do {
    Index at;
    for (const ExprProgram& p : programs) {
      std::vector<std::int64_t> values;
      for (const std::string& name : p.names())
        values.push_back(counters[static_cast<std::size_t>(std::stoi(name.substr(1)))]);
      at.push_back(p.evaluate(values));
      if (at.back() < 0 || at.back() >= shape[at.size() - 1]) return std::nullopt;
    }
    if (const auto address = oracle::address_of(stack, at)) out.push_back({*address, {at.begin(), at.end()}});
  } while (oracle::advance(counters, shape));
  return out;
}

/// All forms of the callback see the expected visits.
void check_forms(const TiledTensor<std::int64_t>& t, const Texts& texts, const std::vector<Visit>& expected) {
  std::vector<Visit> seen;
  t.complexLoops(texts, [&](std::int64_t& x, auto offsets) {
    seen.push_back({x, {}});
    for (std::size_t k = 0; k < offsets.size(); ++k) seen.back().offsets.push_back(offsets[k]);
  });
  EXPECT_EQ(to_string(seen), to_string(expected)) << "with offsets";
  seen.clear();
  t.complexLoops(texts, [&](std::int64_t* x, std::span<const std::int64_t> offsets) {
    seen.push_back({*x, {offsets.begin(), offsets.end()}});
  });
  EXPECT_EQ(to_string(seen), to_string(expected)) << "with a span";
  seen.clear();
  t.complexLoops<std::int64_t>(texts, [&](std::int64_t* x, const std::vector<std::int32_t>& offsets) {
    seen.push_back({*x, {offsets.begin(), offsets.end()}});
  });
  EXPECT_EQ(to_string(seen), to_string(expected)) << "with a vector";
  std::vector<std::int64_t> plain, addresses;
  for (const Visit& v : expected) addresses.push_back(v.address);
  t.complexLoops(texts, [&](std::int64_t& x) { plain.push_back(x); });
  EXPECT_EQ(plain, addresses) << "without offsets";
}

/// A text that mostly stays in [0, n).
std::string random_text(oracle::RandomStack& random, std::size_t rank, std::int64_t n) {
  const auto number = [&](std::int64_t lo, std::int64_t hi) { return std::to_string(random.number(lo, hi)); };
  const auto counter = [&] { return rank == 0 ? number(0, 2) : "_" + number(0, static_cast<std::int64_t>(rank) - 1); };
  const std::string size = std::to_string(n);
  const std::string mixed =
      "(" + number(-3, 3) + "*" + counter() + " + " + number(-3, 3) + "*" + counter() + " + " + number(0, 9) + ")";
  switch (random.number(0, 9)) {
    case 0: return number(0, n - 1);
    case 1: return "min(" + counter() + ", " + number(0, n - 1) + ")";
    case 2: return mixed + " // " + number(1, 5) + " % " + size;
    case 3:
      return "select(" + counter() + " < " + counter() + ", " + number(0, n - 1) + ", " + mixed + " % " + size + ")";
    case 4: return "max(min(" + mixed + ", " + size + " - 1), 0)";
    case 5: return counter() + " * " + counter() + " % " + size;
    case 6: return mixed + " // (" + counter() + " + 1) % " + size;  // no number: point by point
    case 7: return counter() + " + " + number(0, 1);
    default: return mixed + " % " + size;
  }
}

TEST(ComplexLoops, RandomTextsOverRandomStacks) {
  oracle::RandomStack random(11, {3, 3, 6, 60, true, true});
  int visited = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    oracle::Stack stack = random();
    const Index& shape = stack.back().shape;
    const std::int64_t size = settle(stack);
    Texts texts;
    for (std::size_t k = 0; k < shape.size(); ++k)
      texts.push_back(random.one_in(3) ? "_" + std::to_string(k)
                                       : random_text(random, shape.size(), std::max<std::int64_t>(shape[k], 1)));
    std::vector<std::int64_t> storage = addresses_up_to(size);
    const TiledTensor<std::int64_t> t = tiled(storage, oracle::tracker_of(stack));
    const std::optional<std::vector<Visit>> expected = expected_visits(stack, texts);
    std::string all = oracle::to_string(stack);
    for (const std::string& text : texts) all += " | " + text;
    SCOPED_TRACE(all);
    if (expected) {
      check_forms(t, texts, *expected);
      ++visited;
    } else {
      int calls = 0;
      try {
        t.complexLoops(texts, [&](std::int64_t&) { ++calls; });
        ADD_FAILURE() << "an index leaves the shape";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::shape);
      }
      EXPECT_EQ(calls, 0);
      ++refused;
    }
    if (HasFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(visited, 2000);
  EXPECT_GT(refused, 100);
}

TEST(ComplexLoops, TheSpecificationsCall) {
  std::vector<float> storage(24, -1);
  const MemoryRef<float> memory(storage, {2, 3, 4});
  tiled(memory).complexLoops<float>({"_0", "_1 // 2 * 2", "_2"},
                                    [&](float* ptr, const std::vector<std::int32_t>& offsets) {
                                      EXPECT_EQ(ptr, memory.ptr({offsets[0], offsets[1], offsets[2]}));
                                      *ptr = static_cast<float>(offsets[0] * 100 + offsets[1] * 10 + offsets[2]);
                                    });
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t k = 0; k < 4; ++k) {
        const float expected = j == 1 ? -1 : static_cast<float>(i * 100 + j * 10 + k);
        EXPECT_EQ((memory[{i, j, k}]), expected);
      }
}

TEST(ComplexLoops, OffsetsConvertToAnIndex) {
  std::vector<int> storage(6, 0);
  tiled(storage, {2, 3}).complexLoops({"_0", "2 - _1"}, [](int& x, const Index& at) {
    x = static_cast<int>(at[0] * 10 + at[1]);
  });
  EXPECT_EQ(storage, (std::vector<int>{0, 1, 2, 10, 11, 12}));
}

TEST(ComplexLoops, ConstantStorageIsRead) {
  const std::array<int, 4> storage{1, 2, 3, 4};
  int total = 0;
  tiled(storage, {2, 2}).complexLoops({"_0", "_0"}, [&](const int& x) { total += x; });
  EXPECT_EQ(total, 2 * 1 + 2 * 4);
}

TEST(Loops, TheTextIsTakenApartByTheCompiler) {
  std::vector<std::int64_t> storage = addresses_up_to(24);
  const auto t = tiled(storage, {2, 3, 4});
  std::vector<std::int64_t> text, list;
  t.loops<"_0, 2 - _1, min(_2, 2) / 2 * 2">([&](std::int64_t& x) { text.push_back(x); });
  t.complexLoops({"_0", "2 - _1", "min(_2, 2) / 2 * 2"}, [&](std::int64_t& x) { list.push_back(x); });
  EXPECT_EQ(text, list);
  EXPECT_EQ(text.size(), 24u);
  int calls = 0;
  tiled(storage, Index{}).loops<"">([&](std::int64_t& x, auto offsets) {
    EXPECT_EQ(&x, storage.data());
    EXPECT_EQ(offsets.size(), 0u);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_THROW((t.loops<"_0, _1">([](std::int64_t&) {})), Error);
}

// More pieces than are worth finding, and what does not compile to pieces: point by point, with the same result.
TEST(ComplexLoops, PointByPoint) {
  std::vector<std::int64_t> storage = addresses_up_to(std::int64_t{200} * 200);
  for (const auto& [row, column] :
       {std::pair{"_0 * _1 % 200", "(_0 * 7 + _1 * _1) % 200"}, std::pair{"_0 // (_1 + 1)", "_1"},
        std::pair{"select(_0 == 0, 0, _1 % (_0 + 1))", "199 - _1"}}) {
    const Strided matrix = contiguous_box({200, 200});
    const Texts texts{row, column};
    check_forms(tiled(storage, {200, 200}), texts, *expected_visits({matrix}, texts));
  }
}

// The pieces of large tensors, whose visits are summed up.
TEST(ComplexLoops, LargeTensors) {
  constexpr std::int64_t n = 1000;
  std::vector<float> storage(n * n, 0);
  const auto t = tiled(storage, {n, n});
  t.complexLoops({"_1", "_0"}, [](float& x, auto at) { x = static_cast<float>(at[0] * n + at[1]); });
  for (std::int64_t i = 0; i < n * n; ++i) ASSERT_EQ(storage[static_cast<std::size_t>(i)], static_cast<float>(i));
  t.complexLoops({"_0", "_1 // 3 * 3"}, [](float& x) { x += 1; });
  t.complexLoops({"(_0 * 1000 + _1) // 50 % 1000", "_1"}, [](float& x) { x += 1; });
  double total = 0;
  t.complexLoops({"_0", "_1"}, [&](const float& x) { total += x; });
  EXPECT_EQ(total, static_cast<double>(n * n) * (n * n - 1) / 2 + 2 * n * n);
}

TEST(ComplexLoops, EmptyTensorsCallNothing) {
  std::vector<int> storage(6, 0);
  int calls = 0;
  const auto count = [&](int&) { ++calls; };
  tiled(storage, {0}).complexLoops({"_0"}, count);
  tiled(storage, {3, 0, 2}).complexLoops({"_0 + 100", "_1", "_2"}, count);
  tiled(storage, {2, 3}).parallelLoops(0, [&](std::span<int>) { ++calls; });
  EXPECT_EQ(calls, 2);
  tiled(storage, {3, 0, 2}).parallelLoops(0, [&](std::span<int>) { ++calls; });
  tiled(storage, {3, 0}).parallelLoops(1, [&](std::span<int>) { ++calls; });
  const View nowhere = View::create({2, 3}, std::nullopt, 0, Mask{{1, 1}, {0, 3}});
  tiled(storage, nowhere).complexLoops({"_0", "_1"}, count);
  tiled(storage, nowhere).parallelLoops(1, [&](std::span<int>) { ++calls; });
  EXPECT_EQ(calls, 2);
  EXPECT_THROW(tiled(storage, {0}).complexLoops({"_0 +"}, count), Error);
  EXPECT_THROW(tiled(storage, {0}).complexLoops({"_1"}, count), Error);
  EXPECT_THROW(tiled(storage, {0}).complexLoops({}, count), Error);
}

TEST(ComplexLoops, WhatTheCallbackThrowsEndsTheLoop) {
  std::vector<int> storage(6, 0);
  int calls = 0;
  EXPECT_THROW(tiled(storage, {6})
                   .complexLoops({"_0"},
                                 [&](int&) {
                                   if (++calls == 3) throw std::out_of_range("three");
                                 }),
               std::out_of_range);
  EXPECT_EQ(calls, 3);
}

TEST(ComplexLoops, MistakesNameTheExpression) {
  std::vector<int> storage(24, 0);
  const auto t = tiled(storage, {2, 3, 4});
  const auto run = [&](const Texts& texts) { return error_of([&] { t.complexLoops(texts, [](int& x) { x = 1; }); }); };
  struct Row {
    Texts texts;
    ErrorKind kind;
    const char* message;
    std::size_t column;
  };
  const Row rows[] = {
      {{"_0", "_1"},
       ErrorKind::shape,
       "[complexLoops] 2 expressions for a tensor of shape (2, 3, 4), which has 3 dimensions",
       0},
      {{"_0", "_1", "_2", "0"},
       ErrorKind::shape,
       "[complexLoops] 4 expressions for a tensor of shape (2, 3, 4), which has 3 dimensions",
       0},
      {{"_0", "_1", "_2 + 1"},
       ErrorKind::shape,
       "[complexLoops] expression 2, _2 + 1, is 4 at counters (0, 0, 3): outside of dimension 2, "
       "of size 4",
       0},
      {{"_0", "_2 // (_1 + 1)", "_2"},
       ErrorKind::shape,
       "[complexLoops] expression 1, _2 // (_1 + 1), is 3 at counters (0, 0, 3): outside of "
       "dimension 1, of size 3",
       0},
      {{"_0", "_1 - 1", "_2"},
       ErrorKind::shape,
       "[complexLoops] expression 1, _1 - 1, is -1 at counters (0, 0, 0): outside of dimension 1, "
       "of size 3",
       0},
      {{"_0", "_1 * ", "_2"},
       ErrorKind::parse,
       "[complexLoops] expression 1, _1 * : [parse] expected a value, found the end of the text",
       6},
      {{"_0", "_1", "8 / _2"},
       ErrorKind::domain,
       "[complexLoops] expression 2, 8 / _2: [div] the divisor _2 of 8 can be 0: its bounds are "
       "0..3",
       3},
      {{"_0", "_1", "_2 % 0"}, ErrorKind::domain, "", 4},
      {{"_0", "_1", "_3"}, ErrorKind::parse, "", 1},
      {{"_0", "_1", "99999999999999999999"}, ErrorKind::overflow, "", 1},
  };
  for (const Row& row : rows) {
    const Error e = run(row.texts);
    EXPECT_EQ(e.kind(), row.kind) << e.what();
    EXPECT_EQ(e.column(), row.column) << e.what();
    if (row.message[0] != '\0') {
      EXPECT_STREQ(e.what(), row.message);
    }
  }
  EXPECT_EQ(std::accumulate(storage.begin(), storage.end(), 0), 0) << "something ran before the error";
}

TEST(ComplexLoops, OffsetsBeyond32Bits) {
  std::vector<char> storage(1, 0);
  const MemoryRef<char> wide(storage, {3000000000, 1}, {0, 0});
  expect_error(ErrorKind::overflow, "[complexLoops] offsets below 3000000000 do not fit in 32 bits",
               [&] { tiled(wide).complexLoops({"0", "0"}, [](char*, const std::vector<std::int32_t>&) {}); });
}

// --- memory ---

TEST(MemoryRef, TheFormulaOfPointers) {
  std::vector<std::int64_t> storage = addresses_up_to(40);
  const MemoryRef<std::int64_t> memory(storage, {3, 2, 4}, {-8, 0, 2}, 20);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t k = 0; k < 4; ++k) EXPECT_EQ(*memory.ptr({i, j, k}), 20 - 8 * i + 2 * k);
  EXPECT_EQ(complaint([&] { memory.ptr({0, 2, 0}); }), "[ptr] index 2 is outside of dimension 1, of size 2");
  EXPECT_EQ(complaint([&] { memory.ptr({0, 0, -1}); }), "[ptr] index -1 is outside of dimension 2, of size 4");
  EXPECT_EQ(complaint([&] { memory.ptr({0, 0}); }), "[ptr] 2 indices for shape (3, 2, 4)");
}

TEST(MemoryRef, AddressesAreCheckedOnce) {
  std::vector<int> storage(24, 0);
  const auto message = [&](const Index& shape, const Index& strides, std::int64_t offset) {
    return complaint([&] { MemoryRef<int>(storage, shape, strides, offset); });
  };
  EXPECT_EQ(message({2, 12}, {12, 1}, 0), "");
  EXPECT_EQ(message({2, 12}, {-12, 1}, 12), "");
  EXPECT_EQ(message({2, 13}, {-12, 1}, 12),
            "[tiled] the index (0, 12) has address 24, behind the storage's 24 elements");
  EXPECT_EQ(message({2, 12}, {-12, 1}, 11), "[tiled] the index (1, 0) has address -1, before the storage");
  EXPECT_EQ(message({}, {}, 23), "");
  EXPECT_EQ(message({}, {}, 24), "[tiled] the index () has address 24, behind the storage's 24 elements");
  EXPECT_EQ(message({3}, {INT64_MAX}, 5),
            "[tiled] the index (2,) has address 2^63 or more, behind the storage's 24 elements");
  EXPECT_EQ(message({3}, {INT64_MIN}, 5), "[tiled] the index (2,) has address below -2^63, before the storage");
  EXPECT_EQ(message({0, 5}, {100, 100}, 1000), "");
  EXPECT_EQ(message({2, -1}, {1, 1}, 0), "[tiled] dimension 1 has size -1");
  EXPECT_EQ(message({2}, {1, 1}, 0), "[tiled] 2 strides for shape (2,)");
  EXPECT_EQ(error_of([&] { MemoryRef<int>(storage, Index{INT64_MAX, 2}); }).kind(), ErrorKind::overflow);
}

TEST(TiledTensor, StacksAreCheckedExactly) {
  std::vector<int> storage(10, 0);
  // Beyond the storage by its bounds, but what is read is not: every second row of a larger memory.
  const ShapeTracker inside({View::create({4, 5}), View::create({2, 5}, Ints{5, 1})});
  EXPECT_EQ(complaint([&] { tiled(storage, inside); }), "");
  const ShapeTracker beyond({View::create({4, 5}), View::create({3, 5}, Ints{5, 1})});
  EXPECT_EQ(complaint([&] { tiled(storage, beyond); }),
            "[tiled] the index (2, 4) has address 14, behind the storage's 10 elements");
  const View symbolic = View::create({Variable("n", 1, 9), 2});
  EXPECT_EQ(error_of([&] { tiled(storage, symbolic); }).kind(), ErrorKind::undefined);
}

// --- rows ---

/// What parallelLoops has to do, from the table of addresses: the rows, or nothing where they are not whole.
std::optional<std::vector<std::pair<Index, std::int64_t>>> expected_rows(const oracle::Stack& stack, std::size_t last) {
  const Index& shape = stack.back().shape;
  const oracle::Table table = oracle::table(stack);
  std::int64_t row_size = 1;
  for (std::size_t j = last + 1; j < shape.size(); ++j) row_size *= shape[j];
  std::vector<std::pair<Index, std::int64_t>> out;
  if (table.empty()) return out;
  Index outer(last + 1, 0), outer_shape;
  outer_shape.append(shape.data(), last + 1);
  std::size_t first = 0;
  do {
    std::size_t valid = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(row_size); ++k) {
      const auto address = table[first + k];
      if (!address) continue;
      ++valid;
      if (!table[first] || *address != *table[first] + static_cast<std::int64_t>(k)) return std::nullopt;
    }
    if (valid != 0 && valid != static_cast<std::size_t>(row_size)) return std::nullopt;
    if (valid != 0) out.emplace_back(outer, *table[first]);
    first += static_cast<std::size_t>(row_size);
  } while (oracle::advance(outer, outer_shape));
  return out;
}

TEST(ParallelLoops, RandomStacks) {
  oracle::RandomStack random(5, {3, 4, 6, 60, true, true});
  int whole = 0, refused = 0, tables = 0;
  for (int round = 0; round < 30000; ++round) {
    oracle::Stack stack = random();
    const Index& shape = stack.back().shape;
    if (shape.empty()) continue;
    const std::int64_t size = settle(stack);
    const std::int64_t last = random.number(0, static_cast<std::int64_t>(shape.size()) - 1);
    std::vector<std::int64_t> storage = addresses_up_to(size);
    const auto t = tiled(storage, oracle::tracker_of(stack));
    const auto expected = expected_rows(stack, static_cast<std::size_t>(last));
    std::vector<std::pair<Index, std::int64_t>> seen;
    const std::optional<Error> error = thrown_by([&] {
      t.parallelLoops(last, [&](std::span<std::int64_t> row, const Index& outer) {
        seen.emplace_back(outer, row[0]);
        std::int64_t n = 1;
        for (std::size_t j = outer.size(); j < shape.size(); ++j) n *= shape[j];
        EXPECT_EQ(static_cast<std::int64_t>(row.size()), n);
      });
    });
    if (expected) {
      EXPECT_FALSE(error) << error->what();
      EXPECT_TRUE(seen == *expected);
      ++whole;
      tables += stack.size() > 1 && single(std::span<const Strided>(stack)).found == Answer::no ? 1 : 0;
    } else {
      ASSERT_TRUE(error);
      EXPECT_EQ(error->kind(), ErrorKind::shape) << error->what();
      EXPECT_TRUE(seen.empty());
      ++refused;
    }
    if (HasFailure()) FAIL() << "round " << round << ": " << oracle::to_string(stack) << " last " << last;
  }
  EXPECT_GT(whole, 5000);
  EXPECT_GT(refused, 2000);
  EXPECT_GT(tables, 500);
}

TEST(ParallelLoops, MistakesNameTheDimension) {
  std::vector<int> storage(24, 0);
  const auto message = [&](const TiledTensor<int>& t, std::int64_t last) {
    return complaint([&] { t.parallelLoops(last, [](std::span<int>) {}); });
  };
  const auto memory = [&](const Index& shape, const Index& strides) {
    return tiled(MemoryRef<int>(storage, shape, strides));
  };
  EXPECT_EQ(message(memory({2, 3, 4}, {12, 4, 1}), 0), "");
  EXPECT_EQ(message(memory({4, 3, 2}, {1, 8, 4}), 0),
            "[parallelLoops] dimension 1 is not contiguous: its stride is 8, not 2");
  EXPECT_EQ(message(memory({2, 3, 2}, {12, 2, 2}), 0),
            "[parallelLoops] dimension 2 is not contiguous: its stride is 2, not 1");
  EXPECT_EQ(message(memory({2, 3, 4}, {12, 4, 1}), 3), "[parallelLoops] there is no dimension 3 in shape (2, 3, 4)");
  EXPECT_EQ(message(memory({2, 3, 4}, {12, 4, 1}), -1), "[parallelLoops] there is no dimension -1 in shape (2, 3, 4)");
  EXPECT_EQ(message(memory({}, {}), 0), "[parallelLoops] there is no dimension 0 in shape ()");
  const View masked = View::create({2, 3, 4}, std::nullopt, 0, Mask{{0, 2}, {0, 3}, {1, 4}});
  EXPECT_EQ(message(tiled(storage, masked), 0),
            "[parallelLoops] dimension 2 of size 4 is not one run: only [1, 4) is valid");
  EXPECT_EQ(message(tiled(storage, View::create({2, 3, 4}, std::nullopt, 0, Mask{{0, 2}, {1, 3}, {0, 4}})), 1), "");
}

/// Chunks on threads of its own: fully seen by ThreadSanitizer.
class ThreadExecutor final : public Executor {
 public:
  int concurrency() const override { return 4; }

 private:
  void run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) override {
    std::atomic<std::int64_t> next = begin;
    std::vector<std::thread> workers;
    for (int t = 0; t < 4; ++t)
      workers.emplace_back([&] {
        for (std::int64_t b = next.fetch_add(grain); b < end; b = next.fetch_add(grain))
          body(b, std::min(b + grain, end));
      });
    for (std::thread& worker : workers) worker.join();
  }
};

TEST(ParallelLoopsThread, EveryRowOnceFromSeveralThreads) {
  ThreadExecutor executor;
  for (const auto& [shape, last] : {std::pair{Index{64, 3, 500}, 0}, std::pair{Index{64, 3, 500}, 1},
                                    std::pair{Index{7, 100, 3}, 2}, std::pair{Index{100000, 2}, 0}}) {
    std::vector<int> storage(static_cast<std::size_t>(oracle::elements(shape)), 0);
    const auto t = tiled(storage, shape);
    std::atomic<std::int64_t> rows = 0;
    t.parallelLoops(
        last,
        [&](std::span<int> row, const Index& outer) {
          ++rows;
          int number = 0;
          for (std::size_t j = 0; j < outer.size(); ++j)
            number = number * static_cast<int>(shape[j]) + static_cast<int>(outer[j]);
          for (int& x : row) x += number + 1;
        },
        executor);
    const auto row_size = static_cast<std::int64_t>(storage.size()) / rows;
    for (std::size_t k = 0; k < storage.size(); ++k)
      ASSERT_EQ(storage[k], static_cast<int>(static_cast<std::int64_t>(k) / row_size) + 1);
  }
}

TEST(ParallelLoopsThread, TablesOfRowsAreShared) {
  // rows in the order 0 3 1 4 2 5: two views that no single one says
  std::vector<int> storage(std::size_t{6} * 1000, 0);
  const ShapeTracker rows({View::create({2, 3, 1000}).permute({1, 0, 2}), View::create({6, 1000})});
  ThreadExecutor executor;
  tiled(storage, rows)
      .parallelLoops(
          0,
          [](std::span<int> row, const Index& outer) {
            for (int& x : row) x += static_cast<int>(outer[0]) + 1;
          },
          executor);
  const int number[] = {1, 3, 5, 2, 4, 6};
  for (std::size_t k = 0; k < storage.size(); ++k) ASSERT_EQ(storage[k], number[k / 1000]);
}

TEST(ParallelLoopsThread, TakesAnOwnedExecutor) {
  std::vector<int> storage(1000, 1);
  tiled(storage, {10, 100})
      .parallelLoops(
          0,
          [](std::span<int> row) {
            for (int& x : row) x *= 2;
          },
          std::unique_ptr<Executor>(std::make_unique<ThreadExecutor>()));
  EXPECT_EQ(std::accumulate(storage.begin(), storage.end(), 0), 2000);
}

}  // namespace
}  // namespace strata
