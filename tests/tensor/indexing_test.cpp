#include <algorithm>
#include <limits>
#include <random>

#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

using Subscripts = std::vector<Subscript>;

/// The indices that Python's slice takes, by walking.
Place walked(std::optional<std::int64_t> begin, std::optional<std::int64_t> end, std::int64_t step, std::int64_t n) {
  const auto from_end = [&](std::int64_t v) { return v < 0 ? v + n : v; };
  Place out;
  if (step > 0) {
    const std::int64_t last = std::min(end ? from_end(*end) : n, n);
    for (std::int64_t k = std::max<std::int64_t>(begin ? from_end(*begin) : 0, 0); k < last; k += step)
      out.push_back(k);
  } else {
    const std::int64_t last = std::max<std::int64_t>(end ? from_end(*end) : -1, -1);
    for (std::int64_t k = std::min(begin ? from_end(*begin) : n - 1, n - 1); k > last; k += step) out.push_back(k);
  }
  return out;
}

std::optional<Int> size_of(std::optional<std::int64_t> v) { return v ? std::optional<Int>(Int(*v)) : std::nullopt; }

TEST(Index, SlicesAreAsPython) {
  for (const std::int64_t n : {0, 1, 5}) {
    const Tensor x = counted({n});
    std::vector<std::optional<std::int64_t>> ends = {std::nullopt};
    for (std::int64_t e = -n - 2; e <= n + 2; ++e) ends.emplace_back(e);
    for (const auto& begin : ends)
      for (const auto& end : ends)
        for (const std::int64_t step : {1, 2, 7, -1, -3}) {
          const Place taken = walked(begin, end, step, n);
          const Tensor y = x[Slice{size_of(begin), size_of(end), step}];
          ASSERT_EQ(y.shape(), Ints({static_cast<std::int64_t>(taken.size())}));
          ASSERT_EQ(values_of(y), std::vector<double>(taken.begin(), taken.end()));
        }
  }
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  expect_values(counted({3})[Slice{least, most, most}], {1}, {0});
  expect_values(counted({3})[Slice{most, least, least}], {1}, {2});
  expect_error([] { counted({3})[Slice{0, 3, 0}]; }, "[index] a slice of axis 0 has step 0");
}

TEST(Index, IntegersSlicesAndNewAxes) {
  const Tensor x = counted({2, 3, 4});
  expect_elements(x[1], {3, 4}, [](const Place& i) { return 12 + i[0] * 4 + i[1]; });
  expect_elements(x[{-1, 0}], {4}, [](const Place& i) { return 12 + i[0]; });
  expect_values(x[{1, 2, 3}], {}, {23});
  expect_elements(x[{Slice{}, 1}], {2, 4}, [](const Place& i) { return i[0] * 12 + 4 + i[1]; });
  expect_elements(x[{ellipsis, -1}], {2, 3}, [](const Place& i) { return i[0] * 12 + i[1] * 4 + 3; });
  expect_elements(x[{0, ellipsis, Slice{1, 3}}], {3, 2}, [](const Place& i) { return i[0] * 4 + i[1] + 1; });
  EXPECT_EQ((x[{0, 1, ellipsis, 2}]).shape(), Ints({}));
  expect_elements(x[{new_axis, ellipsis, new_axis, 0}], {1, 2, 3, 1},
                  [](const Place& i) { return i[1] * 12 + i[2] * 4; });
  expect_elements(x[{Slice{{}, {}, -1}, new_axis, Slice{2, {}, -2}}], {2, 1, 2, 4},
                  [](const Place& i) { return (1 - i[0]) * 12 + (2 - 2 * i[2]) * 4 + i[3]; });
  EXPECT_EQ((x[ellipsis]).node(), x.node());
  EXPECT_EQ((x[Slice{}]).node(), x.node());
  EXPECT_EQ(x.index(Subscripts{}).node(), x.node());
  EXPECT_EQ((counted({})[new_axis]).shape(), Ints({1}));
  expect_error([&] { x[2]; }, "[index] index 2 is outside of axis 0 of size 2");
  expect_error([&] { x[{0, -4}]; }, "[index] index -4 is outside of axis 1 of size 3");
  expect_error([&] { x[{0, 0, 0, 0}]; }, "[index] 4 axes are indexed, but shape (2, 3, 4) has 3");
  expect_error([&] { x[{ellipsis, ellipsis}]; }, "[index] the index has 2 ellipses");
  expect_error([] { counted({})[0]; }, "[index] 1 axes are indexed");
}

TEST(Index, OneTensorOfIntegers) {
  const Tensor x = counted({3, 4});
  const Tensor i = i64({2, 0, -1, 2}, {2, 2});
  const Place rows = {2, 0, 2, 2};
  const auto row = [&](std::int64_t a, std::int64_t b) { return rows[static_cast<std::size_t>(a * 2 + b)]; };
  expect_elements(x[i], {2, 2, 4}, [&](const Place& p) { return row(p[0], p[1]) * 4 + p[2]; });
  expect_elements(x[{Slice{}, i}], {3, 2, 2}, [&](const Place& p) {
    return p[0] * 4 + (p[1] == 1 && p[2] == 0 ? 3 : row(p[1], p[2]));
  });  // -1 of 4
  expect_values(x[{i, 1}], {2, 2}, {9, 1, 9, 9});
  expect_values(x[{i64({1}, {}), Slice{0, 2}}], {2}, {4, 5});
  expect_values(counted({3})[i64({5, -4, 1})], {3}, {0, 0, 1});  // outside: 0
  EXPECT_EQ((x[i64({})]).shape(), Ints({0, 4}));
  EXPECT_EQ((counted({0})[i64({1})]).shape(), Ints({1}));
  expect_values(counted({3})[i64({2, 1}).cast(dtypes::uint8)], {2}, {2, 1});
  expect_values(bools({true, false, true}, {3})[i64({1, 2})], {2}, {0, 1});
  EXPECT_EQ((counted({3}, dtypes::int8)[i64({1})]).dtype(), dtypes::int8);
  expect_error([&] { x[counted({2})]; }, "[index] indices are integers, not f64");
}

TEST(Index, CheckedIndices) {
  const Tensor x = counted({3, 4});
  const auto rows = [](std::initializer_list<std::int64_t> i) { return Subscript::checked(i64(i)); };
  expect_values(x[{rows({2, -3}), 1}], {2}, {9, 1});
  EXPECT_EQ(x[rows({})].shape(), Ints({0, 4}));
  expect_error([&] { x[rows({0, 3})]; }, "[index] index 3 is outside of axis 0 of size 3");
  expect_error([&] { x[{0, rows({-5, 1})}]; }, "[index] index -5 is outside of axis 1 of size 4");
  expect_error([&] { x.index_put({rows({0, 7})}, 1); }, "[index] index 7 is outside of axis 0 of size 3");
  for (const DType d :
       {dtypes::int8, dtypes::int16, dtypes::int32, dtypes::uint8, dtypes::uint16, dtypes::uint32, dtypes::uint64}) {
    expect_values(x[{Subscript::checked(i64({2, 1}).cast(d)), 0}], {2}, {8, 4});
    expect_error([&] { x[Subscript::checked(i64({0, 100}).cast(d))]; },
                 "[index] index 100 is outside of axis 0 of size 3");
  }
  expect_error([&] { x[Subscript::checked(i64({-1}).cast(dtypes::uint64))]; }, "is outside of axis 0");
  expect_error([&] { counted({0})[rows({0})]; }, "[index] index 0 is outside of axis 0 of size 0");
}

TEST(Index, ValuesElsewhereDoNotLeak) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  expect_values(f64({nan, inf, 3, -inf}, {4})[i64({2, 1})], {2}, {3, inf});
}

TEST(Index, SeveralTensorsOfIntegers) {
  const Tensor x = counted({2, 3, 4, 5});
  const auto at = [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return ((a * 3 + b) * 4 + c) * 5 + d;
  };
  const Place is = {0, 1, 1}, js = {2, 0, -1}, columns = {3, 1};
  const Tensor i = i64(is), j = i64(js), column = i64(columns, {2, 1});
  const auto to = [](const Place& v, std::int64_t k) { return v[static_cast<std::size_t>(k)]; };
  const auto wrap = [](std::int64_t k, std::int64_t n) { return k < 0 ? k + n : k; };
  // Side by side: their dimensions stand there.
  expect_elements(x[{i, j}], {3, 4, 5},
                  [&](const Place& p) { return at(to(is, p[0]), wrap(to(js, p[0]), 3), p[1], p[2]); });
  expect_elements(x[{Slice{}, j, i}], {2, 3, 5},
                  [&](const Place& p) { return at(p[0], wrap(to(js, p[1]), 3), to(is, p[1]), p[2]); });
  expect_elements(x[{Slice{}, i, column}], {2, 2, 3, 5},
                  [&](const Place& p) { return at(p[0], to(is, p[2]), to(columns, p[1]), p[3]); });
  // Apart: in front.
  expect_elements(x[{i, Slice{}, j}], {3, 3, 5},
                  [&](const Place& p) { return at(to(is, p[0]), p[1], wrap(to(js, p[0]), 4), p[2]); });
  expect_elements(x[{Slice{}, i, Slice{1, 3}, column}], {2, 3, 2, 2},
                  [&](const Place& p) { return at(p[2], to(is, p[1]), p[3] + 1, to(columns, p[0])); });
  expect_elements(x[{i, new_axis, j}], {3, 1, 4, 5},
                  [&](const Place& p) { return at(to(is, p[0]), wrap(to(js, p[0]), 3), p[2], p[3]); });
  // An integer takes its axis away before, as PyTorch has it.
  expect_elements(x[{Slice{}, i, 2, j}], {2, 3},
                  [&](const Place& p) { return at(p[0], to(is, p[1]), 2, wrap(to(js, p[1]), 5)); });
  expect_elements(x[{0, Slice{}, j}], {3, 3, 5},
                  [&](const Place& p) { return at(0, p[0], wrap(to(js, p[1]), 4), p[2]); });
  // Outside of one axis is nowhere.
  expect_values(counted({2, 3})[{i64({0, 1, 2, -3}), i64({5, -4, 0, 1})}], {4}, {0, 0, 0, 0});
  expect_values((counted({2, 3}) + 1)[{i64({0, 1, 0}), i64({4, -4, 2})}], {3}, {0, 0, 3});
  expect_error([&] { x[{i, i64(columns)}]; }, "[index] shapes (3,) and (2,) do not broadcast");
}

TEST(Index, Masks) {
  const Tensor x = counted({2, 3});
  expect_values(x[x > 2.0], {3}, {3, 4, 5});
  expect_values(x[bools({false, true}, {2})], {1, 3}, {3, 4, 5});
  expect_values(x[{Slice{}, bools({true, false, true}, {3})}], {2, 2}, {0, 2, 3, 5});
  expect_values(x[{bools({true, true}, {2}), i64({2, 0})}], {2}, {2, 3});
  EXPECT_EQ((x[x > 9.0]).shape(), Ints({0}));
  expect_elements(counted({2, 2, 3})[{bools({true, false, false, true}, {2, 2}), Slice{1, 3}}], {2, 2},
                  [](const Place& i) { return i[0] * 9 + i[1] + 1; });
  expect_elements(counted({3, 2, 2})[{Slice{}, bools({false, true, true, true}, {2, 2})}], {3, 3},
                  [](const Place& i) { return i[0] * 4 + i[1] + 1; });
  expect_elements(x[bools({true}, {})], {1, 2, 3}, [](const Place& i) { return i[1] * 3 + i[2]; });
  EXPECT_EQ((x[bools({false}, {})]).shape(), Ints({0, 2, 3}));
  expect_error([&] { x[bools({true, false, true}, {3})]; },
               "[index] a mask of shape (3,) does not match axis 0 of size 2");
}

TEST(Index, PutWhereSlicesAre) {
  const Tensor x = counted({3, 4});
  expect_elements(x.index_put({1}, 9), {3, 4}, [](const Place& i) { return i[0] == 1 ? 9 : i[0] * 4 + i[1]; });
  expect_elements(x.index_put({Slice{}, Slice{1, 3}}, counted({2}) + 100), {3, 4},
                  [](const Place& i) { return i[1] == 1 || i[1] == 2 ? 99 + i[1] : i[0] * 4 + i[1]; });
  expect_elements(x.index_put({Slice{{}, {}, -2}, Slice{3, {}, -2}}, counted({2, 2}) + 100), {3, 4},
                  [](const Place& i) {
                    const bool is_there = i[0] % 2 == 0 && i[1] % 2 == 1;
                    return is_there ? 100 + (1 - i[0] / 2) * 2 + (1 - i[1] / 2) : i[0] * 4 + i[1];
                  });
  expect_elements(x.index_put({1, new_axis, Slice{1, {}, 2}}, i64({50, 60}, {1, 1, 2})), {3, 4},
                  [](const Place& i) { return i[0] == 1 && i[1] % 2 == 1 ? 45 + 5 * i[1] : i[0] * 4 + i[1]; });
  expect_elements(x.index_put({ellipsis}, 5), {3, 4}, [](const Place&) { return 5; });
  expect_elements(x.index_put({0}, 10, true), {3, 4},
                  [](const Place& i) { return i[0] * 4 + i[1] + (i[0] == 0 ? 10 : 0); });
  EXPECT_EQ(values_of(x.index_put({Slice{2, 2}}, 7)), values_of(x));
  EXPECT_EQ(i64({1, 2}).index_put({0}, 2.9).dtype(), dtypes::int64);
  expect_values(i64({1, 2}).index_put({0}, 2.9), {2}, {2, 2});
  expect_values(bools({true, true}, {2}).index_put({1}, false), {2}, {1, 0});
  expect_values(f64({1}, {}).index_put({ellipsis}, 4), {}, {4});
  expect_error([&] { x.index_put({0}, counted({3})); }, "[index_put]");
  expect_error([&] { x.index_put({0}, counted({2, 4})); },
               "[index_put] a value of shape (2, 4) does not fill shape (4,)");
}

/// NOTE: a NaN that is replaced, or that stands beside, must not reach the others.
TEST(Index, PutReplacesAnything) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_values(f64({nan, 1, nan}, {3}).index_put({Slice{0, {}, 2}}, 2), {3}, {2, 1, 2});
  expect_values(f64({nan, 1, nan}, {3}).index_put({i64({0, 2})}, f64({5, 6}, {2})), {3}, {5, 1, 6});
}

TEST(Index, PutWhereTensorsSay) {
  const Tensor x = counted({3, 4});
  expect_elements(x.index_put({i64({2, -3})}, 9), {3, 4}, [](const Place& i) { return i[0] == 1 ? 4 + i[1] : 9; });
  expect_values(counted({3}).index_put({i64({1, 1, 1})}, i64({5, 6, 7})), {3}, {0, 7, 2});
  expect_values(counted({3}).index_put({i64({1, 1, 0})}, i64({5, 6, 7}), true), {3}, {7, 12, 2});
  expect_values(counted({3}).index_put({i64({7, -4})}, 9), {3}, {0, 1, 2});  // outside: nowhere
  expect_values(counted({3}).index_put({i64({})}, 9), {3}, {0, 1, 2});
  expect_elements(x.index_put({i64({0, 2}), i64({1, 3})}, i64({50, 60})), {3, 4}, [](const Place& i) {
    return i == Place{0, 1} ? 50 : i == Place{2, 3} ? 60 : i[0] * 4 + i[1];
  });
  // Apart: the value's dimensions of indices are in front.
  expect_elements(counted({2, 3, 2}).index_put({i64({0, 1}), Slice{1, 3}, i64({1, 0})}, counted({2, 2}) + 100),
                  {2, 3, 2}, [](const Place& i) {
                    const bool is_there = i[1] > 0 && i[2] == 1 - i[0];
                    return is_there ? 100 + i[0] * 2 + i[1] - 1 : (i[0] * 3 + i[1]) * 2 + i[2];
                  });
  expect_elements(x.index_put({x > 6.0}, 0), {3, 4},
                  [](const Place& i) { return i[0] * 4 + i[1] > 6 ? 0 : i[0] * 4 + i[1]; });
  expect_elements(x.index_put({Slice{1, {}}, bools({true, false, false, true}, {4})}, counted({2, 2}) + 100), {3, 4},
                  [](const Place& i) {
                    const bool is_there = i[0] > 0 && (i[1] == 0 || i[1] == 3);
                    return is_there ? 100 + (i[0] - 1) * 2 + i[1] / 3 : i[0] * 4 + i[1];
                  });
}

TEST(Index, Gradients) {
  const std::vector<double> v = spread(6, -2, 2), w = spread(4, -2, 2);
  const Tensor rows = i64({1, 0, 1}), columns = i64({2, -1, 0});
  expect_gradient([&](const Tensor& x) { return x[{Slice{{}, {}, -1}, Slice{0, {}, 2}}].square(); }, v, {2, 3});
  expect_gradient([&](const Tensor& x) { return x[rows].square(); }, v, {2, 3});
  expect_gradient([&](const Tensor& x) { return x[{rows, columns}].square(); }, v, {2, 3});
  expect_gradient([&](const Tensor& x) { return x[bools({true, false, false, true, true, false}, {2, 3})].square(); },
                  v, {2, 3});
  const auto put = [&](const Subscripts& where, bool accumulate) {
    return [=](const Many& xs) { return xs[0].index_put(where, xs[1], accumulate).square(); };
  };
  expect_gradient(put({Slice{}, Slice{2, {}, -2}}, false), {v, w}, {{2, 3}, {2, 2}});
  expect_gradient(put({Slice{}, Slice{2, {}, -2}}, true), {v, w}, {{2, 3}, {2, 2}});
  expect_gradient(put({Slice{}, i64({1, 1})}, false), {v, w}, {{2, 3}, {2, 2}});
  expect_gradient(put({Slice{}, i64({1, 1})}, true), {v, w}, {{2, 3}, {2, 2}});
}

TEST(Index, SymbolicSizes) {
  const Variable variable("n", 1, 4);
  const Int n(variable.bind(2));
  const Tensor x = counted({4, 3});
  expect_values(x[Slice{0, n}].sum(0), {3}, {3, 5, 7});
  expect_values(x[Slice{n, {}}].sum(0), {3}, {15, 17, 19});
  expect_values(x[n - Int(1)], {3}, {3, 4, 5});
  expect_values(x[i64({3, 0, 1, 2})[Slice{0, n}]].sum(0), {3}, {9, 11, 13});
  expect_elements(x.index_put({Slice{n - Int(1), n}}, 9), {4, 3},
                  [](const Place& i) { return i[0] == 1 ? 9 : i[0] * 3 + i[1]; });
  expect_elements(x.index_put({n - Int(1)}, counted({3}) + 50), {4, 3},
                  [](const Place& i) { return i[0] == 1 ? 50 + i[1] : i[0] * 3 + i[1]; });
  expect_values(x[Slice{0, n, 2}].sum(0), {3}, {0, 1, 2});
  expect_values(x[Slice{n - Int(1), {}, 2}].sum(0), {3}, {12, 14, 16});
  expect_error([&] { x[Slice{0, n, -1}]; },
               "is symbolic: the step must be from 1 to 1024, or negative without bounds, not -1");
}

/// Kinds of subscripts at random, against walking over all indices.
TEST(Index, RandomSubscripts) {
  std::mt19937 random(7);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (int turn = 0; turn < 60; ++turn) {
    const Ints shape = {2 + below(3), 2 + below(3), 2 + below(3)};
    const Tensor x = counted(shape);
    const std::int64_t m = 1 + below(3);
    Subscripts subscripts;
    std::vector<Place> taken(3);  // of each axis of x
    std::vector<int> kind;        // 0: integer, 1: slice, 2: tensor
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int64_t n = shape[k].value();
      kind.push_back(static_cast<int>(below(3)));
      if (kind[k] == 0) {
        const std::int64_t i = below(2 * n) - n;
        subscripts.emplace_back(i), taken[k] = {floor_mod(i, n)};
      } else if (kind[k] == 1) {
        const std::int64_t begin = below(n), step = 1 + below(2), end = below(n + 1);
        subscripts.emplace_back(Slice{begin, end, step}), taken[k] = walked(begin, end, step, n);
      } else {
        Place indices;
        for (std::int64_t j = 0; j < m; ++j) indices.push_back(below(2 * n) - n);
        subscripts.emplace_back(i64(indices));
        for (const std::int64_t i : indices) taken[k].push_back(floor_mod(i, n));
      }
    }
    // Axes that are left, in order; those of tensors are one. Apart they would be in front: here the first of them is.
    std::vector<std::size_t> left;
    for (std::size_t k = 0; k < 3; ++k)
      if (kind[k] == 1 || (kind[k] == 2 && std::count(kind.begin(), kind.begin() + static_cast<int>(k), 2) == 0))
        left.push_back(k);
    Place sizes;
    for (const std::size_t k : left) sizes.push_back(static_cast<std::int64_t>(taken[k].size()));
    const auto address = [&](const Place& i) {
      std::int64_t out = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        std::size_t at = 0;
        for (std::size_t j = 0; j < left.size(); ++j)
          if (left[j] == k || (kind[k] == 2 && kind[left[j]] == 2)) at = static_cast<std::size_t>(i[j]);
        out = out * shape[k].value() + taken[k][at];
      }
      return out;
    };
    expect_elements(x.index(subscripts), sizes, address);
    // What is put there is found there.
    const Tensor put = x.index_put(subscripts, x.index(subscripts) + 1000);
    EXPECT_EQ(values_of(put.index(subscripts)), values_of(x.index(subscripts) + 1000));
    std::vector<double> expected = values_of(x);
    for (const double v : values_of(x.index(subscripts))) expected[static_cast<std::size_t>(v)] = v + 1000;
    EXPECT_EQ(values_of(put), expected);
  }
}

}  // namespace
}  // namespace strata::test
