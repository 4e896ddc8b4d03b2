// Captured functions of sharded tensors: exchanges are steps of the recording.
#include <gtest/gtest.h>

#include "strata/nn.h"
#include "strata/tensor/jit.h"
#include "strata/tensor/sharded.h"
#include "strata/tensor/streaming.h"
#include "tests/sample.h"
#include "tests/spmd/captured_program.h"

namespace strata {
namespace {

using spmd_oracle::CapturedProgram;

TEST(ShardedJit, HasTheBitsOfOneProcess) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  const std::vector<std::vector<Mesh>> meshes = {Mesh::simulated({1}, {"x"}), Mesh::simulated({2}, {"x"}),
                                                 Mesh::simulated({3}, {"x"}), Mesh::simulated({2, 2}, {"x", "y"})};
  for (const std::vector<Mesh>& ranks : meshes)
    for (std::uint64_t seed = 0; seed < test::sample<std::uint64_t>(8); ++seed) {
      CapturedProgram program(seed, ranks, ranks[0].shape());
      for (std::int64_t call = 0; call < 5; ++call)
        ASSERT_EQ(program.call(call), "")
            << "call " << call << " of seed " << seed << " on " << render(ranks[0].shape());
      EXPECT_EQ(program.replays(), 3U) << "seed " << seed;
    }
}

/// The elements.
std::vector<float> elements(const Tensor& t) { return t.contiguous().to_vector<float>(); }

/// Losses of a network that is trained, and its first weight.
struct Trained {
  std::vector<float> losses, weight;
  std::size_t replays = 0;
};

/// @param shard what the training shards: "data", "weights"
Trained train(const std::vector<Mesh>& ranks, const std::string& shard, bool is_captured) {
  manual_seed(3);
  const nn::Linear first(6, 8), last(8, 2);
  const std::vector<Tensor> parameters = {first.weight, *first.bias, last.weight, *last.bias};
  if (shard == "weights")
    for (const Tensor& p : parameters) p.assign(p.shard(ranks, "x:0"));
  nn::Adam optimizer(parameters, {.lr = 0.05});
  auto step = [&](const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = (last(first(x).relu()) - y).square().mean();
    loss.backward();
    optimizer.step();
    return loss;
  };
  auto captured = jit(step);
  Trained out;
  for (int k = 0; k < 6; ++k) {
    Tensor x = Tensor::arange(0, 60).reshape({10, 6}).cast(dtypes::float32) * 0.01 + k * 0.1;
    Tensor y = Tensor::arange(0, 20).reshape({10, 2}).cast(dtypes::float32) * 0.1 - k;
    if (shard == "data") x = x.shard(ranks, "x:0"), y = y.shard(ranks, "x:0");
    out.losses.push_back(static_cast<float>((is_captured ? captured(x, y) : step(x, y)).item()));
  }
  out.weight = elements(first.weight);
  out.replays = is_captured ? captured.jit()->replays() : 0;
  return out;
}

TEST(ShardedJit, TrainsAsWithoutCapture) {
  for (std::int64_t size = STRATA_SANITIZED ? 3 : 1; size <= 3; ++size)
    for (const std::string& shard : std::vector<std::string>{"data", "weights"}) {
      const std::vector<Mesh> ranks = Mesh::simulated({size}, {"x"});
      const Trained plain = train(ranks, shard, false), captured = train(ranks, shard, true);
      EXPECT_EQ(captured.replays, 4U);
      for (std::size_t k = 0; k < plain.losses.size(); ++k)
        EXPECT_NEAR(captured.losses[k], plain.losses[k], 1e-5 * std::abs(plain.losses[k])) << shard << " on " << size;
      for (std::size_t k = 0; k < plain.weight.size(); ++k)
        EXPECT_NEAR(captured.weight[k], plain.weight[k], 1e-5) << shard << " on " << size;
    }
}

TEST(ShardedJit, IsCapturedForEachSharding) {
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  auto f = jit([](const Tensor& x) { return x * 2 + x.flip({0}); });
  const Tensor x = Tensor::arange(0, 12).reshape({4, 3}).realize();
  const Tensor expected = x * 2 + x.flip({0});
  for (int k = 0; k < 4; ++k)
    for (const std::vector<Split>& splits :
         std::vector<std::vector<Split>>{{{{"x"}, 0, {}}}, {{{"x"}, 1, {}}}, {{{"x"}, 0, 1}}, {}}) {
      const Tensor y = f(x.shard(ranks, splits));
      EXPECT_EQ(y.to_vector<std::int64_t>(), expected.to_vector<std::int64_t>());
      EXPECT_EQ(y.sharding()->splits(), splits);
    }
  EXPECT_EQ(f.jit()->replays(), 8U);
  EXPECT_EQ(f(x).to_vector<std::int64_t>(), expected.to_vector<std::int64_t>());  // in one memory: nothing of those
  EXPECT_EQ(f.jit()->replays(), 8U);
  EXPECT_FALSE(f(x).sharding());
}

TEST(ShardedJit, ReadsAndAssignsTensorsFromOutside) {
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  const Tensor one = Tensor::full({32768}, 1.0F).contiguous().realize();
  const Tensor total = Tensor::zeros({32768}).shard(ranks, "x:0").realize();  // 128 KB: in place on one rank
  auto add = jit([&](const Tensor& x) {
    total.assign(total + x);
    return total.sum();
  });
  std::vector<Tensor> seen;
  for (int k = 1; k <= 5; ++k) {
    EXPECT_EQ(add(one.shard(ranks, "x:0")).item(), 32768.0 * k);
    EXPECT_EQ(total.sharding()->splits(), (std::vector<Split>{{{"x"}, 0, {}}}));
    seen.push_back(total.detach());
  }
  for (std::size_t k = 0; k < seen.size(); ++k)  // nobody's memory was written over
    EXPECT_EQ(elements(seen[k])[7], static_cast<float>(k + 1));
  total.assign(Tensor::full({32768}, 10.0F).shard(ranks, std::vector<Split>{}));  // replicated: another capture
  EXPECT_EQ(add(one.shard(ranks, "x:0")).item(), 11 * 32768.0);
}

TEST(ShardedJit, WritesArguments) {
  const std::vector<Mesh> ranks = Mesh::simulated({3}, {"x"});
  auto twice = jit([](Tensor x) {
    x.assign(x * 2);
    return x + 1;
  });
  for (float k = 1; k < 6; ++k) {
    const Tensor x = Tensor::full({5, 4}, k).shard(ranks, "x:0");
    EXPECT_EQ(elements(twice(x))[19], 2 * k + 1);
    EXPECT_EQ(elements(x)[19], 2 * k);
    EXPECT_TRUE(x.sharding().has_value());
  }
  EXPECT_EQ(twice.jit()->replays(), 3U);
}

TEST(ShardedJit, FollowsTheParts) {
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  auto from_parts =
      jit([&](const Tensor& a) { return Tensor::from_local(ranks, {a, a * 2}, {4}, {{{"x"}, 0, {}}}) * 1; });
  auto to_part = jit([](const Tensor& x) { return x.local(1) * 2; });
  auto to_computed_part = jit([](const Tensor& x) { return (x * 2).local(0) + (x * 3).local(1); });
  for (float k = 1; k < 6; ++k) {
    EXPECT_EQ(elements(from_parts(Tensor::full({2}, k).contiguous().realize()))[3], 2 * k);
    EXPECT_EQ(elements(to_part(Tensor::full({4}, k).shard(ranks, "x:0")))[0], 2 * k);
    EXPECT_EQ(elements(to_computed_part(Tensor::full({4}, k).shard(ranks, "x:0")))[0], 5 * k);
  }
  EXPECT_EQ(from_parts.jit()->replays() + to_part.jit()->replays() + to_computed_part.jit()->replays(), 9U);
}

TEST(ShardedJit, FollowsWhatIsReplicatedInACall) {
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  auto last = jit([&](const Tensor& x) {
    const auto add = [](const Tensor& s, const Tensor& e) { return std::pair(s + e, s + e); };
    return scan(add, Tensor::zeros({3}), x.shard(ranks, std::vector<Split>())).first;
  });
  auto seen = jit([&](const Tensor& x) {
    const Tensor all = x.shard(ranks, std::vector<Split>()).realize();
    return all.reshape({12}).realize() + 1;
  });
  for (float k = 1; k < 6; ++k) {
    const Tensor x = Tensor::full({4, 3}, k).shard(ranks, "x:0");
    EXPECT_EQ(elements(last(x))[0], 4 * k);
    EXPECT_EQ(elements(seen(x))[11], k + 1);
  }
}

TEST(ShardedJit, IsCapturedForTheFlagDeterministic) {
  auto f = jit([](const Tensor& x) { return x.sum(); });
  const Tensor x = Tensor::full({100}, 0.1F).contiguous().realize();
  for (int k = 0; k < 3; ++k) f(x);
  EXPECT_EQ(f.jit()->replays(), 1U);
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  const float expected = elements(x.sum())[0];
  for (int k = 0; k < 3; ++k) EXPECT_EQ(elements(f(x))[0], expected);
  EXPECT_EQ(f.jit()->replays(), 2U);
}

TEST(ShardedJit, HasArgumentsThatTheFunctionShards) {
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  auto f = jit([&](Tensor x) {
    x.assign(x.shard(ranks, "x:0") * 2);
    return x.sum();
  });
  for (float k = 1; k < 6; ++k) EXPECT_EQ(f(Tensor::full({6}, k).contiguous().realize()).item(), 12 * k);
  EXPECT_EQ(f.jit()->replays(), 3U);
}

TEST(ShardedJit, HasCapturesForBoundSizes) {
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  const Variable n("n", 1, 8);
  auto f = jit([](const Tensor& x) { return x.sum(0); });
  const Tensor x = Tensor::arange(0, 24).reshape({8, 3}).realize();
  for (int turn = 0; turn < 4; ++turn)
    for (const std::int64_t size : {4, 7}) {
      const Tensor part = x.shrink({{0, n.bind(size)}, {0, 3}}).shard(ranks, "x:0");
      EXPECT_EQ(f(part).to_vector<std::int64_t>(), x.shrink({{0, size}, {0, 3}}).sum(0).to_vector<std::int64_t>());
    }
}

TEST(ShardedJit, RefusesWhatNeedsOneMemory) {
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  const Tensor x = Tensor::arange(0, 12).reshape({4, 3}).cast(dtypes::float32).shard(ranks, "x:0");
  auto f = jit([](const Tensor& t) { return t.sum(0); });
  for (int k = 0; k < 3; ++k) f(x);
  EXPECT_THROW(f.jit()->captured(), Error);
  EXPECT_THROW(f.into(Tensor::zeros({3}).contiguous().realize(), x), Error);
  EXPECT_THROW(streaming([](const Tensor& t) { return t * 2; }, x, 0), Error);
}

}  // namespace
}  // namespace strata
