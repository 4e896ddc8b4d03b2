// Sharded tensors on simulated ranks, beside tensors in one memory.
#include "strata/tensor/sharded.h"

#include <gtest/gtest.h>

#include "strata/nn.h"
#include "tests/sample.h"
#include "tests/spmd/random_program.h"

namespace strata {
namespace {

using spmd_oracle::Program;
using spmd_oracle::Twin;

std::vector<std::vector<Mesh>> small_meshes() {
  return {Mesh::simulated({1}, {"x"}),        Mesh::simulated({2}, {"x"}), Mesh::simulated({3}, {"x"}),
          Mesh::simulated({4}, {"x"}),        Mesh::simulated({7}, {"x"}), Mesh::simulated({2, 2}, {"x", "y"}),
          Mesh::simulated({2, 3}, {"x", "y"})};
}

/// The bytes of the elements.
std::vector<std::byte> bytes_in(const Tensor& t) {
  const Buffer b = t.contiguous().buffer();
  const auto* const first = static_cast<const std::byte*>(b.data());
  return {first, first + static_cast<std::size_t>(product(t.shape()).value()) * t.itemsize()};
}

/// Whether elements are equal but for what another order of additions changes.
bool is_near(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.cast(dtypes::float64).to_vector<double>(),
                            y = b.cast(dtypes::float64).to_vector<double>();
  double largest = 1;
  for (const double v : y) largest = std::max(largest, std::abs(v));
  const double bound = largest * (a.dtype() == dtypes::float16 ? 4e-3 : a.dtype() == dtypes::float32 ? 3e-5 : 1e-9);
  for (std::size_t k = 0; k < x.size(); ++k)
    if (!(std::abs(x[k] - y[k]) <= bound) && !(std::isnan(x[k]) && std::isnan(y[k])) && x[k] != y[k]) return false;
  return true;
}

TEST(Sharded, HasTheBitsOfOneProcess) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  for (const std::vector<Mesh>& ranks : small_meshes())
    for (std::uint64_t seed = 0; seed < test::sample<std::uint64_t>(40); ++seed) {
      const Program program(seed, ranks, ranks[0].shape());
      for (std::size_t k = 0; k < program.twins().size(); ++k) {
        const Twin& t = program.twins()[k];
        ASSERT_EQ(bytes_in(t.sharded), bytes_in(t.plain))
            << "t" << k << " of seed " << seed << " on " << render(ranks[0].shape()) << ":\n"
            << program.text() << t.sharded.explain();
      }
    }
}

TEST(Sharded, IsNearWhereSumsAreReducedByRank) {
  for (const std::vector<Mesh>& ranks : small_meshes())
    for (std::uint64_t seed = 1000; seed < 1000 + test::sample<std::uint64_t>(40); ++seed) {
      const Program program(seed, ranks, ranks[0].shape());
      for (std::size_t k = program.twins().size(); k-- > 0;) {
        const Twin& t = program.twins()[k];
        ASSERT_TRUE(is_near(t.sharded, t.plain))
            << "t" << k << " of seed " << seed << " on " << render(ranks[0].shape()) << ":\n"
            << program.text();
      }
    }
}

TEST(Sharded, HasGradients) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  for (const std::vector<Mesh>& ranks : small_meshes())
    for (std::uint64_t seed = 2000; seed < 2000 + test::sample<std::uint64_t>(20); ++seed) {
      const Program program(seed, ranks, ranks[0].shape(), true);
      const Twin& last = program.twins().back();
      if (!last.sharded.requires_grad()) continue;
      last.sharded.sum().backward(), last.plain.sum().backward();
      for (std::size_t k = 0; k < program.inputs().size(); ++k) {
        const Twin& x = program.inputs()[k];
        if (!x.plain.grad()) continue;
        ASSERT_TRUE(x.sharded.grad().has_value());
        ASSERT_EQ(bytes_in(*x.sharded.grad()), bytes_in(*x.plain.grad()))
            << "x" << k << " of seed " << seed << " on " << render(ranks[0].shape()) << ":\n"
            << program.text();
        EXPECT_EQ(render(*x.sharded.grad()->sharding()->splits()), render(*x.sharded.sharding()->splits()));
      }
    }
}

TEST(Sharded, HasSizesThatAreBound) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  const auto ranks = Mesh::simulated({3}, {"x"});
  std::vector<float> elements(16 * 6);
  for (std::size_t k = 0; k < elements.size(); ++k) elements[k] = static_cast<float>(k * 7 % 23) / 4;
  const Tensor all = Tensor::from(elements, {16, 6}).realize();
  const Variable n("n", 1, 16);
  for (const std::int64_t value : {1, 2, 7, 16}) {
    const Tensor plain = all.shrink({{0, n.bind(value)}, {0, 6}});
    const auto results = [&](const Tensor& x) {
      const Tensor rows = x * 2 + 1;
      return std::vector<Tensor>{rows,
                                 x.sum(0),
                                 x.sum(1),
                                 x.softmax(0),
                                 x.cumsum(0),
                                 x.matmul(x.permute({1, 0})),
                                 rows.reshape({n.bind(value) * 6}),
                                 x.sort(1).first,
                                 Tensor::cat(std::vector<Tensor>{x, rows}, 1)};
    };
    for (const char* const splits : {"x:0", "x:1", "x:0/cyclic(2)", "replicated"}) {
      const std::vector<Tensor> expected = results(plain), sharded = results(plain.shard(ranks, splits));
      for (std::size_t k = 0; k < expected.size(); ++k) {
        const Tensor a = sharded[k].contiguous().realize(), b = expected[k].contiguous().realize();
        EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>()) << k << " with n = " << value << " by " << splits;
      }
    }
  }
}

TEST(Sharded, RanksHaveTheirParts) {
  const auto ranks = Mesh::simulated({2, 2}, {"data", "model"});
  const Tensor x = Tensor::arange(0, 30).reshape({5, 6}).cast(dtypes::float32).realize();
  const Tensor s = x.shard(ranks, {{"data", 0}, {"model", 1}});
  EXPECT_EQ(render(s.sharding()->local_shape(0)), "(3, 3)");
  EXPECT_EQ(s.local(0).to_vector<float>(), (std::vector<float>{0, 1, 2, 6, 7, 8, 12, 13, 14}));
  EXPECT_EQ(s.local(3).to_vector<float>(), (std::vector<float>{21, 22, 23, 27, 28, 29}));
  std::vector<Tensor> parts;
  for (std::int64_t rank = 0; rank < 4; ++rank) parts.push_back(s.local(rank) * 2);
  const Tensor twice = Tensor::from_local(ranks, parts, {5, 6}, {{"data", 0}, {"model", 1}});
  EXPECT_EQ(twice.to_vector<float>(), (x * 2).to_vector<float>());
  const Tensor in_turn = x.shard(ranks, "data:0/cyclic(1)");
  EXPECT_EQ(in_turn.local(2).to_vector<float>(), (std::vector<float>{6, 7, 8, 9, 10, 11, 18, 19, 20, 21, 22, 23}));
}

TEST(Sharded, RefusesWhatIsNoSharding) {
  const auto ranks = Mesh::simulated({2}, {"data"}), others = Mesh::simulated({2}, {"data"});
  const Tensor x = Tensor::zeros({4, 4});
  EXPECT_THROW(x.shard(ranks, {{"model", 0}}), Error);
  EXPECT_THROW(x.shard(ranks, {{"data", 2}}), Error);
  EXPECT_THROW(x.shard(ranks[0], {{"data", 0}}), Error);
  EXPECT_THROW(x.local(), Error);
  EXPECT_THROW((x.shard(ranks, {{"data", 0}}) + x.shard(others, {{"data", 1}})).realize(), Error);
  EXPECT_THROW(x.shard(ranks, {{"data", 0}}).local(2), Error);
  {
    const ScopedFlag checked(flags::CHECK_INDEX, true);
    const Tensor places = Tensor::from(std::vector<std::int32_t>{0, 9}, {2}).shard(ranks, {{"data", 0}});
    EXPECT_THROW(x.index_select(0, places).realize(), Error);
  }
  Tensor tracked = Tensor::zeros({2, 4});
  tracked.requires_grad(true);
  EXPECT_THROW(Tensor::from_local(ranks, {tracked, tracked}, {4, 4}, {{"data", 0}}), Error);
  EXPECT_THROW(Tensor::from_local(ranks, {Tensor::zeros({2, 4}), Tensor::zeros({3, 4})}, {4, 4}, {{"data", 0}}), Error);
}

}  // namespace
}  // namespace strata
