// SCATTERs: lists and devices against the interpreter, to the bit; the Opts that they refuse.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "strata/codegen/axes.h"
#include "tests/base/errors.h"
#include "tests/codegen/exact_kernels.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

using kernels::input, kernels::kernel, kernels::output;
using oracle::check_exactly;

constexpr std::array kOps = {Ops::SUM, Ops::PROD, Ops::REDUCE_MAX, Ops::REDUCE_MIN, Ops::NOOP};

/// A target of `shape` in buffer 1, indices in 2 and values in 3, `count` of them along the axis.
LazyOp scattered(Ops op, const Ints& shape, std::int64_t axis, const Int& count, DType dtype,
                 DType places = dtypes::int64) {
  Ints of_values = shape;
  of_values[static_cast<std::size_t>(axis)] = count;
  return kernel(
      LazyOp::scatter(op, input(1, shape, dtype), input(2, of_values, places), input(3, of_values, dtype), axis));
}

TEST(Scatter, EachDtypeAndOp) {
  std::uint64_t seed = 0;
  for (const DType dtype : {dtypes::float32, dtypes::float64, dtypes::int8, dtypes::uint16, dtypes::int32,
                            dtypes::int64, dtypes::uint64, dtypes::boolean})
    for (const Ops op : kOps) {
      check_exactly(scattered(op, {13}, 0, 50, dtype), {}, {}, ++seed, true);
      check_exactly(scattered(op, {3, 21}, 1, 30, dtype), {}, {}, ++seed, true);
      check_exactly(scattered(op, {21, 3}, 0, 30, dtype), {}, {}, ++seed, true);
    }
  for (const DType dtype : {dtypes::float16, dtypes::bfloat16})
    for (const Ops op : {Ops::REDUCE_MAX, Ops::NOOP})
      check_exactly(scattered(op, {13, 2}, 0, 50, dtype), {}, {}, ++seed, true);
  for (const DType places : {dtypes::int8, dtypes::uint8, dtypes::int32, dtypes::uint64})
    check_exactly(scattered(Ops::SUM, {17}, 0, 60, dtypes::float32, places), {}, {}, ++seed, true);
}

TEST(Scatter, Sizes) {
  std::uint64_t seed = 100;
  for (const std::int64_t n : {0, 1, 2, 40})
    for (const std::int64_t count : {0, 1, 2, 33})
      for (const std::int64_t rows : {0, 1, 5, 9}) {
        check_exactly(scattered(Ops::SUM, {rows, n}, 1, count, dtypes::float32), {}, {}, ++seed, count == 33);
        check_exactly(scattered(Ops::NOOP, {n, rows}, 0, count, dtypes::float32), {}, {}, ++seed, false);
      }
  const Variable k("k", 0, 90), r("r", 1, 9);
  for (const std::int64_t length : {0, 1, 50})
    check_exactly(scattered(Ops::SUM, {r, 7}, 1, k, dtypes::float32), {{"k", length}, {"r", 4}}, {},
                  200 + static_cast<std::uint64_t>(length), true);
}

/// Indices that rows share, or that are the same for all values; operands that are computed.
TEST(Scatter, OperandsAreExpressions) {
  const Ints values = {30, 40};
  const LazyOp shared = input(2, {30, 1}, dtypes::int64).expand(values);
  const LazyOp target = LazyOp::constant(Scalar(0.0F), Ints{11, 40}), v = input(3, values);
  check_exactly(kernel(LazyOp::scatter(Ops::SUM, target, shared, v * v, 0)), {}, {}, 300, true);
  const LazyOp one = LazyOp::constant(Scalar(std::int64_t{4}), values);
  check_exactly(kernel(LazyOp::scatter(Ops::SUM, target, one, v, 0)), {}, {}, 301, true);
  const LazyOp same = input(2, {1, 1}, dtypes::int64).expand(values);
  check_exactly(kernel(LazyOp::scatter(Ops::SUM, target, same, v, 0)), {}, {}, 302, true);
  const LazyOp counted = LazyOp::iota(dtypes::int32, kernels::plain({30, 40}));
  const LazyOp modulo = LazyOp::alu(Ops::MOD, {counted, LazyOp::constant(Scalar::of(dtypes::int32, 13.0), values)});
  check_exactly(kernel(LazyOp::scatter(Ops::PROD, target + input(1, {11, 40}), modulo, v, 0)), {}, {}, 303, true);
  const LazyOp both = input(1, {11, 40});
  check_exactly(LazyOp::sink({output(LazyOp::scatter(Ops::SUM, both, shared, v, 0)), output(both * both, 4)}), {}, {},
                304, true);
}

TEST(Scatter, OptsThatKeepTheOrder) {
  std::uint64_t seed = 400;
  for (const char* opts : {"", "LANES 1 8", "UPCAST 0 2", "UPCAST 0 6", "PARALLEL 0", "CUT 1 3", "PADTO 1 8",
                           "SPLIT 0 2", "REORDER 1 0", "SPLIT 0 3, PARALLEL 0, LANES 1 4", "PADTO 0 4, UPCAST 0 4"})
    for (const Ops op : {Ops::SUM, Ops::NOOP})
      check_exactly(scattered(op, {6, 53}, 1, 30, dtypes::float32), {}, parse_opts(opts), ++seed, true);
  const LazyOp shared = input(2, {30, 1}, dtypes::int64).expand({30, 40});
  const LazyOp rows = kernel(LazyOp::scatter(Ops::SUM, input(1, {11, 40}), shared, input(3, {30, 40}), 0));
  for (const char* opts : {"LANES 1 16", "LANES 1 8, UPCAST 1 2", "REORDER 1 0, PARALLEL 1", "UPCAST 0 2"})
    check_exactly(rows, {}, parse_opts(opts), ++seed, true);
}

TEST(Scatter, RefusesWhatWouldChangeTheOrder) {
  const LazyOp ast = scattered(Ops::SUM, {6, 53, 2}, 1, 30, dtypes::float32);
  const auto refusal = [&](const char* opt) {
    KernelAxes axes(ast);
    return complaint([&] { axes.apply(parse_opts(opt)); });
  };
  for (const char* opt : {"UPCAST 3 2", "LANES 3 8", "SPLIT 3 2", "UNROLL 3 2", "CUT 3 4", "PADTO 3 8"})
    EXPECT_NE(refusal(opt).find("the axis of a SCATTER's values is one loop"), std::string::npos) << opt;
  EXPECT_NE(refusal("REORDER 1 0 2, PARALLEL 1").find("an element of any part"), std::string::npos);
  EXPECT_NE(refusal("MERGE 0").find("is merged with none"), std::string::npos);
  EXPECT_NE(refusal("MERGE 1").find("is merged with none"), std::string::npos);
  EXPECT_NE(refusal("STAGE 0 3").find("no buffer of a SCATTER is staged"), std::string::npos);
  const auto lowered = [&](const LazyOp& kernel, const char* opts) {
    return complaint([&] { compile_kernel(kernel, Target(), parse_opts(opts)); });
  };
  EXPECT_NE(lowered(ast, "LANES 2 2").find("lanes along an axis on which the indices depend"), std::string::npos);
  EXPECT_NE(complaint([&] {
              compile_kernel(kernel(ast.src(0).src(0) + input(5, {6, 53, 2})), Target());
            }).find("is what a store stores"),
            std::string::npos);
}

TEST(Scatter, RefusesOperands) {
  const LazyOp x = input(1, {4, 6}), i = input(2, {4, 9}, dtypes::int32), v = input(3, {4, 9});
  const auto refusal = [](Ops op, const LazyOp& to, const LazyOp& index, const LazyOp& values, std::int64_t axis) {
    return complaint([&] { LazyOp::scatter(op, to, index, values, axis); });
  };
  EXPECT_EQ(refusal(Ops::SUM, x, i, v, 1), "");
  EXPECT_NE(refusal(Ops::SUM, x, i, v, 0).find("indices of shape (4, 9)"), std::string::npos);
  EXPECT_NE(refusal(Ops::SUM, x, i, v, 2).find("axis 2 is outside"), std::string::npos);
  EXPECT_NE(refusal(Ops::ADD, x, i, v, 1).find("is not a reduction"), std::string::npos);
  EXPECT_NE(refusal(Ops::SUM, x, v, v, 1).find("indices are integers"), std::string::npos);
  EXPECT_NE(refusal(Ops::SUM, x, i, i, 1).find("values of dtype i32"), std::string::npos);
  const LazyOp h = input(1, {4, 6}, dtypes::float16);
  EXPECT_NE(refusal(Ops::SUM, h, i, input(3, {4, 9}, dtypes::float16), 1).find("cast to f32"), std::string::npos);
  const Variable n("n", 1, 9);
  EXPECT_NE(refusal(Ops::SUM, input(1, {4, n}), i, v, 1).find("is symbolic"), std::string::npos);
}

TEST(Scatter, TheWorkIsLinear) {
  const auto steps = [](std::int64_t n) {
    const LazyOp ast = scattered(Ops::SUM, {n}, 0, n, dtypes::float32);
    return static_cast<double>(oracle::steps_of(compile_kernel(ast, Target()).uops, oracle::memory_for(ast, {}, 1)));
  };
  EXPECT_NEAR(steps(4000) / steps(2000), 2, 0.02);
}

}  // namespace
}  // namespace strata
