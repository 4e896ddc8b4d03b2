// Many threads, each with graphs of its own or sharing tensors. Run under ThreadSanitizer, too: so loops are run by
// std::thread (oneTBB synchronises by what that does not see).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "strata/engine/kernel_cache.h"
#include "strata/engine/realize.h"
#include "strata/runtime/device.h"
#include "strata/tensor.h"

namespace strata {
namespace {

/// A thread for each chunk.
class StdThreads final : public Executor {
 public:
  int concurrency() const override { return 4; }
  std::atomic<int> chunks = 0;

 private:
  void run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) override {
    std::vector<std::thread> threads;
    for (; begin < end; begin += std::min(grain, end - begin)) {
      ++chunks;
      threads.emplace_back([&body, from = begin, to = begin + std::min(grain, end - begin)] { body(from, to); });
    }
    for (std::thread& t : threads) t.join();
  }
};

class TensorThreads : public testing::Test {
 protected:
  TensorThreads() { set_default_executor(&executor_); }
  ~TensorThreads() override { set_default_executor(nullptr); }

  /// Runs body(k) on `kThreads` threads at once.
  template <class Body>
  static void on_many(const Body& body) {
    std::vector<std::thread> threads;
    for (int k = 0; k < kThreads; ++k) threads.emplace_back([&body, k] { body(k); });
    for (std::thread& t : threads) t.join();
  }

  static constexpr int kThreads = 4;

  StdThreads executor_;
};

TEST_F(TensorThreads, GraphsApart) {
  std::vector<float> sums(kThreads);
  on_many([&](int k) {
    for (int turn = 0; turn < 5; ++turn) {
      const Tensor x = Tensor::full({8, 16 + k}, static_cast<float>(k));
      sums[static_cast<std::size_t>(k)] = ((x + 1.0F).permute({1, 0}).relu().sum(0) * 2.0F).sum().item<float>();
    }
  });
  for (int k = 0; k < kThreads; ++k)
    EXPECT_EQ(sums[static_cast<std::size_t>(k)], static_cast<float>(8 * (16 + k) * (k + 1) * 2));
}

TEST_F(TensorThreads, ParallelLoopsOfManyThreads) {
  std::vector<double> sums(kThreads);
  on_many([&](int k) {
    const Tensor x = Tensor::full({64, 4096}, static_cast<double>(k), dtypes::float64);
    sums[static_cast<std::size_t>(k)] = (x * 3.0 + 1.0).sum(1).sum().item<double>();
  });
  for (int k = 0; k < kThreads; ++k) EXPECT_EQ(sums[static_cast<std::size_t>(k)], 64.0 * 4096 * (3 * k + 1));
}

TEST_F(TensorThreads, OneUnrealizedTensorIsReadByAll) {
  const Tensor x = (Tensor::arange(0, 64).cast(dtypes::float32) * 0.5F).reshape({8, 8});
  const Tensor shared = x.matmul(x).exp2().contiguous();
  std::vector<std::vector<float>> results(kThreads);
  on_many([&](int k) {
    results[static_cast<std::size_t>(k)] = (shared * 0.0F + static_cast<float>(k)).sum(0).to_vector<float>();
  });
  for (int k = 0; k < kThreads; ++k) EXPECT_EQ(results[static_cast<std::size_t>(k)].size(), 8U);
}

// Computing a tensor replaces its graph by its memory, under the hands of those who read it, and of those who schedule
// a graph with the tensor in it, too.
TEST_F(TensorThreads, OneUnrealizedTensorIsComputedByAll) {
  for (int turn = 0; turn < 40; ++turn) {
    const Tensor x = Tensor::full({16}, static_cast<float>(turn)).contiguous();
    const Tensor shared = (x + 1.0F).contiguous().reshape({4, 4}), scalar = x.sum() + 0.0F, number = Tensor(2.0F);
    Tensor weight = (x * 2.0F).requires_grad(true);
    on_many([&](int k) {
      if (k % 2 == 0) shared.realize();
      const Ints& shape = shared.shape();
      EXPECT_EQ(shared.to_vector<float>(), std::vector<float>(16, static_cast<float>(turn) + 1.0F));
      EXPECT_EQ((shared + scalar).sum().item<float>(), static_cast<float>(16 * (17 * turn + 1)));
      EXPECT_EQ(scalar.item<float>() + number.item<float>(), static_cast<float>(16 * turn + 2));
      EXPECT_EQ(weight.sum().item<float>(), static_cast<float>(32 * turn));
      EXPECT_EQ(shape, Ints({4, 4}));
    });
  }
}

TEST_F(TensorThreads, GradientsApartThroughSharedData) {
  const Tensor data = Tensor::arange(0, 6).cast(dtypes::float32).reshape({3, 2});
  std::vector<std::vector<float>> gradients(kThreads);
  on_many([&](int k) {
    const Tensor w = Tensor::full({2}, static_cast<float>(k)).requires_grad(true);
    (data * w).square().sum().backward();
    gradients[static_cast<std::size_t>(k)] = w.grad()->to_vector<float>();
  });
  for (int k = 0; k < kThreads; ++k) {
    const auto scale = static_cast<float>(2 * k);
    EXPECT_EQ(gradients[static_cast<std::size_t>(k)], (std::vector<float>{20 * scale, 35 * scale}));
  }
}

// The kernels of a graph are compiled by the threads of the executor, each once, whoever else compiles the same.
TEST_F(TensorThreads, KernelsAreCompiledSideBySide) {
  const Tensor x = (Tensor::arange(0, 60).cast(dtypes::float32) + 0.25F).realize();
  const auto kernels_of = [&] {
    std::vector<Tensor> out;
    for (const std::int64_t rows : {2, 3, 4, 5, 6, 5, 4}) {  // five kernels of a kind, seven results
      const Tensor v = x.reshape({rows, 60 / rows}) * (rows == 5 ? 7.0F : 3.0F);
      out.push_back(v.sum(0));
    }
    return out;
  };
  std::vector<std::vector<float>> expected;
  for (const Tensor& t : kernels_of()) expected.push_back(t.to_vector<float>());
  const auto realize_all = [](const std::vector<Tensor>& tensors) {
    std::vector<LazyOp> nodes;
    for (const Tensor& t : tensors) nodes.push_back(t.node());
    realize(nodes, Device::default_device());
  };
  KernelCache::instance().clear();
  executor_.chunks = 0;
  const std::uint64_t before = KernelCache::instance().statistics().misses;
  const std::vector<Tensor> alone = kernels_of();
  realize_all(alone);
  EXPECT_EQ(KernelCache::instance().statistics().misses, before + 5);
  EXPECT_EQ(executor_.chunks, 5);  // compilations: the kernels have no parallel loops
  for (std::size_t k = 0; k < alone.size(); ++k) EXPECT_EQ(alone[k].to_vector<float>(), expected[k]) << k;
  KernelCache::instance().clear();
  std::vector<std::vector<Tensor>> all(kThreads);
  on_many([&](int k) {
    all[static_cast<std::size_t>(k)] = kernels_of();
    realize_all(all[static_cast<std::size_t>(k)]);
  });
  for (const std::vector<Tensor>& some : all)
    for (std::size_t k = 0; k < some.size(); ++k) EXPECT_EQ(some[k].to_vector<float>(), expected[k]) << k;
}

TEST_F(TensorThreads, AJitEach) {
  std::vector<float> last(kThreads);
  on_many([&](int k) {
    auto step = jit([k](const Tensor& x) { return (x * static_cast<float>(k)).sum(); });
    for (int turn = 0; turn < 6; ++turn)
      last[static_cast<std::size_t>(k)] = step(Tensor::full({5}, static_cast<float>(turn))).item<float>();
  });
  for (int k = 0; k < kThreads; ++k) EXPECT_EQ(last[static_cast<std::size_t>(k)], static_cast<float>(25 * k));
}

TEST_F(TensorThreads, RandomNumbersOfOneGenerator) {
  std::vector<std::vector<float>> drawn(kThreads);
  on_many([&](int k) { drawn[static_cast<std::size_t>(k)] = rand({100}).to_vector<float>(); });
  std::vector<float> all;
  for (const auto& d : drawn) all.insert(all.end(), d.begin(), d.end());
  std::sort(all.begin(), all.end());
  EXPECT_GT(std::unique(all.begin(), all.end()) - all.begin(),
            kThreads * 100 - 3);  // two may agree by chance, not all
}

}  // namespace
}  // namespace strata
