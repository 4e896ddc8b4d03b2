// Order against std::sort, equal ones by their places.

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "tests/dtype/special_values.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

/// NaN is the largest.
bool is_less_than(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

/// Places in order.
std::vector<std::int64_t> order_of(const std::vector<double>& x, bool descending) {
  std::vector<std::int64_t> out(x.size());
  std::iota(out.begin(), out.end(), 0);
  std::sort(out.begin(), out.end(), [&](std::int64_t a, std::int64_t b) {
    const double p = x[static_cast<std::size_t>(a)], q = x[static_cast<std::size_t>(b)];
    const bool before = descending ? is_less_than(q, p) : is_less_than(p, q);
    const bool after = descending ? is_less_than(p, q) : is_less_than(q, p);
    return before || (!after && a < b);
  });
  return out;
}

void check_sort(const std::vector<double>& x, DType dtype) {
  const auto n = static_cast<std::int64_t>(x.size());
  const Tensor t = f64(x, {n}).cast(dtype);
  for (const bool descending : {false, true}) {
    const std::vector<std::int64_t> order = order_of(x, descending);
    const auto [values, indices] = t.sort(0, descending);
    expect_near(indices, {n},
                [&](const Place& p) { return static_cast<double>(order[static_cast<std::size_t>(p[0])]); });
    expect_near(values, {n},
                [&](const Place& p) { return x[static_cast<std::size_t>(order[static_cast<std::size_t>(p[0])])]; });
    EXPECT_EQ(values.dtype(), dtype);
  }
}

TEST(Order, OfAllDtypesIsStable) {
  const std::vector<double> few = {2, 0, 1, 2, 1, 0, 0, 2}, bits = {1, 0, 1, 1, 0};
  for (const DType d : {dtypes::float64, dtypes::float32, dtypes::float16, dtypes::int8, dtypes::int32, dtypes::int64,
                        dtypes::uint8, dtypes::uint64})
    check_sort(few, d);
  check_sort(bits, dtypes::boolean);
  const std::vector<double> odd = {0, NAN, -1, kInf, -0.0, -kInf, NAN, 1, -1, 0, -1e-310};
  check_sort(odd, dtypes::float64);
  check_sort({3, NAN, -2, kInf, -kInf, -0.0, 0}, dtypes::float32);
  check_sort(spread(70, -5, 5), dtypes::float64);
  check_sort({1}, dtypes::float64);
  check_sort({}, dtypes::float64);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(i64({0, most, least, -1}).sort().first.to_vector<std::int64_t>(),
            (std::vector{least, std::int64_t{-1}, std::int64_t{0}, most}));
}

TEST(Order, AlongEachAxis) {
  const Array x({3, 4, 2});
  for (const std::int64_t axis : {0, 1, 2}) {
    const auto a = static_cast<std::size_t>(axis);
    const Tensor sorted = x.tensor().sort(axis - 3).first;
    const Array at(x.tensor().argsort(axis));
    expect_near(sorted, x.shape, [&](const Place& p) {
      std::vector<double> row;
      for (Place q = p;
           q[a] = static_cast<std::int64_t>(row.size()), row.size() < static_cast<std::size_t>(x.shape[a]);)
        row.push_back(x.at(q));
      std::sort(row.begin(), row.end());
      return row[static_cast<std::size_t>(p[a])];
    });
    expect_near(sorted, x.shape, [&](const Place& p) {
      Place q = p;
      q[a] = static_cast<std::int64_t>(at.at(p));
      return x.at(q);
    });
  }
}

TEST(Order, FirstOfFewAndOfMany) {
  for (const std::int64_t n : {7, 1100}) {
    std::vector<double> x = spread(n, -50, 50);
    for (double& v : x) v = std::floor(v / 4);  // many are equal
    if (n > 7) x[900] = NAN;
    for (const bool largest : {true, false}) {
      const std::vector<std::int64_t> order = order_of(x, largest);
      const auto [values, indices] = Tensor::from(x, {n}).topk(5, 0, largest);  // default device
      expect_near(indices, {5},
                  [&](const Place& p) { return static_cast<double>(order[static_cast<std::size_t>(p[0])]); });
      expect_near(values, {5},
                  [&](const Place& p) { return x[static_cast<std::size_t>(order[static_cast<std::size_t>(p[0])])]; });
    }
  }
  const Tensor m = f64({1, 4, 2, 3, 0, 5}, {2, 3});
  expect_values(m.topk(2).first, {2, 2}, {4, 2, 5, 3});
  expect_values(m.topk(1, 0).second, {1, 3}, {1, 0, 1});
  EXPECT_EQ(m.topk(0).first.shape(), Ints({2, 0}));
  expect_error([&] { m.topk(4); }, "[topk] k is 4, not from 0 to the 3 elements of axis -1 of shape (2, 3)");
  expect_error([&] { m.topk(-1); }, "[topk] k is -1");
  expect_error([&] { m.sort(2); }, "[sort] axis 2 is outside");
}

// Rows too long to compare each with each: on the default device, as INTERP would take its time.
TEST(Order, LongRows) {
  constexpr std::int64_t kLong = 1300;
  std::vector<double> x = spread(2 * kLong, -50, 50);
  for (double& v : x) v = std::floor(v);  // many are equal
  const Tensor whole = Tensor::from(x, {2, kLong});
  for (std::size_t k = 0; k < x.size(); k += 97) x[k] = k % 2 == 0 ? NAN : -kInf;
  const Tensor real = Tensor::from(x, {2, kLong});
  for (const Tensor& t : {real, real.cast(dtypes::float32), whole.cast(dtypes::int64) * (std::int64_t{1} << 40),
                          whole.abs().cast(dtypes::uint32) * (1 << 25),
                          (whole.cast(dtypes::int64) << 57).bitcast(dtypes::uint64), whole.gt(0)})
    for (const bool descending : {false, true}) {
      const std::vector<double> elements = t.cast(dtypes::float64).to_vector<double>();
      const auto [values, indices] = t.sort(1, descending);
      const std::vector<std::int64_t> places = indices.to_vector<std::int64_t>();
      const std::vector<double> sorted = values.cast(dtypes::float64).to_vector<double>();
      for (std::size_t row = 0; row < 2; ++row) {
        const auto at = static_cast<std::ptrdiff_t>(row * kLong);
        const std::vector<double> own(elements.begin() + at, elements.begin() + at + kLong);
        const std::vector<std::int64_t> order = order_of(own, descending);
        EXPECT_TRUE(std::equal(order.begin(), order.end(), places.begin() + at)) << t.dtype().name();
        for (std::size_t k = 0; k < own.size(); ++k) {
          const double v = sorted[row * kLong + k], w = own[static_cast<std::size_t>(order[k])];
          ASSERT_TRUE(v == w || (std::isnan(v) && std::isnan(w))) << t.dtype().name() << " " << k;
        }
      }
    }
  EXPECT_EQ(real.topk(kLong / 2).second.to_vector<std::int64_t>().size(), std::size_t{kLong / 2 * 2});
}

// Rows long enough for buckets: keys that share their first bits, far apart, equal, in order.
TEST(Order, RowsOfAnyDistribution) {
  constexpr std::int64_t kLong = 40000;
  const std::vector<double> random = spread(kLong, -1, 1);
  const auto of = [&](const std::function<double(std::int64_t, double)>& element) {
    std::vector<double> out;
    for (std::int64_t k = 0; k < kLong; ++k) out.push_back(element(k, random[static_cast<std::size_t>(k)]));
    return out;
  };
  const std::vector<double> rows[] = {
      random,
      of([](std::int64_t, double) { return 3; }),
      of([](std::int64_t k, double) { return static_cast<double>(k); }),
      of([](std::int64_t k, double) { return static_cast<double>(k < kLong / 2 ? k : kLong - k); }),
      of([](std::int64_t k, double) { return static_cast<double>(k % 5); }),
      of([](std::int64_t k, double u) { return k % 1000 == 0 ? std::ldexp(u, 100) : 1 + u / 4096; }),
      of([](std::int64_t k, double u) { return std::ldexp(1 + u / (1 << 18), static_cast<int>(k % 60) - 30); }),
      of([](std::int64_t k, double u) {
        return k % 9 == 0 ? 0.0 : k % 9 == 1 ? -0.0 : k % 900 == 2 ? NAN : u;
      }),
  };
  for (const std::vector<double>& x : rows)
    for (const DType dtype : {dtypes::float32, dtypes::float64}) {
      const Tensor t = Tensor::from(x, {kLong}).cast(dtype);
      const std::vector<double> elements = t.cast(dtypes::float64).to_vector<double>();
      for (const bool descending : {false, true}) {
        const std::vector<std::int64_t> order = order_of(elements, descending);
        const std::vector<double> sorted = t.sort(0, descending).first.cast(dtypes::float64).to_vector<double>();
        for (std::size_t k = 0; k < elements.size(); ++k) {
          const double v = sorted[k], w = elements[static_cast<std::size_t>(order[k])];
          ASSERT_TRUE((v == w && std::signbit(v) == std::signbit(w)) || (std::isnan(v) && std::isnan(w)))
              << dtype.name() << " " << k << " of the row of " << x[1];
        }
        const std::vector<std::int64_t> first = t.topk(20, 0, descending).second.to_vector<std::int64_t>();
        EXPECT_TRUE(std::equal(first.begin(), first.end(), order.begin())) << dtype.name() << " " << x[1];
      }
    }
}

TEST(Order, OfAScalar) {
  const Tensor s = Tensor(2.5).to("INTERP");
  expect_values(s.sort().first, {}, {2.5});
  expect_values(s.argsort(0), {}, {0});
  expect_values(s.topk(1).first, {}, {2.5});
  expect_values(s.median(), {}, {2.5});
  expect_values(s.kthvalue(1).second, {}, {0});
  expect_error([&] { s.topk(2); }, "[topk] k is 2, but a scalar has one element");
}

TEST(Order, MedianAndKth) {
  const Tensor m = f64({1, 4, 2, 3, 3, 0, 5, 9}, {2, 4});
  const auto [values, indices] = m.median(1);
  expect_values(values, {2}, {2, 3});
  expect_values(indices, {2}, {2, 0});
  expect_values(m.median(), {}, {3});
  expect_values(m.median(0, true).first, {1, 4}, {1, 0, 2, 3});
  expect_values(m.kthvalue(3).first, {2}, {3, 5});
  expect_values(m.kthvalue(1, 1, true).second, {2, 1}, {0, 1});
  const Tensor nan = f64({1, NAN, 0, NAN, 1, 2, 3, 4}, {2, 4});
  EXPECT_TRUE(std::isnan(values_of(nan.median(1).first)[0]));
  EXPECT_EQ(values_of(nan.median(1).second), (std::vector<double>{1, 1}));
  expect_values(i64({3, 1, 2, 2}).median(), {}, {2});
  expect_error([&] { m.kthvalue(0); }, "[kthvalue] k is 0, but k counts from 1");
  expect_error([&] { m.kthvalue(5); }, "[kthvalue] k is 5, not from 0 to the 4");
  expect_error([&] { counted({2, 0}).median(1); }, "[median] of nothing");
}

TEST(Order, Gradients) {
  const std::vector<double> values = spread(6, -1, 1);
  expect_gradient([](const Tensor& x) { return x.sort(1).first; }, values, {2, 3});
  expect_gradient([](const Tensor& x) { return x.sort(0, true).first; }, values, {3, 2});
  expect_gradient([](const Tensor& x) { return x.topk(2).first; }, values, {2, 3});
  expect_gradient([](const Tensor& x) { return x.median(1).first; }, values, {2, 3});
  expect_gradient([](const Tensor& x) { return x.kthvalue(2, 0).first; }, values, {3, 2});
}

}  // namespace
}  // namespace strata::test
