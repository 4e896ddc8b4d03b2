// Products of vectors and matrices, and Einstein's sums, against loops.

#include <map>

#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

/// The element of `x` that stands at `at` of what x broadcasts to.
double broadcast_at(const Array& x, const Place& at) {
  Place own;
  for (std::size_t k = 0; k < x.shape.size(); ++k)
    own.push_back(x.shape[k] == 1 ? 0 : at[at.size() - x.shape.size() + k]);
  return x.at(own);
}

/// `batch` is the result's shape without its matrix.
void check_matmul(const Place& left, const Place& right, const Place& batch) {
  const Array a(left, 1), b(right, 2);
  const bool is_row = left.size() == 1, is_column = right.size() == 1;
  Place shape = batch;
  if (!is_row) shape.push_back(left[left.size() - 2]);
  if (!is_column) shape.push_back(right.back());
  const std::int64_t n = left.back();
  expect_near(a.tensor().matmul(b.tensor()), shape, [&](const Place& at) {
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      Place p(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(batch.size())), q = p;
      if (!is_row) p.push_back(at[batch.size()]);
      p.push_back(k), q.push_back(k);
      if (!is_column) q.push_back(at.back());
      sum += broadcast_at(a, p) * broadcast_at(b, q);
    }
    return sum;
  });
}

TEST(Products, MatmulOfAllRanks) {
  check_matmul({4}, {4}, {});
  check_matmul({4}, {4, 3}, {});
  check_matmul({2, 4}, {4}, {});
  check_matmul({2, 4}, {4, 3}, {});
  check_matmul({1, 1}, {1, 1}, {});
  check_matmul({5, 2, 4}, {4, 3}, {5});
  check_matmul({2, 4}, {5, 4, 3}, {5});
  check_matmul({4}, {5, 4, 3}, {5});
  check_matmul({5, 2, 4}, {4}, {5});
  check_matmul({5, 2, 4}, {5, 4, 3}, {5});
  check_matmul({5, 1, 2, 4}, {3, 4, 3}, {5, 3});
  check_matmul({2, 0}, {0, 3}, {});
  check_matmul({0, 4}, {4, 3}, {});
}

TEST(Products, DtypesOfMatmul) {
  const Tensor i = counted({2, 2}, dtypes::int32), b = counted({2, 2}, dtypes::boolean);
  expect_values(i.matmul(i), {2, 2}, {2, 3, 6, 11});
  EXPECT_EQ(i.matmul(i).dtype(), dtypes::int32);
  EXPECT_EQ(i.matmul(i.to_float()).dtype(), dtypes::float32);
  EXPECT_EQ(b.matmul(b).dtype(), dtypes::int64);
  // 16-bit floats are added up in f32: 2049 is no f16, 4096 is.
  const Tensor halves = Tensor::ones({1, 4096}, dtypes::float16).to("INTERP");
  EXPECT_EQ(halves.matmul(halves.t()).dtype(), dtypes::float16);
  EXPECT_EQ(halves.matmul(halves.t()).item(), 4096);
}

TEST(Products, Vectors) {
  const Tensor a = i64({1, 2, 3}), b = i64({4, 5, 6});
  expect_values(a.dot(b), {}, {32});
  expect_values(a.inner(b), {}, {32});
  expect_values(a.inner(Tensor(2).to("INTERP")), {3}, {2, 4, 6});
  expect_values(a.outer(i64({1, 10})), {3, 2}, {1, 10, 2, 20, 3, 30});
  expect_values(counted({2, 3}, dtypes::int64).mv(a), {2}, {8, 26});
  expect_values(a.cross(b), {3}, {-3, 6, -3});
  expect_values(i64({1, 0, 0, 0, 1, 0}, {3, 2}).cross(i64({0, 1, 0}, {3, 1}), 0), {3, 2}, {-1, 0, 0, 0, 1, 0});
  expect_values(a.kron(i64({1, 10})), {6}, {1, 10, 2, 20, 3, 30});
  expect_values(counted({2, 2}, dtypes::int64).kron(a), {2, 6}, {0, 0, 0, 1, 2, 3, 2, 4, 6, 3, 6, 9});
  expect_values(counted({2, 3}).trace(), {}, {4});
  expect_values(counted({3, 2}).trace(), {}, {3});
}

TEST(Products, MoreThanTwoDimensions) {
  const Array a({2, 3, 4}, 1), b({3, 4, 5}, 2), c({4, 2, 3}, 3);
  const Tensor x = a.tensor(), y = b.tensor();
  expect_near(x.tensordot(y), {2, 5}, [&](const Place& at) {
    double sum = 0;
    for_each_place({3, 4}, [&](const Place& k) { sum += a.at({at[0], k[0], k[1]}) * b.at({k[0], k[1], at[1]}); });
    return sum;
  });
  expect_near(x.tensordot(c.tensor(), {0, -1}, {1, 0}), {3, 3}, [&](const Place& at) {
    double sum = 0;
    for_each_place({2, 4}, [&](const Place& k) { sum += a.at({k[0], at[0], k[1]}) * c.at({k[1], k[0], at[1]}); });
    return sum;
  });
  EXPECT_EQ(x.tensordot(y, 0).shape(), Ints({2, 3, 4, 3, 4, 5}));
  EXPECT_EQ(x.inner(counted({5, 4})).shape(), Ints({2, 3, 5}));
  const Tensor m = counted({2, 2}), one = Tensor::ones({2}, dtypes::float64).to("INTERP");
  expect_values(one.addmm(m, m), {2, 2}, {3, 4, 7, 12});
  expect_values(one.addmm(m, m, 2, 10), {2, 2}, {22, 32, 62, 112});
  expect_values((one * std::nan("")).addmm(m, m, 0), {2, 2}, {2, 3, 6, 11});
  const Tensor batch = m.unsqueeze(0);
  expect_values(one.baddbmm(batch, batch), {1, 2, 2}, {3, 4, 7, 12});
  expect_values(counted({2, 2}).cdist(counted({1, 2})), {2, 1}, {0, std::sqrt(8)});
}

TEST(Products, ErrorsNameTheShapes) {
  const Tensor a = counted({2, 3}), v = counted({3});
  expect_error([&] { a.matmul(a); }, "[matmul] shapes (2, 3) and (2, 3): inner sizes 3 and 2");
  expect_error([&] { a.matmul(Tensor(1).to("INTERP")); },
               "[matmul] shapes (2, 3) and (): each needs at least one dimension");
  expect_error([&] { counted({2, 2, 3}).matmul(counted({3, 3, 3})); }, "[matmul]");
  expect_error([&] { v.dot(a); }, "[dot] a tensor has shape (2, 3); 1 dimension is expected");
  expect_error([&] { v.dot(counted({4})); }, "inner sizes 3 and 4");
  expect_error([&] { a.bmm(a); }, "[bmm]");
  expect_error([&] { counted({1, 2, 2}).bmm(counted({2, 2, 2})); }, "batches of 1 and 2");
  expect_error([&] { v.trace(); }, "[trace]");
  expect_error([&] { a.cross(a.t(), 0); }, "[cross]");
  expect_error([&] { a.tensordot(a, 3); }, "[tensordot] 3 dimensions");
  expect_error([&] { a.tensordot(a, {0, 0}, {0, 1}); }, "axis 0 is given twice");
}

/// The sum over all values of all labels, of operands without an ellipsis.
void check_einsum(const std::string& formula, const std::vector<Place>& shapes) {
  std::vector<std::string> labels(1);
  std::string result;
  const std::size_t arrow = formula.find("->");
  for (const char c : formula.substr(0, arrow)) {
    if (c == ',')
      labels.emplace_back();
    else if (c != ' ')
      labels.back() += c;
  }
  std::map<char, std::int64_t> sizes;
  std::vector<Array> arrays;
  Many tensors;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    arrays.emplace_back(shapes[k], k + 1);
    tensors.push_back(arrays[k].tensor());
    for (std::size_t d = 0; d < labels[k].size(); ++d) sizes[labels[k][d]] = shapes[k][d];
  }
  if (arrow != std::string::npos) {
    for (const char c : formula.substr(arrow + 2))
      if (c != ' ') result += c;
  } else {
    for (const auto& [c, size] : sizes) {
      std::ptrdiff_t uses = 0;
      for (const std::string& l : labels) uses += std::count(l.begin(), l.end(), c);
      if (uses == 1) result += c;
    }
  }
  Place all, shape;
  std::string names;
  for (const auto& [c, size] : sizes) names += c, all.push_back(size);
  for (const char c : result) shape.push_back(sizes[c]);
  const auto place = [&](const std::string& own, const Place& at) {
    Place out;
    for (const char c : own) out.push_back(at[names.find(c)]);
    return out;
  };
  std::map<Place, double> sums;
  for_each_place(all, [&](const Place& at) {
    double term = 1;
    for (std::size_t k = 0; k < arrays.size(); ++k) term *= arrays[k].at(place(labels[k], at));
    sums[place(result, at)] += term;
  });
  SCOPED_TRACE(formula);
  expect_near(Tensor::einsum(formula, tensors), shape, [&](const Place& at) { return sums[at]; });
}

TEST(Einsum, IsTheSumOverAllLabels) {
  check_einsum("ij,jk->ik", {{2, 3}, {3, 4}});
  check_einsum("ij,jk", {{2, 3}, {3, 4}});
  check_einsum(" i j , j k -> k i ", {{2, 3}, {3, 4}});
  check_einsum("ji", {{2, 3}});
  check_einsum("ij->", {{2, 3}});
  check_einsum("ii", {{3, 3}});
  check_einsum("ii->i", {{3, 3}});
  check_einsum("iji->ji", {{3, 2, 3}});
  check_einsum("iiji->ij", {{3, 3, 2, 3}});
  check_einsum("i,i", {{3}, {3}});
  check_einsum("i,j", {{3}, {4}});
  check_einsum("bij,bjk->bik", {{2, 3, 4}, {2, 4, 2}});
  check_einsum("bhqd,bhkd->bhqk", {{2, 2, 3, 4}, {2, 2, 2, 4}});
  check_einsum("ij,kl->k", {{2, 3}, {4, 2}});
  check_einsum("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 2}});
  check_einsum("ij,ij,ij->j", {{2, 3}, {2, 3}, {2, 3}});
  check_einsum("Ab,bC", {{2, 3}, {3, 2}});
  check_einsum("ijj,jk->ik", {{2, 3, 3}, {3, 2}});
  check_einsum(",i->i", {{}, {3}});
}

TEST(Einsum, AnEllipsisBroadcasts) {
  const Tensor a = Array({5, 2, 3}, 1).tensor(), b = Array({3, 4}, 2).tensor();
  const auto same = [](const Tensor& x, const Tensor& y) {
    expect_near(x, Array(y).shape, [&, r = Array(y)](const Place& p) { return r.at(p); });
  };
  same(Tensor::einsum("...ij,jk->...ik", Many{a, b}), a.matmul(b));
  same(Tensor::einsum("...ij,...jk", Many{a, b}), a.matmul(b));
  same(Tensor::einsum("...ij->...ji", Many{a}), a.transpose());
  same(Tensor::einsum("...ij->ji...", Many{a}), a.permute({2, 1, 0}));
  same(Tensor::einsum("i...->...", Many{a}), a.sum(0));
  same(Tensor::einsum("i...->i", Many{a}), a.sum({1, 2}));
  same(Tensor::einsum("...,...", Many{a, b.shrink({{0, 3}, {0, 1}}).t()}), a * b.shrink({{0, 3}, {0, 1}}).t());
  same(Tensor::einsum("...ii->...i", Many{Array({2, 3, 3}).tensor()}), Array({2, 3, 3}).tensor().diagonal(0, 1, 2));
}

TEST(Einsum, ErrorsSayWhere) {
  const Tensor a = counted({2, 3});
  const auto column = [&](const char* formula, const Many& tensors) -> std::size_t {
    try {
      Tensor::einsum(formula, tensors);
    } catch (const Error& e) {
      return e.kind() == ErrorKind::parse ? e.column() : 99;
    }
    return 0;
  };
  EXPECT_EQ(column("i1->i", {a}), 2U);
  EXPECT_EQ(column("ij-i", {a}), 3U);
  EXPECT_EQ(column("ij-", {a}), 3U);
  EXPECT_EQ(column("ij->k", {a}), 5U);
  EXPECT_EQ(column("ij->ii", {a}), 5U);
  EXPECT_EQ(column("ij->i,j", {a}), 6U);
  EXPECT_EQ(column("i..j", {a}), 2U);
  EXPECT_EQ(column("...i...", {a}), 5U);
  expect_error([&] { Tensor::einsum("ij,jk", Many{a}); }, "has 2 operands, 1 are given");
  expect_error([&] { Tensor::einsum("ijk", Many{a}); }, "operand 0 of shape (2, 3) for 3 labels");
  expect_error([&] { Tensor::einsum("...ijk", Many{a}); }, "for 3 labels");
  expect_error([&] { Tensor::einsum("ii", Many{a}); }, "has the label i for sizes 2 and 3");
  expect_error([&] { Tensor::einsum("ij,jk", Many{a, a}); }, "[einsum]");
}

TEST(Products, Gradients) {
  expect_gradients([](const Many& x) { return x[0].matmul(x[1]); }, {{2, 3}, {3, 2}});
  expect_gradients([](const Many& x) { return x[0].matmul(x[1]); }, {{3}, {2, 3, 2}});
  expect_gradients([](const Many& x) { return x[0].dot(x[1]); }, {{3}, {3}});
  expect_gradients([](const Many& x) { return x[0].addmm(x[1], x[2], 0.5, 2); }, {{2}, {2, 2}, {2, 2}});
  expect_gradients([](const Many& x) { return x[0].tensordot(x[1], {0}, {1}); }, {{2, 2}, {2, 2}});
  expect_gradients([](const Many& x) { return x[0].kron(x[1]); }, {{2, 1}, {1, 2}});
  expect_gradients([](const Many& x) { return x[0].cross(x[1]); }, {{3}, {3}});
  expect_gradients([](const Many& x) { return x[0].cdist(x[1]); }, {{2, 2}, {2, 2}});
  expect_gradients([](const Many& x) { return x[0].trace(); }, {{3, 2}});
  expect_gradients([](const Many& x) { return Tensor::einsum("iij,jk->ki", x); }, {{2, 2, 2}, {2, 2}});
  // Equal rows are apart by 0, where the distance has no slope: 0 counts.
  Tensor x = counted({1, 2}).requires_grad(true);
  x.cdist(counted({1, 2})).sum().backward();
  expect_values(*x.grad(), {1, 2}, {0, 0});
}

}  // namespace
}  // namespace strata::test
