// Loops: the memory of results, sources that are read where they are, and what a step runs.

#include "strata/engine/loop_program.h"

#include <gtest/gtest.h>

#include <vector>

#include "strata/engine/buffer_storage.h"
#include "strata/engine/realize.h"
#include "strata/graph/step_graph.h"
#include "strata/ops/loop.h"

namespace strata::test {
namespace {

const Device& loop_device() { return Device::get("INTERP"); }

LazyOp floats(const std::vector<float>& values, const Ints& shape) { return leaf_of(Buffer::fromCPU(values), shape); }
std::vector<float> computed_values(const LazyOp& n) {
  const LazyOp own = n.contiguous();
  realize(own, loop_device());
  const auto all = buffer_of(own).as<float>();
  return {all.begin(), all.end()};
}

/// A state and a sequence of shape (2,): the next state is state + element, and the output is `output` of both.
template <class F>
ops::Loop summing(const LazyOp& initial, const LazyOp& sequence, const F& output, bool reversed = false) {
  StepGraph step;
  step.inputs = {placeholder(dtypes::float32, {2}), placeholder(dtypes::float32, {2})};
  step.states = step.sequences = 1;
  const LazyOp next = step.inputs[0] + step.inputs[1];
  step.results = {next, output(step.inputs[0], step.inputs[1], next)};
  step.count = sequence.shape()[0];
  step.is_reversed = reversed;
  return ops::make_loop(std::move(step), {initial, sequence}, {}, false);
}
LoopPlan plan_of(const ops::Loop& loop) {
  const LazyOp node = LazyOp::loop(loop.step, loop.sources, dtypes::float32);
  const CompiledLoop compiled = compile_loop({&node, 1}, loop_device());
  return dynamic_cast<const LoopProgram&>(compiled.kernel->program()).plan();
}

const LazyOp kSix = floats({1, 2, 3, 4, 5, 6}, {3, 2}), kZero = floats({0, 0}, {2});

TEST(Loop, ABundleHasStatesInFrontAndThenRows) {
  StepGraph step;
  const LazyOp s = placeholder(dtypes::float32, {3}), t = placeholder(dtypes::int64, {});
  step.inputs = {s, t};
  step.states = 2;
  step.results = {s, t, s.reshape({3, 1}), s.cast(dtypes::float64), s.shrink({{0, 2}})};
  step.wanted = 5, step.count = 4;
  const Bundle of_floats = bundle_of(step, dtypes::float32), of_integers = bundle_of(step, dtypes::int64);
  ASSERT_EQ(of_floats.parts.size(), 3U);
  EXPECT_EQ(of_floats.parts[0].offset, Int(0));
  EXPECT_EQ(of_floats.rows, Int(16));  // 64 bytes
  EXPECT_EQ(of_floats.row, Int(5));
  EXPECT_EQ(of_floats.parts[2].offset, Int(19));
  EXPECT_EQ(of_floats.parts[2].stride, Int(5));
  EXPECT_EQ(of_floats.size, Int(16 + 4 * 5));
  EXPECT_EQ(of_integers.size, Int(8));
  EXPECT_EQ(bundle_of(step, dtypes::float64).size, Int(12));
  step.condition = s.shrink({{0, 1}}).reshape({});
  EXPECT_EQ(bundle_of(step, dtypes::int64).parts[0].offset, Int(8));  // behind the number of steps
}

TEST(Loop, AStateThatIsAnOutputIsWrittenOnce) {
  const auto next_state = [](const LazyOp&, const LazyOp&, const LazyOp& next) { return next; };
  const ops::Loop loop = summing(kZero, kSix, next_state);
  const LoopPlan plan = plan_of(loop);
  EXPECT_EQ(plan.launches.size(), 1U);
  EXPECT_TRUE(plan.copies.empty());
  EXPECT_TRUE(plan.states[0].buffers.empty());  // a step reads the row that the step before it wrote
  EXPECT_EQ(computed_values(loop.result(1)), (std::vector<float>{1, 2, 4, 6, 9, 12}));
  EXPECT_EQ(computed_values(loop.result(0)), (std::vector<float>{9, 12}));
}

TEST(Loop, OtherStatesHaveTwoBuffers) {
  const auto product = [](const LazyOp& s, const LazyOp& x, const LazyOp&) { return s * x; };
  for (const bool reversed : {false, true}) {
    const ops::Loop loop = summing(kZero, kSix, product, reversed);
    const LoopPlan plan = plan_of(loop);
    EXPECT_EQ(plan.states[0].buffers.size(), 2U);
    EXPECT_TRUE(plan.copies.empty());
    EXPECT_EQ(computed_values(loop.result(0)), (std::vector<float>{9, 12}));
    EXPECT_EQ(computed_values(loop.result(1)),
              reversed ? (std::vector<float>{8, 20, 15, 24, 0, 0}) : (std::vector<float>{0, 0, 3, 8, 20, 36}));
  }
}

TEST(Loop, WhatNoKernelComputesIsCopied) {
  const auto before = [](const LazyOp& s, const LazyOp&, const LazyOp&) { return s; };
  const ops::Loop loop = summing(kZero, kSix, before);
  EXPECT_EQ(plan_of(loop).copies.size(), 1U);
  EXPECT_EQ(computed_values(loop.result(1)), (std::vector<float>{0, 0, 1, 2, 4, 6}));
}

TEST(Loop, SourcesAreReadWhereTheyAre) {
  const auto is_memory = [](const LazyOp& source, std::int64_t offset, std::int64_t stride) {
    const LoopSource s = loop_source(source, true);
    return s.memory == kSix && s.offset == Int(offset) && s.stride == Int(stride);
  };
  EXPECT_TRUE(is_memory(kSix, 0, 2));
  EXPECT_TRUE(is_memory(kSix.shrink({{1, 3}, {0, 2}}), 2, 2));
  EXPECT_TRUE(is_memory(kSix.flip({0}), 4, -2));
  EXPECT_TRUE(is_memory(kSix.stride({2, 1}), 0, 4));
  EXPECT_TRUE(is_memory(kSix.shrink({{0, 3}, {1, 2}}), 1, 2));
  EXPECT_TRUE(is_memory(kSix.reshape({3, 1, 2}), 0, 2));
  EXPECT_TRUE(is_memory(kZero.reshape({1, 2}).expand({5, 2}), 0, 0) ||
              loop_source(kZero.reshape({1, 2}).expand({5, 2}), true).memory == kZero);
  for (const LazyOp& copied : {kSix.permute({1, 0}), kSix.flip({1}), kSix.pad({{1, 0}, {0, 0}}), kSix + kSix})
    EXPECT_EQ(loop_source(copied, true).memory, copied);
  EXPECT_EQ(loop_source(kSix.shrink({{0, 0}, {0, 2}}), true).offset, Int(0));
  const ops::Loop loop =
      summing(kZero, kSix.flip({0}), [](const LazyOp& s, const LazyOp&, const LazyOp&) { return s; });
  EXPECT_EQ(computed_values(loop.result(1)), (std::vector<float>{0, 0, 5, 6, 8, 10}));
}

TEST(Loop, WhatDoesNotDependOnAStepStandsInFront) {
  const LazyOp w = floats({3, 4}, {2}), product = w * w;
  StepGraph step;
  step.inputs = {placeholder(dtypes::float32, {2})};
  step.states = 1;
  step.results = {step.inputs[0] + product.flip({0})};
  step.count = 3;
  const ops::Loop loop = ops::make_loop(std::move(step), {kZero}, {}, false);
  ASSERT_EQ(loop.sources.size(), 2U);
  EXPECT_EQ(loop.sources[1], product);  // without the flip, which costs nothing in the step
  EXPECT_EQ(computed_values(loop.result(0)), (std::vector<float>{48, 27}));
}

TEST(Loop, APlaceholderHasNoElements) {
  const LazyOp p = placeholder(dtypes::float32, {2});
  try {
    realize(p + p, loop_device());
    FAIL() << "a placeholder was computed with";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("only when the loop runs"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace strata::test
