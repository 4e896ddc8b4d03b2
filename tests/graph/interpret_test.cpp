// The oracle, against what is written out by hand.
#include "strata/graph/interpret.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/codegen/kernels.h"
#include "tests/ir/lists.h"

namespace strata {
namespace {

using namespace kernels;

/// What `value` is where data1 holds 1, 2, 3, ...
std::vector<float> result(const LazyOp& value, std::size_t inputs = 16, NamedValues values = {}) {
  std::int64_t n = 1;
  for (const Int& size : value.shape()) n *= size.is_number() ? size.value() : values[0].second;
  std::vector<float> out(static_cast<std::size_t>(n), -1), in(inputs);
  std::iota(in.begin(), in.end(), 1.0F);
  const Memory buffers[] = {memory(out), memory(in)};
  interpret(kernel(value), buffers, values);
  return out;
}
using Floats = std::vector<float>;

TEST(InterpretKernel, Elements) {
  const LazyOp x = input(1, {4});
  EXPECT_EQ(result(x + x), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(result(LazyOp::alu(Ops::WHERE,
                               {LazyOp::alu(Ops::CMPLT, {x, LazyOp::constant(Scalar(3.0F), Ints{4})}), x, x * x})),
            (Floats{1, 2, 9, 16}));
  EXPECT_EQ(result(x.cast(dtypes::int8).cast(dtypes::float32) / x), (Floats{1, 1, 1, 1}));
}

TEST(InterpretKernel, Movement) {
  const LazyOp x = input(1, {2, 3});
  EXPECT_EQ(result(x.permute({1, 0})), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(result(x.flip({1})), (Floats{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(result(x.pad({{0, 1}, {1, 0}})), (Floats{0, 1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0}));
  EXPECT_EQ(result(x.shrink({{1, 2}, {0, 2}})), (Floats{4, 5}));
  EXPECT_EQ(result(x.stride({1, 2})), (Floats{1, 3, 4, 6}));
  EXPECT_EQ(result(x.permute({1, 0}).reshape({2, 3})), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(result(input(1, {2, 1}).expand({2, 2})), (Floats{1, 1, 2, 2}));
}

TEST(InterpretKernel, GatherGivesZeroOutside) {
  const LazyOp table = input(1, {2, 3});
  const LazyOp index = LazyOp::iota(dtypes::int8, ShapeTracker({View::create({2}, Ints{2})}));
  EXPECT_EQ(result(LazyOp::gather(table, index)), (Floats{1, 6}));  // [0][0], [1][2]
  const LazyOp below = index - LazyOp::constant(Scalar::of(dtypes::int8, std::int64_t{1}), Ints{2});
  EXPECT_EQ(result(LazyOp::gather(table, below)), (Floats{0, 5}));
  const LazyOp beyond = index + LazyOp::constant(Scalar::of(dtypes::int8, std::int64_t{1}), Ints{2});
  EXPECT_EQ(result(LazyOp::gather(table, beyond)), (Floats{2, 0}));
  EXPECT_EQ(result(LazyOp::gather(table, below.cast(dtypes::uint64))), (Floats{0, 5}));
  EXPECT_EQ(result(LazyOp::gather(input(1, {2, 0}), index)), (Floats{0, 0}));
}

// A table that is seen by each row of many is not made as often.
TEST(InterpretKernel, GatherLooksThroughMovement) {
  const std::int64_t rows = std::int64_t{1} << 16;
  const LazyOp table = input(1, {4, 4}).permute({1, 0}).flip({0}).reshape({1, 16}).pad({{0, 0}, {0, rows}});
  const LazyOp index = LazyOp::iota(dtypes::int64, ShapeTracker::from_shape({rows}));
  const Floats out = result(LazyOp::gather(table.expand({rows, 16 + rows}), index));
  EXPECT_EQ(out[0], 4);
  EXPECT_EQ(out[1], 8);
  EXPECT_EQ(out[4], 3);
  EXPECT_EQ(out[15], 13);
  EXPECT_EQ(out[16], 0);
}

TEST(InterpretKernel, GatherTakesWhatFits) {
  const LazyOp table = input(1, {2, 3}), index = LazyOp::iota(dtypes::int32, plain({3}));
  EXPECT_TRUE(has(complaint([&] { LazyOp::gather(table, index); }),
                  "[gather] values of shape (2, 3) for indices of shape (3,)"));
  EXPECT_TRUE(has(complaint([&] { LazyOp::gather(table, input(1, {2})); }), "[gather] indices are integers, not f32"));
  const Variable n("n", 1, 9);
  EXPECT_TRUE(
      has(complaint([&] { LazyOp::gather(input(1, {3, n}), index); }), "[gather] the size of the axis is symbolic: n"));
}

TEST(InterpretKernel, Reductions) {
  const LazyOp x = input(1, {2, 3});
  const auto over = [&](Ops op, const Axes& axes) { return result(LazyOp::reduce(op, x, axes)); };
  EXPECT_EQ(over(Ops::SUM, {1}), (Floats{6, 15}));
  EXPECT_EQ(over(Ops::SUM, {0}), (Floats{5, 7, 9}));
  EXPECT_EQ(over(Ops::SUM, {0, 1}), (Floats{21}));
  EXPECT_EQ(over(Ops::PROD, {1}), (Floats{6, 120}));
  EXPECT_EQ(over(Ops::REDUCE_MAX, {1}), (Floats{3, 6}));
  EXPECT_EQ(over(Ops::REDUCE_MIN, {0}), (Floats{1, 2, 3}));
}

TEST(InterpretKernel, ReductionsOfNothingAreTheIdentity) {
  const LazyOp x = input(1, {2, 0});
  EXPECT_EQ(result(LazyOp::reduce(Ops::SUM, x, {1})), (Floats{0, 0}));
  EXPECT_EQ(result(LazyOp::reduce(Ops::PROD, x, {1})), (Floats{1, 1}));
  EXPECT_TRUE(std::isinf(result(LazyOp::reduce(Ops::REDUCE_MAX, x, {1}))[0]));
}

TEST(InterpretKernel, IotaAndMaskedConstants) {
  EXPECT_EQ(result(LazyOp::iota(dtypes::float32, plain({3}).flip({0}))), (Floats{2, 1, 0}));
  EXPECT_EQ(result(LazyOp::iota(dtypes::float32, plain({2}).pad({{1, 1}}))), (Floats{0, 0, 1, 0}));
  EXPECT_EQ(result(LazyOp::constant(Scalar(7.0F), plain({2}).pad({{1, 0}}))), (Floats{0, 7, 7}));
}

// Sums in f32: 2^24 swallows a one that comes after it, and not those that are added up before.
TEST(InterpretKernel, SumsAreInTheOrderThatIsDefined) {
  std::vector<float> out(1), in = {16777216, 1, 1, -16777216};
  const Memory buffers[] = {memory(out), memory(in)};
  interpret(kernel(LazyOp::reduce(Ops::SUM, input(1, {4}), {0})), buffers);
  EXPECT_EQ(out[0], 0);  // one after another
  interpret(kernel(LazyOp::reduce(Ops::SUM, input(1, {2, 2}), {0, 1})), buffers);
  EXPECT_EQ(out[0], 1);  // (2^24 + 1) + (1 - 2^24)
  std::vector<float> many(32, 1), total(1);
  many[0] = 16777216;
  const Memory lanes[] = {memory(total), memory(many)};
  interpret(kernel(LazyOp::reduce(Ops::SUM, input(1, {32}), {0})), lanes);
  EXPECT_EQ(total[0], 16777216 + 30);  // of 31 ones that in the lane of 2^24 is lost
}

TEST(InterpretKernel, SumsOf16BitFloatsAreRoundedOnce) {
  const auto total = [](DType dtype, std::int64_t n) {
    std::vector<std::uint16_t> out(1), in;
    for (std::int64_t k = 0; k < n; ++k) in.push_back(static_cast<std::uint16_t>(Scalar::of(dtype, 1.0).bits()));
    const Memory buffers[] = {{out.data(), 1}, {in.data(), n}};
    interpret(kernel(LazyOp::reduce(Ops::SUM, input(1, {n}, dtype), {0})), buffers);
    return Scalar::from_bits(dtype, out[0]).as_double();
  };
  EXPECT_EQ(total(dtypes::bfloat16, 4096), 4096);
  EXPECT_EQ(total(dtypes::bfloat16, 50000), 49920);  // the nearest to 50000
  EXPECT_EQ(total(dtypes::float16, 4001), 4000);
}

TEST(InterpretKernel, StoresThroughViewsLeaveTheRest) {
  std::vector<float> out(8, -1), in = {1, 2, 3, 4};
  const Memory buffers[] = {memory(out), memory(in)};
  const ShapeTracker every_other = plain({8}).stride({2});
  interpret(LazyOp::sink({LazyOp::store(0, every_other, input(1, {4}))}), buffers);
  EXPECT_EQ(out, (Floats{1, -1, 2, -1, 3, -1, 4, -1}));
  const ShapeTracker masked = plain({2}).pad({{1, 1}});
  interpret(LazyOp::sink({LazyOp::store(0, masked, input(1, {4}))}), buffers);
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[1], 3);
  EXPECT_EQ(out[2], 2);
}

TEST(InterpretKernel, LoadsSeeMemoryAsItWas) {
  std::vector<float> a = {1, 2, 3, 4}, b = {5, 6, 7, 8};
  const Memory buffers[] = {memory(a), memory(b)};
  const ShapeTracker st = plain({4});
  const LazyOp x = LazyOp::load(0, dtypes::float32, st), y = LazyOp::load(1, dtypes::float32, st);
  interpret(LazyOp::sink({LazyOp::store(0, st, y.flip({0})), LazyOp::store(1, st, x)}), buffers);
  EXPECT_EQ(a, (Floats{8, 7, 6, 5}));
  EXPECT_EQ(b, (Floats{1, 2, 3, 4}));
}

TEST(InterpretKernel, Symbolic) {
  const Variable n("n", 1, 8);
  const std::pair<std::string, std::int64_t> three[] = {{"n", 3}};
  EXPECT_EQ(result(input(1, {n}) + input(1, {n}), 8, three), (Floats{2, 4, 6}));
  const LazyOp total = LazyOp::reduce(Ops::SUM, input(1, {n}), {0}).expand({n});
  EXPECT_EQ(result(total, 8, three), (Floats{6, 6, 6}));
  const std::pair<std::string, std::int64_t> nine[] = {{"n", 9}};
  EXPECT_TRUE(has(complaint([&] { result(input(1, {n}), 16, nine); }), "n = 9 is outside of its bounds [1, 8]"));
  const std::pair<std::string, std::int64_t> other[] = {{"m", 3}};
  EXPECT_TRUE(has(complaint([&] { result(input(1, {n}), 16, other); }), "the variable n has no value"));
}

TEST(InterpretKernel, Refusals) {
  std::vector<float> out(4), in(3);
  const Memory buffers[] = {memory(out), memory(in)};
  const LazyOp k = kernel(input(1, {4}));
  EXPECT_TRUE(has(complaint([&] { interpret(k, buffers); }), "index (3,) is element 3 of buffer 1, which has 3"));
  EXPECT_TRUE(has(complaint([&] { interpret(k, {buffers, 1}); }), "there is no buffer 1"));
  EXPECT_TRUE(has(complaint([&] { interpret(input(1, {4}), buffers); }), "is not a kernel: a SINK is"));
  const LazyOp huge = LazyOp::constant(Scalar(1.0F), Ints{1}).reshape({1}).expand({std::int64_t{1} << 40});
  EXPECT_TRUE(has(complaint([&] { interpret(kernel(huge), buffers); }), "is too large"));
}

}  // namespace
}  // namespace strata
