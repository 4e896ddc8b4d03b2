// Columns that are turned over in registers; runs of scattered stores.
#include "strata/codegen/scattered.h"

#include <gtest/gtest.h>

#include "strata/codegen/heuristic.h"
#include "strata/codegen/kernel.h"
#include "strata/graph/absorb.h"
#include "strata/graph/interpret.h"
#include "strata/ops/kernel_text.h"
#include "tests/codegen/kernel_ranges.h"

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

// Elements that come from two or four places in turn are loaded as vectors, and interleaved in registers.
TEST(Interleave, StoresAreWholeVectors) {
  Target target;
  target.vector_bytes = 64;
  target.vector_registers = 32;
  target.shuffles = true;
  struct Row {
    const char* text;
    const char* opts;  // of the last axis
    int scalar_stores;
  };
  for (const Row& row : {Row{"a: f32[2,160]; b = a.permute(1,0).reshape(320) * 2", "UPCAST 0 2, LANES 0 16", 0},
                         {"a: f32[4,160]; b = a.permute(1,0).reshape(640) * 2", "UPCAST 0 4, LANES 0 16", 0},
                         {"a: f64[2,24]; b = a.permute(1,0).reshape(48)", "UPCAST 0 2, LANES 0 8", 0},
                         {"a: i16[2,3,9]; b = a.permute(1,2,0).reshape(3,18)", "UPCAST 1 2, LANES 1 8", 2},
                         {"a: f32[2,2,8,8]; b = a.permute(2,0,3,1).reshape(16,16)", "UPCAST 1 2, LANES 1 8", 0}}) {
    const LazyOp kernel = absorb_movement(parse_kernel(row.text).kernel);
    const std::vector<Opt> opts = heuristic_opts(kernel, target);
    EXPECT_NE(text_of(opts).find(row.opts), std::string::npos) << row.text << ": " << text_of(opts);
    const Kernel made = compile_kernel(kernel, target, opts);
    int scalar_stores = 0;
    for (const UOp u : made.uops) scalar_stores += u.op() == UOps::STORE && !u.src(2).dtype().is_vector() ? 1 : 0;
    EXPECT_EQ(scalar_stores, row.scalar_stores) << row.text << "\n" << made.uops.text();
    // The list means what the kernel means.
    oracle::Buffers expected = oracle::counted_memory(kernel), after = expected;
    interpret(kernel, oracle::memory_of(expected), {});
    interpret(made.uops, oracle::memory_of(after), {});
    for (std::int64_t k = 0; k < expected[0].size(); ++k)
      ASSERT_EQ(after[0][k].bits(), expected[0][k].bits()) << row.text;
  }
  // Three places, a condition, and an axis that is too short have none.
  for (const char* text :
       {"a: f32[3,160]; b = a.permute(1,0).reshape(480)", "a: f32[2,3]; b = a.permute(1,0).reshape(6)"})
    EXPECT_EQ(text_of(heuristic_opts(absorb_movement(parse_kernel(text).kernel), target)).find("UPCAST"),
              std::string::npos)
        << text;
}

}  // namespace
}  // namespace strata::test
