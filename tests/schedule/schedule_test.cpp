// What becomes one kernel, what does not and why; memory between kernels.

#include "strata/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_set>

#include "strata/graph/interpret.h"
#include "strata/schedule/memory_plan.h"

namespace strata::test {
namespace {

LazyOp memory(const Ints& shape) { return LazyOp::empty(dtypes::float32, shape); }
LazyOp sum(const LazyOp& x, std::int64_t axis) { return LazyOp::reduce(Ops::SUM, x, {axis}); }
LazyOp largest(const LazyOp& x, std::int64_t axis) { return LazyOp::reduce(Ops::REDUCE_MAX, x, {axis}); }
LazyOp exp(const LazyOp& x) { return LazyOp::alu(Ops::EXP, {x}); }
LazyOp like(const LazyOp& reduced, const LazyOp& x) { return reduced.expand(x.shape()); }
LazyOp softmax(const LazyOp& x, std::int64_t axis) {
  const LazyOp e = exp(x - like(largest(x, axis), x));
  return e / like(sum(e, axis), e);
}
LazyOp matmul(const LazyOp& a, const LazyOp& b) {
  const Int m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  return sum(a.reshape({m, 1, k}).expand({m, n, k}) * b.permute({1, 0}).reshape({1, n, k}).expand({m, n, k}), 2)
      .reshape({m, n});
}
/// What is read is made before; what is stored by one kernel has as many elements.
void expect_order(const std::vector<ScheduleItem>& items) {
  std::unordered_set<LazyOp> made;
  for (const ScheduleItem& item : items) {
    for (const LazyOp& input : item.inputs)
      EXPECT_TRUE(input.op() == Ops::EMPTY || made.contains(input)) << item.text();
    made.insert(item.outputs.begin(), item.outputs.end());
  }
}
std::vector<ScheduleItem> scheduled(std::initializer_list<LazyOp> roots, bool fuse = true) {
  FusionOptions options;
  options.fuse = fuse;
  std::vector<ScheduleItem> out = schedule(std::vector<LazyOp>(roots), options);
  expect_order(out);
  return out;
}
std::size_t kernels(std::initializer_list<LazyOp> roots, bool fuse = true) { return scheduled(roots, fuse).size(); }

TEST(Schedule, ElementsAndMovementAreOneKernel) {
  const LazyOp a = memory({4, 6}), b = memory({6, 4});
  EXPECT_EQ(kernels({exp(a + b.permute({1, 0})).reshape({24}).flip({0})}), 1U);
  EXPECT_EQ(kernels({exp(a + a).pad({{1, 1}, {0, 2}})}), 1U);
}

TEST(Schedule, RowKernelsAreOneKernel) {
  const LazyOp x = memory({16, 32});
  EXPECT_EQ(kernels({softmax(x, 1)}), 1U);
  EXPECT_EQ(kernels({softmax(x, 0)}), 1U);
  const LazyOp mean = sum(x, 1), apart = x - like(mean, x), variance = sum(apart * apart, 1);
  EXPECT_EQ(kernels({variance}), 1U);
  EXPECT_EQ(kernels({apart / like(variance, x)}), 1U);
}

TEST(Schedule, ReductionsTakeElementsBeforeAndAfter) {
  const LazyOp x = memory({8, 16}), w = memory({16, 4}), bias = memory({4});
  const LazyOp y = matmul(x + x, w);
  EXPECT_EQ(kernels({LazyOp::alu(Ops::MAX, {y + bias.reshape({1, 4}).expand({8, 4}), y})}), 1U);
  EXPECT_EQ(kernels({matmul(y, memory({4, 4}))}), 2U);  // each row of y is wanted four times
  EXPECT_EQ(kernels({matmul(exp(x), w)}), 2U);          // as is each exp, which is expensive
}

TEST(Schedule, AKernelHasAtMostOneContraction) {
  const LazyOp x = memory({32, 64}), v = memory({64, 32}), w = memory({64, 32});
  const std::vector<ScheduleItem> items = scheduled({matmul(x, v) + exp(matmul(x, w))});
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].why, Boundary::contraction);
  EXPECT_EQ(kernels({matmul(x, v), matmul(x, w)}), 2U);        // nor are two kernels with one each joined
  EXPECT_EQ(kernels({matmul(x, v), exp(matmul(x, v))}), 1U);   // the one product is stored beside
  EXPECT_EQ(kernels({sum(x, 1) + sum(x * x, 1)}), 1U);         // reductions that read each element once
  EXPECT_EQ(kernels({sum(x, 1) + sum(matmul(x, v), 1)}), 2U);  // a product is not inside of another reduction
  EXPECT_EQ(kernels({matmul(x, v) + like(sum(x, 1), memory({32, 32}))}), 2U);  // nor beside a sum of rows
  const LazyOp a = memory({3, 32}), b = memory({32, 64}), c = memory({32, 64});
  EXPECT_EQ(kernels({matmul(a, b) + matmul(a, c)}), 1U);  // for a few rows each element is read less than three times
  const LazyOp s = memory({32, 16}), t = memory({16, 32}), u = memory({16, 32});
  EXPECT_EQ(kernels({matmul(s, t) + matmul(s, u)}), 1U);  // sums of 16 cost less than memory
}

TEST(Schedule, ALongReductionIsNotBesideAContraction) {
  // Each element of the second matrix is read twice: no contraction, though as long as the other product.
  const LazyOp x = memory({2, 512}), v = memory({512, 32}), a = memory({32, 64}), b = memory({64, 32});
  const LazyOp thin = matmul(x, v), wide = matmul(a, b).shrink({{0, 2}, {0, 32}});
  EXPECT_EQ(kernels({thin}), 1U);
  for (const LazyOp& both : {thin + wide, wide + thin}) EXPECT_EQ(kernels({both}), 2U);
}

/// Windows of 3 along each row of x, which is padded: (rows, columns, 3). Neighbours share two of three columns.
LazyOp windows(const LazyOp& x) {
  const Int rows = x.shape()[0], columns = x.shape()[1];
  const LazyOp padded = x.pad({{0, 0}, {1, 1}});
  return padded.reshape({rows, 1, columns + 2})
      .expand({rows, 4, columns + 2})
      .reshape({rows, (columns + 2) * 4})
      .shrink({{0, rows}, {0, (columns + 3) * 3}})
      .reshape({rows, 3, columns + 3})
      .shrink({{0, rows}, {0, 3}, {0, columns}})
      .permute({0, 2, 1});
}

TEST(Schedule, WindowsOfExpensiveElementsAreNotMemory) {
  const LazyOp x = memory({64, 64}), expensive = exp(exp(x));
  for (const LazyOp& w : {windows(expensive), windows(expensive).tracked({})}) {
    const std::vector<ScheduleItem> items = scheduled({sum(w * w, 2)});
    ASSERT_EQ(items.size(), 2U);
    EXPECT_EQ(items[0].outputs[0], expensive);
    EXPECT_EQ(items[0].why, Boundary::repeated);
  }
}

TEST(Schedule, ContractionsOfWhatIsComputed) {
  const LazyOp x = memory({32, 64}), w = memory({64, 16}), scale = memory({64});
  const LazyOp scaled = x * scale.reshape({1, 64}).expand({32, 64});
  EXPECT_EQ(kernels({matmul(scaled, w) + matmul(x, w)}), 2U);
  EXPECT_EQ(kernels({matmul(exp(scaled), w) + matmul(x, w)}), 3U);  // exp is materialized, and read as memory
  // Sums of what is computed of no memory are none.
  const LazyOp numbers = LazyOp::iota(dtypes::float32, ShapeTracker::from_shape({32, 64}));
  EXPECT_EQ(kernels({sum(numbers, 1) + sum(numbers * numbers, 1)}), 1U);
}

TEST(Schedule, WhatSeveralKernelsUseIsSharedWhereItIsDear) {
  const LazyOp x = memory({8, 16});
  const LazyOp expensive = exp(exp(x)), cheap = x + x;
  const auto twice = [](const LazyOp& n) {
    return schedule(std::vector{sum(n, 0), n.permute({1, 0}) * n.permute({1, 0})});
  };
  EXPECT_EQ(twice(expensive).size(), 3U);
  EXPECT_EQ(twice(expensive)[0].why, Boundary::shared);
  EXPECT_EQ(twice(cheap).size(), 2U);
}

TEST(Schedule, ExpensiveElementsAreMadeOnceForAllLoopsOfAKernel) {
  const LazyOp x = memory({16, 32}), expensive = LazyOp::alu(Ops::TANH, {exp(LazyOp::alu(Ops::SIN, {x}))});
  for (const std::int64_t axis : {0, 1}) {
    const std::vector<ScheduleItem> items = scheduled({softmax(expensive, axis)});
    ASSERT_EQ(items.size(), 2U);
    EXPECT_EQ(items[0].outputs[0], expensive);
    EXPECT_EQ(items[0].why, Boundary::repeated);
  }
  EXPECT_EQ(kernels({sum(expensive, 1)}), 1U);      // in one loop
  EXPECT_EQ(kernels({softmax(x + x * x, 1)}), 1U);  // not expensive
  const LazyOp twice = sum(expensive, 1) + sum(expensive * x, 1);
  EXPECT_EQ(kernels({twice}), 1U);  // these share their loop
}

TEST(Schedule, WorkIsCountedDownToMemory) {
  const LazyOp x = memory({16, 32}), expensive = exp(exp(x));
  const LazyOp y = softmax(expensive + expensive * x, 1);  // of the sum, and not of the exp in softmax
  const std::vector<ScheduleItem> items = scheduled({y});
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].outputs[0], expensive + expensive * x);
}

TEST(Schedule, AProductHandsItsMemoryToWhatIsMadeOfIt) {
  const LazyOp bias = memory({8}), x = matmul(memory({16, 4}), memory({4, 8}));
  const LazyOp y = LazyOp::alu(Ops::MAX, {x + bias.reshape({1, 8}).expand({16, 8}), x});
  const std::vector<ScheduleItem> items = scheduled({softmax(y, 1)});
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].outputs[0], y);
  const LazyOp wide = y.cast(dtypes::float64);  // more memory than the product's
  EXPECT_EQ(scheduled({softmax(wide, 1)})[0].outputs[0].dtype(), dtypes::float32);
}

TEST(Schedule, MasksAreMadeWhereTheyAreUsed) {
  const ShapeTracker square = ShapeTracker::from_shape({16, 16});
  const LazyOp place = LazyOp::iota(dtypes::int32, square);
  const LazyOp width = LazyOp::constant(Scalar(std::int32_t{16}), square);
  const LazyOp mask =
      LazyOp::alu(Ops::CMPLT, {LazyOp::alu(Ops::FLOORMOD, {place, width}), LazyOp::alu(Ops::FLOORDIV, {place, width})});
  const LazyOp x = memory({16, 16}), none = LazyOp::constant(Scalar(-1e9F), square);
  const auto masked = [&](const LazyOp& y) { return LazyOp::alu(Ops::WHERE, {mask, y, none}); };
  EXPECT_EQ(kernels({softmax(masked(x), 1)}), 1U);
  EXPECT_EQ(kernels({masked(x), sum(masked(x + x), 0)}), 2U);
}

TEST(Schedule, RowsOfFinerDimensionsAreOneKernel) {
  const LazyOp x = memory({4, 24, 6}), w = memory({24});
  const LazyOp groups = x.reshape({4, 3, 48}), mean = sum(groups, 2), apart = groups - like(mean, groups);
  const LazyOp y = (apart / like(sum(apart * apart, 2), apart)).reshape({4, 24, 6});
  EXPECT_EQ(kernels({y}), 1U);
  const std::vector<ScheduleItem> items = scheduled({exp(y * w.reshape({1, 24, 1}).expand({4, 24, 6}))});
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].outputs[0].shape(), (Ints{4, 24, 6}));
  EXPECT_EQ(kernels({exp(x).reshape({4, 3, 48}).reshape({4, 24, 6})}), 1U);
}

TEST(Schedule, WhatIsAtHandIsStoredBesideForOtherKernels) {
  const LazyOp x = memory({8, 16}), y = memory({8, 16}), rows = memory({8, 1});
  const LazyOp total = sum(x, 1), mean = total / rows;
  const LazyOp spread = exp(exp(mean));
  const std::vector<ScheduleItem> items = scheduled({spread, sum(y * like(mean, y), 0)});
  ASSERT_EQ(items.size(), 2U);  // a sum of columns, and a value for each row that it is made of
  EXPECT_EQ(items[0].outputs, (std::vector{spread, mean}));
}

TEST(Schedule, WhatIsCopiedIsMadeBeforeTheCopy) {
  const LazyOp x = memory({8, 16}), s = exp(x), copy = s.copied();
  const LazyOp z = sum(copy, 0), y = s + x;
  scheduled({z, y});
  scheduled({y, z});
  scheduled({s, z, y});
}

// The groups of a convolution are below RESHAPEs that merge them with their channels. Groups and channels are loops of
// their own, and what follows is computed in them, too.
TEST(Schedule, GroupsBelowReshapesAreLoops) {
  const LazyOp a = memory({4, 1, 16}).expand({4, 8, 16}), b = memory({4, 8, 16}), bias = memory({1, 1, 32});
  const LazyOp reduced = sum(a * b, 2).reshape({4, 8});
  for (const LazyOp& y :
       {reduced.reshape({32}), reduced.reshape({32}).reshape({1, 32}).reshape({1, 1, 32}),
        exp(reduced.reshape({1, 32}).reshape({1, 1, 32}) + bias), reduced.reshape({1, 1, 32}).contiguous()}) {
    const std::vector<ScheduleItem> items = scheduled({y});
    ASSERT_EQ(items.size(), 1U);
    EXPECT_EQ(items[0].ast.src()[0].shape(), (Ints{4, 8})) << items[0].text();
  }
}

TEST(Schedule, SeveralResultsOfOneShapeAreOneKernel) {
  const LazyOp w = memory({100}), g = memory({100}), m = memory({100}), v = memory({100});
  const LazyOp m1 = m + g, v1 = v + g * g, w1 = w - m1 / v1;
  const std::vector<ScheduleItem> items = scheduled({w1, m1, v1});
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].outputs.size(), 3U);
  EXPECT_EQ(items[0].inputs.size(), 4U);
  EXPECT_EQ(kernels({w1, m1, v1}, false), 5U);
}

TEST(Schedule, ResultsOfOtherShapesAreApart) {
  const LazyOp x = memory({4, 8});
  EXPECT_EQ(kernels({exp(x), sum(exp(x), 1)}), 2U);
}

TEST(Schedule, MemoryUnderAnotherNameIsNoKernel) {
  const LazyOp x = memory({4, 8});
  const std::vector<ScheduleItem> items = scheduled({x.reshape({32})});
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].ast.op(), Ops::LOAD);
  EXPECT_TRUE(scheduled({x.permute({1, 0})})[0].is_kernel());
  EXPECT_TRUE(scheduled({x.shrink({{0, 2}, {0, 8}})})[0].is_kernel());
}

TEST(Schedule, PartsAreComputedIntoTheirPlaces) {
  const LazyOp a = memory({2, 3}), b = memory({4});
  const LazyOp all = LazyOp::concatenated(std::vector{exp(a), b + b});
  const std::vector<ScheduleItem> items = scheduled({all + all});
  ASSERT_EQ(items.size(), 3U);
  const auto& place = std::get<BufferArg>(items[1].ast.src(0).arg());
  EXPECT_EQ(place.size, Int(10));
  EXPECT_EQ(place.st.views()[0].offset(), Int(6));
}

TEST(Schedule, OneKernelForAllValuesOfAVariable) {
  const Variable n("n", 1, 100);
  const auto with = [&](std::int64_t value) {
    const LazyOp x = LazyOp::empty(dtypes::float32, {n.bind(value), 4});
    return scheduled({softmax(x, 0)})[0];
  };
  EXPECT_EQ(with(3).ast, with(40).ast);
  ASSERT_EQ(with(40).values.size(), 1U);
  EXPECT_EQ(with(40).values[0].second, 40);
}

TEST(Schedule, IsLinear) {
  LazyOp x = memory({4});
  const LazyOp y = memory({4});
  for (int k = 0; k < 20000; ++k) x = x * y + x;
  EXPECT_GT(kernels({x}), 50U);
}

TEST(Schedule, SaysWhy) {
  const LazyOp x = memory({8, 16});
  const OriginScope scope("softmax", std::source_location::current());
  const std::string text = scheduled({exp(x)})[0].text();
  EXPECT_NE(text.find("a kernel of shape (8, 16): asked (softmax, written at "), std::string::npos) << text;
}

TEST(MemoryPlan, MemoryIsUsedAgain) {
  LazyOp x = memory({64, 64});
  for (int k = 0; k < 6; ++k) x = matmul(x, memory({64, 64}));
  const std::vector<ScheduleItem> items = schedule(std::vector{x});
  ASSERT_EQ(items.size(), 6U);
  const MemoryPlan plan = plan_memory(items, [&](const LazyOp& n) { return n == x; });
  EXPECT_EQ(plan.at.size(), 5U);
  EXPECT_EQ(plan.blocks.size(), 2U);  // a product reads one and writes the other
  EXPECT_EQ(plan.peak, 2 * 64 * 64 * 4);
  EXPECT_EQ(plan.unshared, 5 * 64 * 64 * 4);
}

TEST(MemoryPlan, ACopyKeepsWhatItIsACopyOf) {
  const LazyOp x = memory({8, 8}), y = matmul(x, x), copy = y.copied();
  const LazyOp other = matmul(matmul(x + x, x), x), z = matmul(copy, other);
  const std::vector<ScheduleItem> items = schedule(std::vector{z});
  const MemoryPlan plan = plan_memory(items, [&](const LazyOp& n) { return n == z; });
  EXPECT_FALSE(plan.at.contains(copy.node()));
  ASSERT_TRUE(plan.at.contains(y.node()));
  for (const auto& [node, block] : plan.at)
    EXPECT_TRUE(node == y.node() || block != plan.at.at(y.node())) << "its memory is used again before z reads it";
}

TEST(MemoryPlan, ANameKeepsItsMemory) {
  const LazyOp x = memory({8, 8}), y = exp(x).contiguous(), flat = y.reshape({64}),
               z = sum(exp(flat.reshape({8, 8})), 0);
  const std::vector<ScheduleItem> items = schedule(std::vector{flat, z});
  const MemoryPlan plan = plan_memory(items, [&](const LazyOp& n) { return n == flat || n == z; });
  EXPECT_TRUE(plan.at.empty());
  EXPECT_EQ(plan.alias.size(), 1U);
}

/// The kernels of a product of bytes in int32, for a device with dot products.
std::size_t kernels_of_dots(const LazyOp& a, const LazyOp& b, bool dots = true) {
  FusionOptions options;
  options.dots = dots;
  return schedule(std::vector{matmul(a.cast(dtypes::int32), b.cast(dtypes::int32))}, options).size();
}

// Bytes that a dot product can load are not widened in memory. Others are: what is computed becomes memory as bytes.
/// Attention of one head, with the parts of a softmax as they are written.
LazyOp attention(const LazyOp& q, const LazyOp& k, const LazyOp& v) {
  return matmul(softmax(matmul(q, k.permute({1, 0})), 1), v);
}
FusionOptions with_chains(FusionOptions::Chains chains) {
  FusionOptions out;
  out.chains = chains;
  out.reassociate = true;
  return out;
}

TEST(Schedule, AttentionIsOneKernelInBlocks) {
  const LazyOp q = memory({1024, 64}), k = memory({1024, 64}), v = memory({1024, 32});
  const std::vector<LazyOp> roots = {attention(q, k, v)};
  EXPECT_EQ(schedule(roots).size(), 3U);
  const std::vector<ScheduleItem> items = schedule(roots, with_chains(FusionOptions::Chains::where_it_pays));
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].inputs, (std::vector<LazyOp>{q, k, v}));
  // Scores, exp(scores - max), its sums: the division is behind the product.
  const auto nodes = postorder(items[0].ast);
  EXPECT_EQ(std::count_if(nodes.begin(), nodes.end(), [](const LazyNode* n) { return n->op == Ops::CONTIGUOUS; }), 3);
  const auto divides = [](const LazyNode* n) { return n->op == Ops::DIV && n->shape[1] == Int(1024); };
  EXPECT_EQ(std::count_if(nodes.begin(), nodes.end(), divides), 0);
  // Small scores stay in a cache anyway, and results that are asked for are stored.
  const LazyOp few = memory({64, 64});
  EXPECT_EQ(schedule({{attention(few, few, few)}}, with_chains(FusionOptions::Chains::where_it_pays)).size(), 3U);
  EXPECT_EQ(schedule({{attention(few, few, few)}}, with_chains(FusionOptions::Chains::wherever_possible)).size(), 1U);
  const LazyOp weights = softmax(matmul(q, k.permute({1, 0})), 1);
  const std::vector<LazyOp> both = {weights, matmul(weights, v)};
  EXPECT_EQ(schedule(both, with_chains(FusionOptions::Chains::where_it_pays)).size(), 3U);
  EXPECT_EQ(schedule(both, with_chains(FusionOptions::Chains::wherever_possible)).size(), 2U);
}

LazyOp transposed(const LazyOp& x) { return x.permute({1, 0}); }
std::int64_t blocks_of(const ScheduleItem& item) {
  const auto nodes = postorder(item.ast);
  return std::count_if(nodes.begin(), nodes.end(), [](const LazyNode* n) { return n->op == Ops::CONTIGUOUS; });
}

// The gradients of attention by the queries, keys and values share the weights and the gradient by the scores.
TEST(Schedule, GradientsOfAttentionAreOneKernelInBlocks) {
  const LazyOp q = memory({1024, 64}), k = memory({1024, 64}), v = memory({1024, 32});
  const LazyOp weights = softmax(matmul(q, transposed(k)), 1), y = matmul(weights, v);
  const auto gradients = [&](const LazyOp& dy) {
    const LazyOp by_weights = matmul(dy, transposed(v)), both = weights * by_weights,
                 by_scores = both - weights * like(sum(both, 1), both);
    return std::vector<LazyOp>{matmul(by_scores, k), matmul(transposed(by_scores), q), matmul(transposed(weights), dy)};
  };
  FusionOptions options = with_chains(FusionOptions::Chains::where_it_pays);
  const LazyOp given = memory({1024, 32});
  EXPECT_EQ(schedule(gradients(given)).size(), 8U);
  const std::vector<ScheduleItem> items = schedule(gradients(given), options);
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].outputs.size(), 3U);
  EXPECT_EQ(blocks_of(items[0]), 6);  // scores, their weights (three), and the gradient by the scores (two)

  // Where the gradient by the result needs the result of all rows, the weights are computed twice, and are never
  // memory.
  const LazyOp all = y / like(sum(sum(y * y, 1), 0), y);
  std::vector<LazyOp> roots = gradients(all * given);
  roots.push_back(y);
  const std::vector<ScheduleItem> two = schedule(roots, options);
  EXPECT_EQ(std::count_if(two.begin(), two.end(), [](const ScheduleItem& item) { return blocks_of(item) > 0; }), 2);
  for (const ScheduleItem& item : two)
    for (const LazyOp& output : item.outputs) EXPECT_LT(product(output.shape()).value(), 1024 * 1024) << item.text();

  // What is asked for is memory, and is computed once.
  roots = gradients(given);
  roots.push_back(weights);
  const std::vector<ScheduleItem> asked = schedule(roots, options);
  std::int64_t stored = 0;
  for (const ScheduleItem& item : asked) stored += std::count(item.outputs.begin(), item.outputs.end(), weights);
  EXPECT_EQ(stored, 1);

  // Sums keep their order with DETERMINISTIC.
  options.reassociate = false;
  for (const ScheduleItem& item : schedule(gradients(given), options)) EXPECT_LT(item.outputs.size(), 3U);
}

// A result that a kernel beside the chain reads is memory, and is computed once.
TEST(Schedule, ChainsComputeNothingTwiceInVain) {
  const LazyOp a = memory({1024, 64}), b = memory({64, 1024}), c = memory({1024, 1024});
  const LazyOp x = matmul(a, b), y = softmax(x, 1);
  const std::vector<LazyOp> roots = {matmul(y, c), x.permute({1, 0}).contiguous()};
  for (const auto chains : {FusionOptions::Chains::where_it_pays, FusionOptions::Chains::wherever_possible}) {
    int computed = 0;
    for (const ScheduleItem& item : schedule(roots, with_chains(chains)))
      for (const LazyNode* n : postorder(item.ast))
        computed += n->op == Ops::SUM && n->src[0].shape() == Ints{1024, 1024, 64} ? 1 : 0;
    EXPECT_EQ(computed, 1);
  }
}

// The elements that are equal to their maximum are found among those that it is the maximum of, not among others, which
// another kernel may round otherwise.
TEST(Schedule, ChainsDoNotCompareWithResultsOfOthers) {
  const LazyOp a = memory({512, 64}), b = memory({64, 512});
  const LazyOp x = matmul(a, b), most = largest(x, 1);
  const auto marked = [&](Ops op, const LazyOp& by) {
    const LazyOp zero = LazyOp::constant(Scalar(0.0F), x.shape());
    return matmul(LazyOp::alu(Ops::WHERE, {LazyOp::alu(op, {x, like(by, x)}), x, zero}), memory({512, 64}));
  };
  const LazyOp total = sum(most, 0).expand({512, 1});
  for (const auto chains : {FusionOptions::Chains::where_it_pays, FusionOptions::Chains::wherever_possible})
    for (const Ops op : {Ops::CMPEQ, Ops::CMPLT, Ops::CMPNE}) {
      int computed = 0;
      const std::vector<LazyOp> roots = {most, total, marked(op, most + total)};
      for (const ScheduleItem& item : schedule(roots, with_chains(chains)))
        for (const LazyNode* n : postorder(item.ast))
          computed += n->op == Ops::SUM && n->src[0].shape() == Ints{512, 512, 64} ? 1 : 0;
      EXPECT_EQ(computed, 1);
    }
}

// Items of a chain are where their inputs have been made, and before what reads them.
TEST(Schedule, ChainsOfSeveralEndsAreInOrder) {
  const LazyOp a = memory({512, 32}), b = memory({512, 32});
  const LazyOp x = softmax(matmul(a, transposed(b)), 1);
  const LazyOp rows = matmul(x, b), columns = matmul(transposed(x), a);
  const std::vector<LazyOp> roots = {exp(matmul(transposed(rows), rows)), exp(matmul(transposed(columns), columns))};
  for (const auto chains : {FusionOptions::Chains::where_it_pays, FusionOptions::Chains::wherever_possible})
    expect_order(schedule(roots, with_chains(chains)));
}

TEST(Schedule, ChainsThatReadMoreThanTheySaveStayApart) {
  // The second product reads a matrix that is much larger than a block of the first one's results.
  const LazyOp x = memory({2048, 512}), up = memory({512, 2048}), down = memory({2048, 512});
  const std::vector<LazyOp> roots = {matmul(exp(matmul(x, up)), down)};
  EXPECT_EQ(schedule(roots, with_chains(FusionOptions::Chains::where_it_pays)).size(), schedule(roots).size());
}

TEST(Schedule, ChainsOfOtherValuesOfAVariableStayApart) {
  const Variable n("n", 1, 64);
  const auto rows = [&](const LazyOp& x, std::int64_t count) {
    return x.shrink({{0, Int(Expr(n.bind(count)))}, {0, 16}});
  };
  const LazyOp q = memory({64, 16}), k = memory({64, 16}), v = memory({64, 16});
  const auto attend = [&](const LazyOp& of, std::int64_t count) {
    const LazyOp keys = rows(k, count), values = rows(v, count);
    return attention(of, keys, values);
  };
  EXPECT_EQ(schedule(std::vector{attend(q, 50)}, with_chains(FusionOptions::Chains::wherever_possible)).size(), 1U);
  EXPECT_GE(
      schedule(std::vector{attend(attend(q, 50), 40)}, with_chains(FusionOptions::Chains::wherever_possible)).size(),
      2U);
}

TEST(Schedule, ADivisionStaysWhereItIsNotThatOfASoftmax) {
  const auto divisions = [](const LazyOp& root) {
    const auto items = schedule(std::vector{root}, with_chains(FusionOptions::Chains::wherever_possible));
    const auto nodes = postorder(items.back().ast);
    return std::count_if(nodes.begin(), nodes.end(),
                         [](const LazyNode* n) { return n->op == Ops::DIV && n->shape[1] == Int(24); });
  };
  const LazyOp x = memory({16, 24}), v = memory({24, 8}), a = matmul(x, memory({24, 24}));
  EXPECT_EQ(divisions(matmul(softmax(a, 1), v)), 0);
  const LazyOp e = exp(a);  // no maximum is subtracted: e is not in [0, 1]
  EXPECT_EQ(divisions(matmul(e / like(sum(e, 1), e), v)), 1);
  // Rows of the weights that are added up with others: 12 rows of (7, 9) as rows of 63.
  const LazyOp merged = softmax(memory({12, 7, 9}), 2).reshape({12, 63});
  const auto items =
      schedule(std::vector{matmul(merged, memory({63, 5}))}, with_chains(FusionOptions::Chains::wherever_possible));
  const auto all = postorder(items.back().ast);
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const LazyNode* n) {
    return n->op == Ops::DIV && n->shape.back() == Int(9);
  })) << items.back().ast.text();
  const LazyOp other = exp(a - like(largest(a, 1), a));
  EXPECT_EQ(divisions(matmul(other / like(sum(a, 1), a), v)), 1);  // another sum
}

TEST(Schedule, BytesOfDotProductsStayBytes) {
  const auto bytes = [](const Ints& shape) { return LazyOp::empty(dtypes::int8, shape); };
  const LazyOp a = bytes({64, 64}), b = bytes({64, 64});
  EXPECT_EQ(kernels_of_dots(a, b, false), 3U);
  EXPECT_EQ(kernels_of_dots(a, b), 1U);
  EXPECT_EQ(kernels_of_dots(a.permute({1, 0}), b.flip({0})), 1U);
  EXPECT_EQ(kernels_of_dots(bytes({128, 64}).shrink({{3, 67}, {0, 64}}), b), 1U);
  EXPECT_EQ(kernels_of_dots(LazyOp::alu(Ops::NEG, {a}), b), 2U);                                   // -a as bytes
  EXPECT_EQ(kernels_of_dots(a, a.permute({1, 0})), kernels_of_dots(a, a.permute({1, 0}), false));  // one buffer
  const LazyOp padded = bytes({60, 64}).pad({{2, 2}, {0, 0}});
  EXPECT_EQ(kernels_of_dots(padded, b), 3U);
  const LazyOp index = LazyOp::empty(dtypes::int32, {64, 64});
  const LazyOp gathered = LazyOp::gather(a.reshape({64, 1, 64}).expand({64, 64, 64}), index);
  EXPECT_EQ(kernels_of_dots(gathered, b), 3U);
  EXPECT_EQ(kernels_of_dots(bytes({64, 16}), bytes({16, 64})), 3U);  // too short
}

TEST(Schedule, Bf16OfDotProductsStaysBf16) {
  const auto kernels = [](const LazyOp& a, const LazyOp& b, bool dots) {
    FusionOptions options;
    options.bf16_dots = dots;
    return schedule(std::vector{matmul(a.cast(dtypes::float32), b.cast(dtypes::float32))}, options).size();
  };
  const LazyOp a = LazyOp::empty(dtypes::bfloat16, {64, 64}), b = LazyOp::empty(dtypes::bfloat16, {64, 64});
  EXPECT_EQ(kernels(a, b, false), 3U);
  EXPECT_EQ(kernels(a, b, true), 1U);
  EXPECT_EQ(kernels(LazyOp::empty(dtypes::float16, {64, 64}), b, true), 3U);
  // No words are made along an axis that a factor does not have.
  const auto factor = [](const Ints& shape) {
    return LazyOp::empty(dtypes::bfloat16, shape).cast(dtypes::float32).expand({64, 64, 64, 3});
  };
  FusionOptions options;
  options.bf16_dots = true;
  const LazyOp products = factor({64, 1, 64, 3}) * factor({1, 64, 64, 1});
  EXPECT_EQ(schedule(std::vector{LazyOp::reduce(Ops::SUM, products, {2, 3})}, options).size(), 3U);
  EXPECT_EQ(kernels_of_dots(LazyOp::empty(dtypes::int8, {64, 64}), LazyOp::empty(dtypes::int8, {64, 64})), 1U);
}

}  // namespace
}  // namespace strata::test
