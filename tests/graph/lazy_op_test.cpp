// What a kernel computes, as a graph: building, interning, refusals, text.
#include "strata/graph/lazy_op.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "strata/graph/absorb.h"
#include "strata/graph/storage.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

using namespace kernels;

TEST(LazyOp, WrittenTheSameIsTheSame) {
  EXPECT_EQ(added({4, 3}), added({4, 3}));
  EXPECT_EQ(added({4, 3}).hash(), added({4, 3}).hash());
  EXPECT_FALSE(added({4, 3}) == added({3, 4}));
  EXPECT_FALSE(input(1, {4}) == input(2, {4}));
  EXPECT_FALSE(input(1, {4}) == input(1, {4}, dtypes::int32));
  const auto zero = [](double v) { return LazyOp::constant(Scalar(v), Ints{4}); };
  EXPECT_FALSE(zero(0.0) == zero(-0.0));
  const LazyOp x = input(1, {4});
  EXPECT_FALSE(LazyOp::alu(Ops::SUB, {x, zero(1).cast(dtypes::float32)}) ==
               LazyOp::alu(Ops::SUB, {zero(1).cast(dtypes::float32), x}));
}

TEST(LazyOp, WhatIsGoneIsMadeAgain) {
  const std::uint64_t before = added({5, 7}).hash();
  EXPECT_EQ(added({5, 7}).hash(), before);
}

TEST(LazyOp, AConstantIsFoundByValueDtypeAndShape) {
  const LazyOp two = LazyOp::constant(Scalar(2.0F), Ints{3, 4});
  EXPECT_EQ(LazyOp::constant(Scalar(2.0F), Ints{3, 4}), two);
  EXPECT_EQ(LazyOp::constant(Scalar(2.0F), ShapeTracker::from_shape({3, 4})), two);
  EXPECT_FALSE(LazyOp::constant(Scalar(2.0F), Ints{4, 3}) == two);
  EXPECT_FALSE(LazyOp::constant(Scalar(2.0), Ints{3, 4}) == two);
  // Of the same shape, 0 in a part: another.
  const LazyOp part = LazyOp::constant(Scalar(2.0F), ShapeTracker::from_shape({2, 4}).pad({{1, 0}, {0, 0}}));
  EXPECT_EQ(part.shape(), two.shape());
  EXPECT_FALSE(part == two);
  EXPECT_FALSE(LazyOp::constant(Scalar(2.0F), part.shape()) == part);
  EXPECT_THROW(LazyOp::constant(Scalar(2.0F), Ints{3, -4}), Error);
}

/// What `f` gives, or the message of its error.
template <class F>
std::string said(const F& f) {
  try {
    return render(f().shape());
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(LazyOp, ShapesAfterMovementAreThoseOfViews) {
  std::mt19937_64 random(7);
  const auto upto = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  const std::int64_t huge[] = {0,         -1,           1, std::int64_t{1} << 31, std::int64_t{1} << 62, INT64_MAX,
                               INT64_MIN, INT64_MIN + 1};
  const auto number = [&](std::int64_t lo, std::int64_t hi) {
    return upto(0, 19) == 0 ? huge[upto(0, 7)] : upto(lo, hi);
  };
  int refused = 0, passed = 0;
  const auto check = [&](const std::string& of_node, const std::string& of_view) {
    EXPECT_EQ(of_node, of_view);
    ++(of_view.starts_with('[') ? refused : passed);
  };
  for (int round = 0; round < 4000; ++round) {
    const auto rank = static_cast<std::size_t>(upto(0, 3));
    Ints shape, sizes, steps;
    Axes axes;
    Padding padding;
    Mask bounds;
    for (std::size_t k = 0; k < rank; ++k) {
      shape.push_back(upto(0, 9) == 0 ? 0 : upto(1, 4));
      sizes.push_back(shape[k] == Int(1) || upto(0, 5) == 0 ? number(0, 4) : shape[k]);
      steps.push_back(number(-3, 3));
      axes.push_back(number(0, static_cast<std::int64_t>(rank) - 1));
      padding.push_back({number(0, 2), number(0, 2)});
      bounds.push_back({number(0, 1), number(1, 3)});
    }
    if (upto(0, 9) == 0) sizes.push_back(2), steps.push_back(1), padding.push_back({0, 0});
    const View view = View::create(shape);
    const ShapeTracker stack = ShapeTracker::from_shape(shape);
    const LazyOp x = LazyOp::empty(dtypes::float32, shape);
    check(said([&] { return x.reshape(sizes); }), said([&] { return stack.reshape(sizes); }));
    check(said([&] { return x.permute(axes); }), said([&] { return view.permute(axes); }));
    check(said([&] { return x.expand(sizes); }), said([&] { return view.expand(sizes); }));
    check(said([&] { return x.pad(padding); }), said([&] { return view.pad(padding); }));
    check(said([&] { return x.shrink(bounds); }), said([&] { return view.shrink(bounds); }));
    check(said([&] { return x.stride(steps); }), said([&] { return view.stride(steps); }));
    check(said([&] { return x.flip(axes); }), said([&] { return view.flip(axes); }));
  }
  EXPECT_GT(refused, 5000);
  EXPECT_GT(passed, 5000);
}

TEST(LazyOp, ShapesAndDtypes) {
  const LazyOp x = input(1, {4, 3});
  EXPECT_EQ(LazyOp::alu(Ops::CMPLT, {x, x}).dtype(), dtypes::boolean);
  EXPECT_EQ(x.cast(dtypes::int8).dtype(), dtypes::int8);
  EXPECT_EQ(x.bitcast(dtypes::uint32).dtype(), dtypes::uint32);
  EXPECT_EQ(LazyOp::reduce(Ops::SUM, x, {1}).shape(), (Ints{4, 1}));
  EXPECT_EQ(LazyOp::reduce(Ops::SUM, x, {0, 1}).shape(), (Ints{1, 1}));
  EXPECT_EQ(x.permute({1, 0}).shape(), (Ints{3, 4}));
  EXPECT_EQ(x.reshape({2, 6}).shape(), (Ints{2, 6}));
  EXPECT_EQ(x.pad({{1, 2}, {0, 0}}).shape(), (Ints{7, 3}));
  EXPECT_EQ(x.shrink({{1, 3}, {0, 2}}).shape(), (Ints{2, 2}));
  EXPECT_EQ(x.stride({-2, 1}).shape(), (Ints{2, 3}));
  EXPECT_EQ(input(1, {4, 1}).expand({4, 9}).shape(), (Ints{4, 9}));
  EXPECT_TRUE(output(x).dtype().is_none());
}

TEST(LazyOp, WhereNothingMovesItIsTheOperand) {
  const LazyOp x = input(1, {4, 3});
  EXPECT_EQ(x.reshape({4, 3}), x);
  EXPECT_EQ(x.permute({0, 1}), x);
  EXPECT_EQ(x.expand({4, 3}), x);
  EXPECT_EQ(x.pad({{0, 0}, {0, 0}}), x);
  EXPECT_EQ(x.shrink({{0, 4}, {0, 3}}), x);
  EXPECT_EQ(x.stride({1, 1}), x);
  EXPECT_EQ(x.flip({}), x);
  EXPECT_EQ(x.cast(dtypes::float32), x);
  EXPECT_EQ(LazyOp::reduce(Ops::SUM, x, {}), x);
  EXPECT_FALSE(x.flip({1}) == x);
}

TEST(LazyOp, RefusalsNameTheOpAndTheValues) {
  const LazyOp x = input(1, {4, 3}), y = input(2, {3, 4}), i = input(3, {4, 3}, dtypes::int32);
  EXPECT_TRUE(has(complaint([&] { x + y; }), "[add] operands have shapes (4, 3) and (3, 4)"));
  EXPECT_NE(complaint([&] { x + i; }), "");
  EXPECT_TRUE(has(complaint([&] { LazyOp::alu(Ops::ADD, {x}); }), "[add] takes 2 operands, not 1"));
  EXPECT_TRUE(has(complaint([&] { LazyOp::alu(Ops::SUM, {x}); }), "is not an op between elements"));
  EXPECT_NE(complaint([&] { LazyOp::alu(Ops::SQRT, {i}); }), "");
  EXPECT_NE(complaint([&] { LazyOp::alu(Ops::WHERE, {x, x, x}); }), "");
  EXPECT_TRUE(has(complaint([&] { LazyOp::reduce(Ops::ADD, x, {1}); }), "is not a reduction"));
  EXPECT_TRUE(has(complaint([&] { LazyOp::reduce(Ops::SUM, x, {2}); }), "axis 2 is outside of shape (4, 3)"));
  EXPECT_TRUE(has(complaint([&] { LazyOp::reduce(Ops::SUM, x, {-1}); }), "axis -1 is outside"));
  EXPECT_TRUE(has(complaint([&] { LazyOp::reduce(Ops::SUM, x, {1, 1}); }), "axis 1 is given twice"));
  EXPECT_TRUE(has(complaint([&] { input(-1, {4}); }), "buffer -1 does not exist"));
  EXPECT_NE(complaint([&] { input(1, {4}, dtypes::float32.vec(4)); }), "");
  EXPECT_NE(complaint([&] { input(1, {4}, dtypes::none); }), "");
  EXPECT_NE(complaint([&] { x.bitcast(dtypes::float64); }), "");
  EXPECT_NE(complaint([&] { x.reshape({5, 3}); }), "");
  EXPECT_NE(complaint([&] { x.permute({0, 0}); }), "");
  EXPECT_NE(complaint([&] { x.expand({4, 6}); }), "");
  EXPECT_NE(complaint([&] { x.flip({2}); }), "");
  EXPECT_NE(complaint([&] { x.stride({0, 1}); }), "");
  EXPECT_TRUE(has(complaint([&] { LazyOp::store(0, plain({3, 4}), x); }),
                  "a value of shape (4, 3) does not fit a place of shape (3, 4)"));
  EXPECT_TRUE(has(complaint([&] { LazyOp::sink({x}); }), "is not a store"));
  EXPECT_NE(complaint([] { LazyOp::sink({}); }), "");
}

TEST(LazyOp, ABufferHasOneDtype) {
  const LazyOp x = input(0, {4}, dtypes::int32).cast(dtypes::float32);
  EXPECT_TRUE(has(complaint([&] { kernel(x); }), "buffer 0 is of"));
}

TEST(LazyOp, BuffersOfAKernel) {
  const std::vector<BufferUse> uses = buffers_of(LazyOp::sink({output(input(3, {4}) + input(1, {4}), 1)}));
  ASSERT_EQ(uses.size(), 4U);
  EXPECT_TRUE(uses[0].dtype.is_none());
  EXPECT_TRUE(uses[1].read && uses[1].written);
  EXPECT_TRUE(uses[3].read && !uses[3].written);
  // The size is the largest that any use states.
  const LazyOp small = LazyOp::load(1, dtypes::float32, plain({4})),
               large = LazyOp::load(1, dtypes::float32, plain({4}), 9);
  EXPECT_EQ(buffers_of(kernel(small + large))[1].size, Int(9));
  EXPECT_EQ(buffers_of(kernel(large + small))[1].size, Int(9));
}

TEST(LazyOp, Identities) {
  EXPECT_EQ(identity_of(Ops::SUM, dtypes::int32), Scalar(0));
  EXPECT_EQ(identity_of(Ops::PROD, dtypes::float32), Scalar(1.0F));
  EXPECT_EQ(identity_of(Ops::REDUCE_MAX, dtypes::int8).as_int(), -128);
  EXPECT_EQ(identity_of(Ops::REDUCE_MIN, dtypes::uint8).as_int(), 255);
  EXPECT_EQ(identity_of(Ops::REDUCE_MAX, dtypes::boolean), Scalar(false));
  EXPECT_EQ(identity_of(Ops::REDUCE_MIN, dtypes::boolean), Scalar(true));
  EXPECT_EQ(identity_of(Ops::REDUCE_MAX, dtypes::float32).text(), "-inf");
}

TEST(LazyOp, TextIsALineANode) {
  const std::string text = two_plus_three().text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_TRUE(has(text, "   0 LoadOps.CONST")) << text;
  EXPECT_TRUE(has(text, "   2 BinaryOps.ADD")) << text;
  EXPECT_TRUE(has(text, ": f32 (1,)")) << text;
  EXPECT_TRUE(has(text, "[0, 1]")) << text;
  EXPECT_TRUE(has(text, "data0[1]")) << text;
}

TEST(LazyOp, PostorderHasSourcesFirstAndEachOnce) {
  const LazyOp x = input(1, {4});
  const LazyOp k = kernel((x + x) * (x + x));
  const std::vector<const LazyNode*> order = postorder(k);
  EXPECT_EQ(order.size(), 5U);
  for (std::size_t n = 0; n < order.size(); ++n)
    for (const LazyOp& s : order[n]->src)
      EXPECT_LT(std::find(order.begin(), order.end(), s.node()) - order.begin(), static_cast<std::ptrdiff_t>(n));
}

// Building, reading and dropping a graph does not recurse.
TEST(LazyOp, DepthIsNoMatter) {
  LazyOp x = input(1, {2});
  for (int k = 0; k < 100'000; ++k) x = LazyOp::alu(Ops::NEG, {x});
  EXPECT_EQ(postorder(x).size(), 100'001U);
}

TEST(LazyOp, MovementOpsAreViewsOfTheirOperand) {
  const LazyOp x = input(1, {4, 3});
  const LazyOp moved = x.permute({1, 0});
  EXPECT_EQ(movement_of(*moved.node()), plain({4, 3}).permute({1, 0}));
  EXPECT_EQ(movement_of(*x.pad({{1, 0}, {0, 0}}).node()), plain({4, 3}).pad({{1, 0}, {0, 0}}));
}

TEST(Absorb, MovementOfLeavesAndReshapesOfReshapes) {
  const LazyOp x = input(1, {4, 6}), sum = x + x;
  EXPECT_EQ(absorb_movement(x.reshape({24}).flip({0})),
            LazyOp::load(1, dtypes::float32, ShapeTracker::from_shape({4, 6}).reshape({24}).flip({0}), 24));
  EXPECT_EQ(absorb_movement(sum.reshape({24}).reshape({2, 12})), sum.reshape({2, 12}));
  EXPECT_EQ(absorb_movement(sum.reshape({2, 12}).reshape({1, 24}).reshape({4, 6})), sum);
  EXPECT_EQ(absorb_movement(sum.reshape({24}).flip({0}).reshape({4, 6})), sum.reshape({24}).flip({0}).reshape({4, 6}));
}

TEST(LazyOpThread, ManyThreadsMakeOneNode) {
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> hashes(4);
  std::vector<std::optional<LazyOp>> made(4);
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 200; ++k) made[t] = added({4, 1 + k % 3});
      made[t] = added({4, 2});
    });
  for (std::thread& t : threads) t.join();
  for (const auto& k : made) EXPECT_EQ(*k, *made[0]);
}

// What an algorithm sees as realized does not change under its hands; other threads see it at once.
TEST(LazyOpThread, RealizedAsOf) {
  const std::vector<std::int64_t> elements(4, 1);
  const auto realized = [&] {
    const LazyOp n = LazyOp::empty(dtypes::int64, {4});
    n.realize_as(std::make_shared<HostTable>(elements));
    return n;
  };
  const LazyOp before = realized();
  std::optional<LazyOp> within;
  std::uint64_t count = 0;
  {
    const RealizedAsOf outer;
    count = RealizedAsOf::count();
    within = realized();
    EXPECT_TRUE(is_realized(*before.node()) && before.realized() != nullptr);
    EXPECT_TRUE(!is_realized(*within->node()) && within->realized() == nullptr);
    {
      const RealizedAsOf inner;  // not later than the outer one
      EXPECT_FALSE(is_realized(*within->node()));
      EXPECT_EQ(RealizedAsOf::count(), count);
    }
    std::thread([&] { EXPECT_TRUE(is_realized(*within->node())); }).join();
  }
  EXPECT_TRUE(is_realized(*within->node()) && within->realized() != nullptr);
  const RealizedAsOf again(count);
  EXPECT_TRUE(is_realized(*before.node()) && !is_realized(*within->node()));
}

// Nodes die on one thread while another finds them: no thread waits for itself, none takes what is gone.
TEST(LazyOpThread, ManyThreadsLetGoOfOneNode) {
  const std::uint64_t hash = added({4, 2}).hash();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 4000; ++k)
        if (added({4, 2}).hash() != hash) ++wrong;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace strata
