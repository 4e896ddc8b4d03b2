// put_in_place(): where elements are written, who sees them, and that nothing is compiled.
#include "strata/tensor/writes.h"

#include <gtest/gtest.h>

#include <vector>

#include "strata/engine/kernel_cache.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/jit.h"
#include "tests/tensor/arrays.h"

namespace strata::test {
namespace {

Tensor counted(std::int64_t rows, std::int64_t columns) {
  return Tensor::arange(rows * columns).cast(dtypes::float32).reshape({rows, columns}).contiguous().realize();
}
std::vector<float> row(const Tensor& x, std::int64_t k) { return x[k].to_vector<float>(); }
std::uint64_t compiled() { return KernelCache::instance().statistics().misses; }

TEST(Writes, AreInPlaceAndCompileNothing) {
  const Tensor x = counted(8, 4), value = Tensor::from(std::vector<float>{1, 2, 3, 4}, {4});
  const void* const memory = x.buffer().data();
  const std::uint64_t before = compiled();
  for (std::int64_t k = 0; k < 8; ++k) put_in_place(x, {k}, 0.5 + static_cast<double>(k));
  put_in_place(x, {Slice{2, 4}}, value);
  put_in_place(x, {ellipsis, Slice{{}, {}, -2}}, 7);
  EXPECT_EQ(compiled(), before);
  EXPECT_EQ(x.buffer().data(), memory);
  EXPECT_EQ(row(x, 1), (std::vector<float>{1.5F, 7, 1.5F, 7}));
  EXPECT_EQ(row(x, 3), (std::vector<float>{1, 7, 3, 7}));
}

TEST(Writes, AreNotSeenByOthers) {
  const Tensor x = counted(3, 2), view = x[{Slice{1, 3}}], later = x + 1;
  const Buffer memory = x.buffer();
  const auto* const old = static_cast<const float*>(memory.data());
  put_in_place(x, {1}, -1);
  EXPECT_EQ(row(x, 1), (std::vector<float>{-1, -1}));
  EXPECT_EQ(row(view, 0), (std::vector<float>{2, 3}));
  EXPECT_EQ(row(later, 1), (std::vector<float>{3, 4}));
  EXPECT_EQ(old[2], 2);
  const void* const own = x.buffer().data();
  EXPECT_NE(own, memory.data());
  put_in_place(x, {0}, 5);
  EXPECT_EQ(x.buffer().data(), own);  // the copy has one owner
}

TEST(Writes, OfItsOwnElements) {
  const Tensor x = counted(4, 1);
  put_in_place(x, {Slice{1, 4}}, x[{Slice{0, 3}}]);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 0, 1, 2}));
  const void* const memory = x.buffer().data();
  for (std::int64_t k = 0; k < 4; ++k) {
    const Tensor next = x[k] + 1;  // the view is gone when x is written
    put_in_place(x, {k}, next);
  }
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, 2, 3}));
  EXPECT_EQ(x.buffer().data(), memory);
}

TEST(Writes, KeepBorrowedAndConstantMemory) {
  std::vector<float> users = {1, 2, 3};
  const Tensor borrowed = Tensor::from_blob(users.data(), {3});
  put_in_place(borrowed, {0}, 9);
  EXPECT_EQ(borrowed.to_vector<float>(), (std::vector<float>{9, 2, 3}));
  EXPECT_EQ(users[0], 1);
  const Tensor zeros = Tensor::zeros({3}), more = Tensor::zeros({3});
  put_in_place(zeros, {2}, 4);
  EXPECT_EQ(zeros.to_vector<float>(), (std::vector<float>{0, 0, 4}));
  EXPECT_EQ(more.to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(Writes, AreReadByCapturedFunctions) {
  const Tensor x = counted(64, 64), in = counted(5, 64);
  auto f = jit([&](const Tensor& a) { return a.matmul(x); });  // which keeps x packed
  for (int k = 0; k < 5; ++k) {
    put_in_place(x, {k * 3}, k);
    const Tensor now = in.matmul(x);
    EXPECT_EQ(f(in).to_vector<float>(), now.to_vector<float>()) << k;
  }
}

TEST(Writes, WithGradientsAreGraphs) {
  Tensor w = counted(2, 2);
  w.requires_grad(true);
  const Tensor x = counted(2, 2), y = w * x;
  put_in_place(x, {0}, 3);  // the product keeps the old factors
  put_in_place(y, {1}, 0);
  y.sum().backward();
  EXPECT_EQ(w.grad()->to_vector<float>(), (std::vector<float>{0, 1, 0, 0}));
  EXPECT_THROW(put_in_place(w, {0}, 1), Error);
}

TEST(Writes, RefuseWhatDoesNotFit) {
  const Tensor x = counted(2, 3);
  EXPECT_THROW(put_in_place(x, {2}, 1), Error);
  EXPECT_THROW(put_in_place(x, {0}, Tensor::zeros({2})), Error);
  EXPECT_EQ(x.to_vector<float>(), counted(2, 3).to_vector<float>());
  put_in_place(x, {Slice{1, 1}}, 5);  // no element
  EXPECT_EQ(x.to_vector<float>(), counted(2, 3).to_vector<float>());
}

}  // namespace
}  // namespace strata::test
