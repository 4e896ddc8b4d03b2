// Running graphs: results, what is kept, caches, errors.

#include "strata/engine/realize.h"

#include <gtest/gtest.h>

#include <thread>

#include "strata/base/flags.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/kernel_cache.h"

namespace strata::test {
namespace {

const Device& interp() { return Device::get("INTERP"); }

LazyOp leaf(const std::vector<float>& values, const Ints& shape) { return leaf_of(Buffer::fromCPU(values), shape); }
std::vector<float> values_of(const LazyOp& n) {
  const Buffer b = buffer_of(n);
  const std::span<float> elements = b.as<float>();
  return {elements.begin(), elements.end()};
}
std::vector<float> result(const LazyOp& n, const Device& device = interp()) {
  realize(n, device);
  return values_of(n);
}
LazyOp exp2_of(const LazyOp& x) { return LazyOp::alu(Ops::EXP2, {x}); }

/// Counts kernels.
class Counting final : public RunListener {
 public:
  void ran(RanKernel) override { ++count; }
  int count = 0;
};

TEST(Realize, Computes) {
  const LazyOp x = leaf({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(result(exp2_of(x + x).permute({1, 0})), (std::vector<float>{4, 64, 16, 256}));
  EXPECT_EQ(result(LazyOp::reduce(Ops::SUM, x, {0, 1}).reshape({})), (std::vector<float>{10}));
}

TEST(Realize, OnEveryDeviceAlike) {
  const LazyOp x = leaf({1, 2, 3, 4}, {2, 2});
  for (const Device* device : Device::all()) {
    if (!device->missing().empty() || device->name() == "NULL") continue;
    const LazyOp y = exp2_of(x) + leaf({1, 1, 1, 1}, {2, 2});
    EXPECT_EQ(result(y, *device), (std::vector<float>{3, 5, 9, 17})) << device->name();
  }
}

TEST(Realize, RunsNothingTwice) {
  const LazyOp y = exp2_of(leaf({1, 2}, {2}));
  realize(y, interp());
  const Counting kernels;
  realize(y, interp());
  EXPECT_EQ(kernels.count, 0);
  realize(y + y, interp());
  EXPECT_EQ(kernels.count, 1);
}

TEST(Realize, KeepsWhatAGradientMayAskFor) {
  const auto steps = [](const LazyOp& x) {
    const LazyOp between = exp2_of(x).contiguous();
    realize(between + between.flip({0}), interp());
    return is_realized(*between.node());
  };
  EXPECT_FALSE(steps(leaf({1, 2}, {2})));
  EXPECT_TRUE(steps(leaf({1, 2}, {2}).tracked({})));
}

TEST(Realize, PartsIntoTheirPlaces) {
  const LazyOp a = leaf({1, 2, 3, 4}, {2, 2}), b = leaf({5, 6}, {2});
  EXPECT_EQ(result(LazyOp::concatenated(std::vector{a.permute({1, 0}), b + b, a.reshape({4})})),
            (std::vector<float>{1, 3, 2, 4, 10, 12, 1, 2, 3, 4}));
}

TEST(Realize, CopiesOutliveWhatTheyWereMadeOf) {
  const LazyOp x = leaf({1, 2, 3, 4}, {2, 2});
  const auto rows = [](const LazyOp& n) {
    return LazyOp::reduce(Ops::SUM, n.reshape({2, 1, 2}).expand({2, 2, 2}) * n.reshape({1, 2, 2}).expand({2, 2, 2}),
                          {2})
        .reshape({2, 2});
  };
  const LazyOp copy = rows(x).copied();
  const LazyOp later = rows(rows(rows(x + x)));
  const std::vector<float> together = result(copy.flip({0}) + later * x);
  const LazyOp apart = leaf(result(rows(x)), {2, 2});
  EXPECT_EQ(together, result(apart.flip({0}) + leaf(result(later), {2, 2}) * x));
}

TEST(Realize, NothingOfNothing) {
  const LazyOp none = leaf({}, {0, 3});
  EXPECT_EQ(result(none + none), std::vector<float>{});
  EXPECT_EQ(result(LazyOp::reduce(Ops::SUM, none, {0}).reshape({3})), (std::vector<float>{0, 0, 0}));
}

TEST(Realize, OneKernelForAllSizes) {
  const Variable n("n", 1, 64);
  const auto sum_of = [&](std::int64_t size) {
    std::vector<float> values(64, 1);
    const LazyOp x = leaf(values, {n.bind(size)});
    return result(LazyOp::reduce(Ops::SUM, x, {0}).reshape({}))[0];
  };
  EXPECT_EQ(sum_of(5), 5);
  const std::uint64_t misses = KernelCache::instance().statistics().misses;
  EXPECT_EQ(sum_of(64), 64);
  EXPECT_EQ(sum_of(1), 1);
  EXPECT_EQ(KernelCache::instance().statistics().misses, misses);
}

TEST(Realize, TwoValuesOfAVariableAreTwoKernels) {
  const Variable n("n", 1, 10);
  const LazyOp x = leaf({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {10});
  const auto first = [&](std::int64_t size) { return exp2_of(x.shrink({{0, n.bind(size)}})); };
  // Memory has room for the largest size of the variable.
  const auto elements_of = [](const LazyOp& op, std::size_t size) {
    std::vector<float> all = values_of(op);
    all.resize(size);
    return all;
  };
  for (const Device* device : {&interp(), &Device::default_device()}) {
    const std::vector<LazyOp> both = {first(3), exp2_of(first(5)), first(3) + first(3)};
    const Counting kernels;
    realize(both, *device);
    EXPECT_EQ(kernels.count, 2);  // those of one value read x once
    EXPECT_EQ(elements_of(both[0], 3), (std::vector<float>{1, 2, 4}));
    EXPECT_EQ(elements_of(both[1], 5), (std::vector<float>{2, 4, 16, 256, 65536}));
    EXPECT_EQ(elements_of(both[2], 3), (std::vector<float>{2, 4, 8}));
  }
}

TEST(Realize, ThreadsMayShareAGraph) {
  const LazyOp shared = exp2_of(leaf({1, 2, 3}, {3})).contiguous();
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(4);
  for (std::size_t t = 0; t < results.size(); ++t)
    threads.emplace_back([&, t] {
      const std::vector<float> add(3, static_cast<float>(t));
      results[t] = result(shared + leaf(add, {3}));
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t t = 0; t < results.size(); ++t) {
    const auto k = static_cast<float>(t);
    EXPECT_EQ(results[t], (std::vector<float>{2 + k, 4 + k, 8 + k}));
  }
}

TEST(Realize, NamesTheOpThatMadeANaN) {
  const ScopedFlag check(flags::NAN_CHECK, true);
  const LazyOp x = leaf({-1, 4}, {2});
  const OriginScope scope("sqrt", std::source_location::current());
  const LazyOp y = LazyOp::alu(Ops::SQRT, {x}) + x;
  try {
    realize(y, interp());
    FAIL() << "a NaN passed";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("SQRT of shape (2,) made a NaN at element 0 (sqrt, written at"), std::string::npos) << text;
    EXPECT_NE(text.find("realize_test.cpp"), std::string::npos) << text;
  }
}

TEST(Realize, NamesTheIndexThatIsOutside) {
  const LazyOp index = leaf_of(Buffer::fromCPU(std::vector<std::int64_t>{0, -3, 1}), {3});
  const auto picks = [&] {
    const OriginScope scope("gather", std::source_location::current());
    const LazyOp which = (index + index).in_range({"gather", "index", 3, true, 7});
    return LazyOp::gather(leaf({1, 2, 3}, {3}).reshape({1, 3}).expand({3, 3}), which);
  };
  EXPECT_EQ(result(picks()), (std::vector<float>{1, 0, 3}));
  const ScopedFlag check(flags::CHECK_INDEX, true);
  try {
    realize(picks(), interp());
    FAIL() << "an index passed";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_EQ(e.kind(), ErrorKind::shape);
    EXPECT_EQ(text.find("[gather] index -6 at (1,) is outside of a range: -3 to 2, and 7 (gather, written at"), 0)
        << text;
    EXPECT_NE(text.find("realize_test.cpp"), std::string::npos) << text;
  }
  EXPECT_EQ(index.in_range({"a", "index", 3}), index.in_range({"a", "index", 3}));
  EXPECT_FALSE(index.in_range({"a", "index", 3}) == index.in_range({"a", "index", 4}));
  EXPECT_NO_THROW(realize(index.in_range({"a", "index", 2, true, -3}), interp()));
  EXPECT_THROW(leaf({1}, {1}).in_range({"a", "index", 3}), Error);
}

TEST(Realize, WithoutFusionTheSame) {
  const LazyOp x = leaf({1, 2, 3, 4}, {2, 2});
  const auto graph = [&](float shift) { return exp2_of(x + leaf({shift, shift, shift, shift}, {2, 2})) + x; };
  const std::vector<float> fused = result(graph(1));
  const ScopedFlag apart(flags::NOFUSE, true);
  const Counting kernels;
  EXPECT_EQ(result(graph(1)), fused);
  EXPECT_EQ(kernels.count, 3);
}

TEST(KernelCache, IsBounded) {
  const ScopedFlag two(flags::KERNEL_CACHE, std::int64_t{2});
  for (int n = 1; n < 6; ++n) {
    std::vector<float> values(static_cast<std::size_t>(n), 1.0F);
    result(exp2_of(leaf(values, {n})));
  }
  EXPECT_EQ(KernelCache::instance().statistics().size, 2U);
}

TEST(Storage, OfWhatIsNotThereIsAnError) {
  EXPECT_THROW(buffer_of(LazyOp::empty(dtypes::float32, {2})), Error);
  EXPECT_THROW(leaf_of(Buffer::allocate(3, dtypes::float32), {2, 2}), Error);
}

}  // namespace
}  // namespace strata::test
