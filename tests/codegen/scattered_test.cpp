// Columns that are turned over in registers; runs of scattered stores.
#include "strata/codegen/scattered.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

namespace strata::test {
namespace {

/// Loads `columns` vectors of `lanes` lanes from memory, turns them over, and stores the rows one after the other.
std::vector<float> turned(const std::vector<float>& matrix, int columns, int lanes) {
  UOpGraph graph;
  const DType pointer = dtypes::float32.pointer();
  const UOp to = graph.add(UOps::DEFINE_GLOBAL, pointer, {}, Global{0, "to"});
  const UOp from = graph.add(UOps::DEFINE_GLOBAL, pointer, {}, Global{1, "from"});
  const auto at = [&](int k) { return graph.constant(dtypes::int32, k); };
  std::vector<UOp> loaded;
  for (int c = 0; c < columns; ++c) {
    const UOp sources[] = {from, at(c * lanes)};
    loaded.push_back(graph.add(UOps::LOAD, dtypes::float32.vec(lanes), sources));
  }
  const Transposed rows(graph, loaded);
  for (int l = 0; l < lanes; ++l)
    for (std::size_t first = 0, count = 1; first < loaded.size(); first += count) {
      count = std::bit_floor(loaded.size() - first);
      const UOp sources[] = {to, at(l * columns + static_cast<int>(first)),
                             rows.row(static_cast<std::size_t>(l), first, count)};
      graph.add(UOps::STORE, dtypes::none, sources, {}, false);
    }
  verify(graph);
  std::vector<float> in = matrix, out(matrix.size());
  const std::vector<Memory> memory = {{out.data(), static_cast<std::int64_t>(out.size())},
                                      {in.data(), static_cast<std::int64_t>(in.size())}};
  interpret(graph, memory);
  return out;
}

TEST(Transposed, RowsOfColumns) {
  for (const int lanes : {2, 4, 8, 16, 32})
    for (int columns = 2; columns <= lanes; ++columns) {
      const auto wide = static_cast<std::size_t>(lanes), count = static_cast<std::size_t>(columns);
      std::vector<float> matrix(wide * count);
      std::iota(matrix.begin(), matrix.end(), 1.0F);
      std::vector<float> expected(matrix.size());
      for (std::size_t c = 0; c < count; ++c)
        for (std::size_t l = 0; l < wide; ++l) expected[l * count + c] = matrix[c * wide + l];
      EXPECT_EQ(turned(matrix, columns, lanes), expected) << columns << " columns of " << lanes;
    }
}

TEST(Transposed, RunsOfStores) {
  const Variable v("v", 0, 9), w("w", 0, 9);
  const auto store = [&](const Expr& index, const Expr& valid = 1) { return ScatteredStore{{index, valid}, UOp()}; };
  using Runs = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(runs_of({}, 4), Runs());
  const std::vector<ScatteredStore> shuffled = {store(v * 8 + 2), store(v * 8), store(v * 8 + 1), store(v * 8 + 4)};
  EXPECT_EQ(runs_of(shuffled, 4), (Runs{{1, 2, 0}, {3}}));
  EXPECT_EQ(runs_of(shuffled, 2), (Runs{{1, 2}, {0}, {3}}));
  // Other conditions, and indices that differ by no number, are other runs.
  EXPECT_EQ(runs_of(std::vector{store(v * 8), store(v * 8 + 1, w < 3), store(w * 8 + 1)}, 4), (Runs{{0}, {1}, {2}}));
  // Twice the same index is no run.
  EXPECT_EQ(runs_of(std::vector{store(v), store(v)}, 4), (Runs{{0}, {1}}));
}

}  // namespace
}  // namespace strata::test
