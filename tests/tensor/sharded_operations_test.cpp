// Most operations on sharded tensors, beside tensors in one memory; and cases that random programs found.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/sample.h"
#include "tests/spmd/wide_program.h"

namespace strata {
namespace {

using spmd_oracle::Manner;
using spmd_oracle::Twin;
using spmd_oracle::WideProgram;

std::vector<std::vector<Mesh>> meshes() {
  return {Mesh::simulated({1}, {"x"}),         Mesh::simulated({2}, {"x"}),
          Mesh::simulated({3}, {"x"}),         Mesh::simulated({4}, {"x"}),
          Mesh::simulated({7}, {"x"}),         Mesh::simulated({2, 2}, {"x", "y"}),
          Mesh::simulated({2, 3}, {"x", "y"}), Mesh::simulated({3, 2, 2}, {"x", "y", "z"})};
}

std::vector<std::byte> bytes_of(const Tensor& t) {
  const Buffer b = t.detach().contiguous().buffer();
  const auto* const first = static_cast<const std::byte*>(b.data());
  return {first, first + static_cast<std::size_t>(product(t.shape()).value()) * t.itemsize()};
}

/// Whether elements are equal but for what another order of additions changes.
bool are_near(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.detach().cast(dtypes::float64).to_vector<double>(),
                            y = b.detach().cast(dtypes::float64).to_vector<double>();
  double largest = 1;
  for (const double v : y)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  const double bound = largest * (a.itemsize() == 2 ? 6e-2 : 2e-3);
  for (std::size_t k = 0; k < x.size(); ++k)
    if (std::isfinite(x[k]) && std::isfinite(y[k]) && !(std::abs(x[k] - y[k]) <= bound)) return false;
  return true;
}

/// The sum of all values of a program that take gradients.
std::optional<Tensor> loss_of(const WideProgram& program, bool is_sharded) {
  std::optional<Tensor> out;
  for (const Twin& t : program.twins()) {
    const Tensor& x = is_sharded ? t.sharded : t.plain;
    if (!x.requires_grad() || !x.dtype().is_float()) continue;
    const Tensor sum = x.sum().cast(dtypes::float32);
    out = out ? *out + sum : sum;
  }
  return out;
}

/// Runs programs `first` ... `first + count`, on a mesh after another.
template <class F>
void compare(std::uint64_t first, std::uint64_t count, Manner manner, const F& are_same) {
  const std::vector<std::vector<Mesh>> all = meshes();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::vector<Mesh>& ranks = all[seed % all.size()];
    const WideProgram program(seed, ranks, ranks[0].shape(), manner);
    const auto check = [&](const Tensor& sharded, const Tensor& plain, const char* what, std::size_t k) {
      EXPECT_TRUE(are_same(sharded, plain))
          << what << k << " of seed " << seed << " on " << render(ranks[0].shape()) << ":\n"
          << program.text();
    };
    for (std::size_t k = 0; k < program.twins().size(); ++k)
      check(program.twins()[k].sharded, program.twins()[k].plain, "t", k);
    if (const auto plain = loss_of(program, false)) plain->backward(), loss_of(program, true)->backward();
    for (std::size_t k = 0; k < program.inputs().size(); ++k) {
      const Twin& x = program.inputs()[k];
      ASSERT_EQ(x.sharded.grad().has_value(), x.plain.grad().has_value());
      if (x.plain.grad()) check(*x.sharded.grad(), *x.plain.grad(), "the gradient of t", k);
    }
    if (testing::Test::HasFailure()) return;
  }
}
bool have_same_bits(const Tensor& a, const Tensor& b) { return bytes_of(a) == bytes_of(b); }

TEST(ShardedOperations, HaveTheBitsOfOneProcess) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  compare(0, test::sample(80), {}, have_same_bits);
}
TEST(ShardedOperations, HaveTheBitsOfOneProcessStepByStep) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  compare(1000, test::sample(30), {.is_eager = true}, have_same_bits);
}
TEST(ShardedOperations, HaveTheGradientsOfOneProcess) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  compare(2000, test::sample(50), {.is_tracked = true}, have_same_bits);
}
TEST(ShardedOperations, AreNearWhereSumsAreReducedByRank) {
  compare(3000, test::sample(50), {.is_smooth = true}, are_near);
}
TEST(ShardedOperations, HaveNearGradients) {
  compare(4000, test::sample(50), {.is_tracked = true, .is_smooth = true}, are_near);
}

TEST(ShardedOperations, TwoStoresOfAReductionByRankHaveOneShape) {
  const auto ranks = Mesh::simulated({2}, {"x"});
  const Tensor x = Tensor::arange(0, 8).reshape({2, 4}).cast(dtypes::float32).shard(ranks, {{"x", 1}}).realize();
  const Tensor sum = x.sum(1), twice = sum * 2;
  const std::vector<LazyOp> roots = {sum.node(), twice.node()};
  realize(roots);
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{6, 22}));
  EXPECT_EQ(twice.to_vector<float>(), (std::vector<float>{12, 44}));
}

TEST(ShardedOperations, LoopsWithoutStepsReadNothing) {
  const auto ranks = Mesh::simulated({3}, {"x"});
  const Tensor none = Tensor::zeros({4, 0}).shard(ranks, {{"x", 0}}).realize();
  EXPECT_EQ(none.sum(1).to_vector<float>(), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(none.sort(1).first.to_vector<float>(), std::vector<float>{});
  const Tensor x = Tensor::arange(0, 4).reshape({4, 1}).shard(ranks, {{"x", 0}}).realize();
  const Tensor index = Tensor::zeros({4, 0}, dtypes::int64);
  EXPECT_EQ(x.scatter_add(1, index, index).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  const Tensor places = Tensor::zeros({2}, dtypes::int64);
  EXPECT_EQ(none.index_select(1, places).to_vector<float>(), std::vector<float>(8, 0));
}

/// What `f` throws.
std::string words_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

TEST(ShardedOperations, AreChecked) {
  const auto ranks = Mesh::simulated({2}, {"x"});
  const Tensor x = (Tensor::arange(0, 6) - 4).cast(dtypes::float32).shard(ranks, {{"x", 0}}).realize();
  {
    const ScopedFlag check(flags::NAN_CHECK, true);
    EXPECT_NE(words_of([&] { (x.log() + 1).realize(); }).find("[NAN_CHECK] UnaryOps.LOG of shape (6,)"),
              std::string::npos);
    EXPECT_EQ((x + 4).relu().sum().item(), 15);
  }
  const ScopedFlag check(flags::CHECK_INDEX, true);
  const Tensor places = x.cast(dtypes::int64) + 2;  // -2 ... 3
  EXPECT_NE(words_of([&] { x.gather(0, places + 7).realize(); }).find("[gather]"), std::string::npos);
  EXPECT_EQ(x.gather(0, places + 2).sum().item(), x.sum().item());
}

TEST(ShardedOperations, RanksOfTwoMeshesAreNoMesh) {
  const auto a = Mesh::simulated({2}, {"x"}), b = Mesh::simulated({2}, {"x"});
  const std::vector<Mesh> mixed = {a[0], b[1]};
  EXPECT_THROW(Tensor::zeros({4}).shard(mixed, {{"x", 0}}), Error);
}

}  // namespace
}  // namespace strata
