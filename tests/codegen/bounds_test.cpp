// The proof that a kernel stays inside of its buffers.
#include "strata/codegen/bounds.h"

#include <gtest/gtest.h>

#include "strata/codegen/kernel.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

using namespace kernels;

BoundsProof proof(const LazyOp& kernel, std::string_view opts = "") {
  KernelAxes axes(kernel);
  axes.apply(parse_opts(opts));
  return prove_bounds(lower(kernel, axes, {}));
}
std::string bounds_refusal(const LazyOp& kernel, std::string_view opts = "") {
  return complaint([&] { proof(kernel, opts); });
}

TEST(Bounds, AllAccessesOfAPlainKernelAreInside) {
  const BoundsProof p = proof(added({4, 3}));
  EXPECT_EQ(p.accesses, 3U);
  EXPECT_EQ(p.by_bounds, 3U);
  EXPECT_EQ(p.by_algebra, 0U);
  EXPECT_TRUE(has(p.text(), "3 accesses proven: 3 by their bounds, 0 by algebra")) << p.text();
}

TEST(Bounds, ALoadOutsideIsRefusedWithAWitness) {
  const LazyOp x = LazyOp::load(1, dtypes::float32, plain({4, 3}), 11);
  const std::string text = bounds_refusal(kernel(x));
  EXPECT_TRUE(has(text, "[bounds] a load of buffer 1 with 11 elements")) << text;
  EXPECT_TRUE(has(text, "goes outside: ridx0 = 3, ridx1 = 2")) << text;
  EXPECT_EQ(bounds_refusal(kernel(LazyOp::load(1, dtypes::float32, plain({4, 3}), 12))), "");
}

TEST(Bounds, AStoreOutsideIsRefused) {
  const LazyOp store = LazyOp::store(0, plain({5}), input(1, {5}), 4);
  const std::string text = bounds_refusal(LazyOp::sink({store}));
  EXPECT_TRUE(has(text, "a store to buffer 0 with 4 elements")) << text;
  EXPECT_TRUE(has(text, "ridx0 = 4")) << text;
  EXPECT_NE(bounds_refusal(LazyOp::sink({store}), "LANES 0 4"), "");
}

TEST(Bounds, AddressesBelowZeroAreRefused) {
  const ShapeTracker below({View::create({4}, Ints{1}, -1)});
  EXPECT_TRUE(has(bounds_refusal(kernel(LazyOp::load(1, dtypes::float32, below, 8))), "ridx0 = 0"));
}

TEST(Bounds, AnAccessWithoutLoopsIsOutsideEverywhere) {
  const LazyOp store = LazyOp::store(0, plain({1}), LazyOp::constant(Scalar(1.0F), Ints{1}), 0);
  EXPECT_TRUE(has(bounds_refusal(LazyOp::sink({store})), "goes outside: everywhere"));
}

// Counters of one size many times over: more values than a table holds.
TEST(Bounds, ProductsOfOneSize) {
  const Expr n = Variable("n", 1, 1000);
  const auto cube = [&](std::size_t rank) { return input(1, Ints(rank, Int(n))); };
  for (const std::size_t rank : {2U, 3U, 4U, 6U}) {
    const LazyOp x = cube(rank);
    const auto last = static_cast<std::int64_t>(rank) - 1;
    Axes turned;
    for (std::int64_t k = last; k >= 0; --k) turned.push_back(k);
    const std::string lanes = detail::message("LANES ", last, " 16");
    for (const LazyOp& y : {x * x, x.permute(turned), x.flip({0}), x.permute(turned).reshape({product(x.shape())}),
                            LazyOp::reduce(Ops::SUM, x, {last}), LazyOp::reduce(Ops::SUM, x, {0})}) {
      EXPECT_EQ(bounds_refusal(kernel(y)), "") << rank;
    }
    EXPECT_EQ(bounds_refusal(kernel(x * x), lanes), "") << rank;
    EXPECT_EQ(bounds_refusal(kernel(x.pad(Padding(rank, {1, 2}))), lanes), "") << rank;
  }
}

TEST(Bounds, ProductsOfOneSizeThatGoOutsideAreRefused) {
  const Expr n = Variable("n", 1, 1000);
  const Ints shape{n, n};
  const auto of = [&](const ShapeTracker& st, const Int& size) {
    return kernel(LazyOp::load(1, dtypes::float32, st, size));
  };
  const ShapeTracker whole = ShapeTracker::from_shape(shape);
  EXPECT_EQ(bounds_refusal(of(whole, n * n)), "");
  EXPECT_NE(bounds_refusal(of(whole, n * n - 1)), "");
  EXPECT_NE(bounds_refusal(of(whole, n)), "");
  EXPECT_NE(bounds_refusal(of(ShapeTracker({View::create(shape, Ints{n, 1}, 1)}), n * n)), "");
  EXPECT_NE(bounds_refusal(of(ShapeTracker({View::create(shape, Ints{n, 1}, -1)}), n * n)), "");
  EXPECT_NE(bounds_refusal(of(ShapeTracker({View::create(shape, Ints{n + 1, 1}, 0)}), n * n)), "");
}

// What is outside of the buffer is behind the mask.
TEST(Bounds, MasksCount) {
  const LazyOp padded = input(1, {5}).pad({{2, 2}});
  const BoundsProof p = proof(kernel(padded));
  EXPECT_EQ(p.accesses, 2U);
  EXPECT_EQ(bounds_refusal(kernel(padded), "LANES 0 4"), "");
  EXPECT_EQ(bounds_refusal(kernel(padded), "UPCAST 0 3"), "");
  // The same addresses without a mask.
  const ShapeTracker bare({View::create({9}, Ints{1}, -2)});
  EXPECT_NE(bounds_refusal(kernel(LazyOp::load(1, dtypes::float32, bare, 5))), "");
}

// GUARD: what would go outside is not made, and what stays inside is left as it is.
TEST(Bounds, GuardsAreAskedFor) {
  const LazyOp x = LazyOp::load(1, dtypes::float32, plain({4, 3}), 11);
  const auto gated = [](const LazyOp& k, std::string_view opts) {
    std::size_t out = 0;
    for (const UOp u : compile_kernel(k, {}, parse_opts(opts)).uops)
      if (u.op() == UOps::LOAD || u.op() == UOps::STORE) out += u.src().size() == 4 ? 1 : 0;
    return out;
  };
  EXPECT_EQ(gated(kernel(x), "GUARD 1"), 1U);
  EXPECT_EQ(gated(kernel(x), "GUARD 1, LANES 1 3"), 1U);
  EXPECT_EQ(gated(kernel(input(1, {4, 3})), "GUARD 0, GUARD 1"), 0U);
  EXPECT_NE(bounds_refusal(kernel(x), "GUARD 0"), "");
  const LazyOp store = LazyOp::store(0, plain({5}), input(1, {5}), 4);
  EXPECT_EQ(gated(LazyOp::sink({store}), "GUARD 0"), 1U);  // there is an element to load everywhere
  EXPECT_TRUE(has(bounds_refusal(kernel(x), "GUARD 2"), "the kernel has no buffer 2"));
  EXPECT_TRUE(has(bounds_refusal(kernel(x), "GUARD 1, GUARD 1"), "guarded already"));
}

TEST(Bounds, StacksAreProven) {
  const ShapeTracker st = plain({6, 10}).permute({1, 0}).reshape({60}).shrink({{3, 58}});
  const LazyOp x = LazyOp::load(1, dtypes::float32, st, 60);
  EXPECT_EQ(bounds_refusal(kernel(x)), "");
  EXPECT_EQ(bounds_refusal(kernel(x), "LANES 0 8"), "");
  EXPECT_EQ(bounds_refusal(kernel(LazyOp::load(1, dtypes::float32, st, 59))), "");  // 59 is left out
  EXPECT_NE(bounds_refusal(kernel(LazyOp::load(1, dtypes::float32, st, 58))), "");
}

TEST(Bounds, SymbolicSizesAreProven) {
  const Variable n("n", 1, 100);
  EXPECT_EQ(bounds_refusal(added({n, 4})), "");
  EXPECT_EQ(bounds_refusal(added({n}), "LANES 0 8"), "");
  EXPECT_EQ(bounds_refusal(added({n}), "PARALLEL 0, UPCAST 0 4"), "");
  EXPECT_EQ(bounds_refusal(softmax(n, 5)), "");
  EXPECT_EQ(bounds_refusal(softmax(5, n)), "");
  EXPECT_EQ(bounds_refusal(kernel(LazyOp::load(1, dtypes::float32, plain({n}), 100))), "");
  const std::string text = bounds_refusal(kernel(LazyOp::load(1, dtypes::float32, plain({n}), 99)));
  EXPECT_TRUE(has(text, "n = 100")) << text;
}

}  // namespace
}  // namespace strata
