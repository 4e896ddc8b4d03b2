// Schedules by structure: those from the cache are those of schedule(), and graphs that differ are not taken for
// another.
#include "strata/engine/schedule_cache.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "strata/engine/buffer_storage.h"
#include "strata/engine/realize.h"
#include "strata/ops/products.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

LazyOp memory(const Ints& shape, DType dtype = dtypes::float32) {
  const LazyOp out = LazyOp::empty(dtype, shape);
  return leaf_of(Buffer::allocate(product(out.shape()).vmax(), dtype), shape);
}

void expect_alike(const std::vector<ScheduleItem>& found, const std::vector<ScheduleItem>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_EQ(found[k].ast, wanted[k].ast);
    EXPECT_EQ(found[k].outputs, wanted[k].outputs);
    EXPECT_EQ(found[k].inputs, wanted[k].inputs);
    EXPECT_EQ(found[k].why, wanted[k].why);
    EXPECT_EQ(found[k].part, wanted[k].part);
    ASSERT_EQ(found[k].values.size(), wanted[k].values.size());
    for (std::size_t j = 0; j < found[k].values.size(); ++j) {
      EXPECT_TRUE(same(found[k].values[j].first, wanted[k].values[j].first));
      EXPECT_EQ(found[k].values[j].second, wanted[k].values[j].second);
    }
  }
}

/// Whether the cache has the schedule of `roots`, which is checked.
bool is_hit(ScheduleCache& cache, const std::vector<LazyOp>& roots, const FusionOptions& options = {}) {
  const std::uint64_t before = cache.statistics().hits;
  expect_alike(cache.get(roots, options), schedule(roots, options));
  return cache.statistics().hits != before;
}

using Graph = std::function<std::vector<LazyOp>()>;

/// Lets the cache keep the schedule of a graph, which is another one, of the same structure, in each call.
void expect_kept(ScheduleCache& cache, const Graph& graph) {
  EXPECT_FALSE(is_hit(cache, graph()));
  EXPECT_FALSE(is_hit(cache, graph()));  // the second time it is kept
  EXPECT_TRUE(is_hit(cache, graph()));
  EXPECT_TRUE(is_hit(cache, graph()));
}

TEST(ScheduleCache, KnowsTheSameGraphOfOtherMemory) {
  ScheduleCache cache;
  expect_kept(cache, [] {
    const LazyOp x = memory({8, 16});
    return std::vector{LazyOp::alu(Ops::EXP, {x}) + x};
  });
  expect_kept(cache, [] {
    const LazyOp x = memory({8, 16}), total = LazyOp::reduce(Ops::SUM, x, {0, 1});
    return std::vector{total, x / total.expand({8, 16}), x.copied(), x.reshape({128})};
  });
  expect_kept(cache, [] {
    const LazyOp x = memory({8}), y = memory({4});
    const std::vector<LazyOp> parts = {x + x, y};
    return std::vector{LazyOp::concatenated(parts)};
  });
  const LazyOp one = memory({8});
  expect_kept(cache, [&] { return std::vector{one * one}; });  // the same graph itself
  EXPECT_EQ(cache.statistics().size, 4U);
  cache.clear();
  EXPECT_EQ(cache.statistics().size, 0U);
  EXPECT_EQ(cache.statistics().nodes, 0U);
  EXPECT_FALSE(is_hit(cache, {one * one}));
}

TEST(ScheduleCache, TellsGraphsApart) {
  const Ints shape = {8, 16};
  const LazyOp x = memory(shape), y = memory(shape), z = memory({16, 8}), two = LazyOp::constant(Scalar(2.0F), shape);
  const LazyOp shared = LazyOp::alu(Ops::SIN, {x + y}), parameter = x.tracked({});
  const Variable n("n", 1, 16);
  const auto rows = [&](std::int64_t count) { return x.shrink({{0, 8}, {0, Int(n.bind(count))}}); };
  const std::vector<std::vector<LazyOp>> graphs = {
      {x + y},
      {x * y},
      {x + x},
      {y + x, x + y},
      {x + y, x * y},
      {x * y, x + y},
      {x + two},
      {x + LazyOp::constant(Scalar(3.0F), shape)},
      {x + LazyOp::constant(Scalar(-0.0F), shape)},
      {x + LazyOp::constant(Scalar(0.0F), shape)},
      {(x + y).contiguous()},
      {x + z.permute({1, 0})},
      {x + z.reshape(shape)},
      {LazyOp::reduce(Ops::SUM, x, {0})},
      {LazyOp::reduce(Ops::SUM, x, {1})},
      {LazyOp::reduce(Ops::REDUCE_MAX, x, {1})},
      {x.cast(dtypes::float64)},
      {memory(shape, dtypes::float64) + memory(shape, dtypes::float64)},
      {memory({8, 17}) + memory({8, 17})},
      {LazyOp::reduce(Ops::SUM, shared, {0}), shared},
      {LazyOp::reduce(Ops::SUM, shared, {0})},
      {parameter + y},
      {parameter.detached() + y},
      {x.pad({{0, 0}, {1, 0}})},
      {x.pad({{0, 0}, {0, 1}})},
      {LazyOp::reduce(Ops::SUM, rows(3), {1})},
      {LazyOp::reduce(Ops::SUM, rows(4), {1})},
      {LazyOp::scan(Ops::SUM, x, 0)},
      {LazyOp::scan(Ops::SUM, x, 1)},
  };
  ScheduleCache cache;
  for (int round = 0; round < 3; ++round)
    for (std::size_t k = 0; k < graphs.size(); ++k) EXPECT_EQ(is_hit(cache, graphs[k]), round == 2) << "graph " << k;
  EXPECT_EQ(cache.statistics().size, graphs.size());
}

TEST(ScheduleCache, OptionsAreAPartOfTheKey) {
  const LazyOp x = memory({8, 16});
  const LazyOp out = LazyOp::reduce(Ops::SUM, x * x, {1}) + LazyOp::reduce(Ops::SUM, x, {1});
  std::vector<FusionOptions> options(7);
  options[1].fuse = false;
  options[2].most_nodes = 3;
  options[3].dots = true;
  options[4].bf16_dots = true;
  options[5].reassociate = true;
  options[6].chains = FusionOptions::Chains::wherever_possible;
  ScheduleCache cache;
  for (int round = 0; round < 3; ++round)
    for (const FusionOptions& o : options) EXPECT_EQ(is_hit(cache, {out}, o), round == 2);
}

TEST(ScheduleCache, AResultThatIsThereIsMemory) {
  ScheduleCache cache;
  const auto graph = [](bool realized) {
    const LazyOp x = memory({8, 16}), inner = LazyOp::reduce(Ops::SUM, x, {1});
    if (realized) inner.realize_as(memory({8, 1}).realized());
    return std::vector{LazyOp::alu(Ops::EXP, {inner})};
  };
  for (const bool realized : {false, true}) expect_kept(cache, [&] { return graph(realized); });
  EXPECT_TRUE(is_hit(cache, graph(false)));
}

TEST(ScheduleCache, TheLeastRecentlyUsedOnesGo) {
  ScheduleCache cache;
  const auto chain = [](std::int64_t size) {
    LazyOp x = memory({size});
    const LazyOp first = x;
    for (int k = 0; k < 200; ++k) x = LazyOp::alu(k % 2 == 0 ? Ops::ADD : Ops::MUL, {x, first});
    return std::vector{x};
  };
  for (std::int64_t size = 1; size <= 400; ++size)
    for (int k = 0; k < 2; ++k) cache.get(chain(size), {});
  const ScheduleCache::Statistics statistics = cache.statistics();
  EXPECT_LE(statistics.nodes, ScheduleCache::kMostNodes);
  EXPECT_GT(statistics.size, 100U);
  EXPECT_LT(statistics.size, 200U);
  EXPECT_TRUE(is_hit(cache, chain(400)));
  EXPECT_FALSE(is_hit(cache, chain(1)));
}

/// Random graphs, which of one seed have the same structure.
std::vector<LazyOp> random_graph(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const Ints shape = {4, 6};
  std::vector<LazyOp> values;
  for (int k = 0; k < 3; ++k) values.push_back(below(4) == 0 ? memory(shape).tracked({}) : memory(shape));
  const auto pick = [&] { return values[values.size() - 1 - below(std::min<std::size_t>(values.size(), 6))]; };
  for (int k = 0; k < 20; ++k) {
    const LazyOp a = pick(), b = pick();
    const auto axis = static_cast<std::int64_t>(below(2));
    switch (below(9)) {
      case 0: values.push_back(LazyOp::reduce(Ops::SUM, a, {axis}).expand(shape)); break;
      case 1: values.push_back(LazyOp::alu(Ops::EXP, {a})); break;
      case 2: values.push_back(a.permute({1, 0}).reshape(shape)); break;
      case 3: values.push_back(a.contiguous()); break;
      case 4: values.push_back(LazyOp::scan(Ops::SUM, a, axis)); break;
      case 5: values.push_back(a * LazyOp::constant(Scalar(static_cast<float>(below(3))), shape)); break;
      case 6: {
        const LazyOp wide =
            a.reshape({4, 6, 1}).expand({4, 6, 4}) * b.permute({1, 0}).reshape({1, 6, 4}).expand({4, 6, 4});
        const LazyOp square = LazyOp::reduce(Ops::SUM, wide, {1}).reshape({4, 4});
        values.push_back(square.pad({{0, 0}, {1, 1}}));
        break;
      }
      case 7: {
        const std::vector<LazyOp> parts = {a.shrink({{0, 2}, {0, 6}}), b.shrink({{0, 2}, {0, 6}})};
        values.push_back(LazyOp::concatenated(parts).reshape(shape));
        break;
      }
      default: values.push_back(a + b);
    }
    if (below(20) == 0 && !values.back().node()->is_closed) values.back().realize_as(memory(shape).realized());
  }
  std::vector<LazyOp> roots;
  for (std::size_t k = 0; k < 1 + below(3); ++k) roots.push_back(pick());
  return roots;
}

TEST(ScheduleCache, RandomGraphs) {
  std::size_t hits = 0;
  ScheduleCache cache;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    FusionOptions options;
    options.chains = static_cast<FusionOptions::Chains>(seed % 3);
    for (int k = 0; k < 4; ++k) hits += is_hit(cache, random_graph(seed), options) ? 1 : 0;
  }
  EXPECT_GE(hits, 600U);
}

}  // namespace
}  // namespace strata
