// Convolutions, and images as columns, against loops.

#include "strata/tensor/functional.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

struct Case {
  Place x, w;
  Place stride = {1, 1, 1}, dilation = {1, 1, 1}, before = {0, 0, 0}, after = {0, 0, 0};
  std::int64_t groups = 1;
  std::size_t axes() const { return x.size() - 2; }
  PerAxis each(const Place& p) const { return std::vector(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(axes())); }
  ConvOptions options() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> sides;
    for (std::size_t k = 0; k < axes(); ++k) sides.emplace_back(before[k], after[k]);
    return {.stride = each(stride), .padding = sides, .dilation = each(dilation), .groups = groups};
  }
};

std::vector<Case> cases() {
  std::vector<Case> out = {
      {{2, 3, 7}, {4, 3, 3}},       {{1, 2, 5, 6}, {3, 2, 2, 3}}, {{1, 1, 3, 4, 5}, {2, 1, 2, 1, 3}},
      {{1, 2, 4, 4}, {3, 2, 1, 1}}, {{1, 2, 4, 4}, {3, 2, 4, 4}}, {{0, 2, 4}, {3, 2, 2}},
  };
  for (const std::int64_t s : {1, 2, 3})
    for (const std::int64_t d : {1, 2})
      for (const std::int64_t p : {0, 2}) out.push_back({{1, 4, 8}, {6, 2, 3}, {s}, {d}, {p}, {p + 1}, 2});
  out.push_back({{1, 2, 7, 6}, {2, 2, 3, 2}, {2, 1}, {1, 2}, {1, 0}, {2, 1}});
  out.push_back({{1, 4, 5, 5}, {4, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 4});
  out.push_back({{1, 2, 6, 6}, {2, 2, 2, 2}, {2, 2}});  // windows that do not overlap
  out.push_back({{1, 1, 7}, {1, 1, 2}, {3}});           // and leave out elements
  return out;
}

/// The terms of output `at`: the places of the input, perhaps in the padding, and of the weight.
template <class F>
void for_each_term(const Case& c, const Place& at, const F& f) {
  const std::int64_t own = c.w[1], group = at[1] / (c.w[0] / c.groups);
  const Place kernel(c.w.begin() + 2, c.w.end());
  for (std::int64_t ch = 0; ch < own; ++ch)
    for_each_place(kernel, [&](const Place& k) {
      Place from = {at[0], group * own + ch}, by = {at[1], ch};
      for (std::size_t a = 0; a < k.size(); ++a) {
        from.push_back(at[a + 2] * c.stride[a] + k[a] * c.dilation[a] - c.before[a]);
        by.push_back(k[a]);
      }
      f(from, by);
    });
}

double conv_at(const Case& c, const Array& x, const Array& w, const Place& at) {
  double sum = 0;
  for_each_term(c, at, [&](const Place& from, const Place& by) { sum += x.at(from) * w.at(by); });
  return sum;
}

Place result_of(const Case& c) {
  Place out = {c.x[0], c.w[0]};
  for (std::size_t a = 0; a < c.axes(); ++a)
    out.push_back((c.x[a + 2] + c.before[a] + c.after[a] - (c.w[a + 2] - 1) * c.dilation[a] - 1) / c.stride[a] + 1);
  return out;
}

TEST(Convolution, IsTheSumOverChannelsAndKernel) {
  for (const Case& c : cases()) {
    const Array x(c.x, 1), w(c.w, 2), b({c.w[0]}, 3);
    SCOPED_TRACE(::testing::PrintToString(c.x) + ::testing::PrintToString(c.w) + ::testing::PrintToString(c.stride));
    expect_near(conv_nd(x.tensor(), w.tensor(), b.tensor(), c.options()), result_of(c),
                [&](const Place& at) { return conv_at(c, x, w, at) + b.at({at[1]}); });
  }
}

/// The derivatives of <conv(x), y>, by the definition: by x, and by the weight.
struct Slopes {
  Array x, w;
};
Slopes slopes_of(const Case& c, const Array& x, const Array& w, const Array& y) {
  Slopes out{Array(c.x, 0), Array(c.w, 0)};
  std::fill(out.x.values.begin(), out.x.values.end(), 0);
  std::fill(out.w.values.begin(), out.w.values.end(), 0);
  for_each_place(y.shape, [&](const Place& at) {
    for_each_term(c, at, [&](const Place& from, const Place& by) {
      if (!x.holds(from)) return;
      out.x.values[out.x.flat(from)] += w.at(by) * y.at(at);
      out.w.values[out.w.flat(by)] += x.at(from) * y.at(at);
    });
  });
  return out;
}

/// Gradients, and transposed convolutions, which are the gradients by the input where sizes divide.
TEST(Convolution, GradientsAndTransposedAreTheAdjoint) {
  std::vector<Case> all = cases();
  for (const std::int64_t k : {1, 2, 3, 5})  // phases: with and without elements, all shifts
    for (const std::int64_t s : {2, 3, 4})
      for (const std::int64_t d : {1, 2, 3})
        for (const std::int64_t p : {0, 1, 3}) all.push_back({{2, 2, 14}, {2, 2, k}, {s}, {d}, {p}, {p}, 1});
  all.push_back({{1, 2, 9, 11}, {4, 1, 3, 4}, {2, 3}, {1, 2}, {1, 2}, {1, 2}, 2});
  all.push_back({{1, 1, 5, 6, 7}, {2, 1, 2, 3, 3}, {2, 1, 2}, {1, 1, 2}, {1, 1, 2}, {1, 1, 2}});
  all.push_back({{1, 1, 40}, {1, 1, 3}, {17}});  // more phases than are cut
  for (const Case& c : all) {
    if (c.x[0] == 0) continue;
    const Array x(c.x, 1), w(c.w, 2), y(result_of(c), 4);
    const Slopes expected = slopes_of(c, x, w, y);
    SCOPED_TRACE(::testing::PrintToString(c.x) + ::testing::PrintToString(c.w) + ::testing::PrintToString(c.stride) +
                 ::testing::PrintToString(c.dilation) + ::testing::PrintToString(c.before));
    Tensor input = x.tensor().requires_grad(true), weight = w.tensor().requires_grad(true);
    conv_nd(input, weight, {}, c.options()).backward(y.tensor());
    expect_near(*input.grad(), c.x, [&](const Place& at) { return expected.x.at(at); });
    expect_near(*weight.grad(), c.w, [&](const Place& at) { return expected.w.at(at); });
    if (c.before != c.after) continue;
    std::vector<std::int64_t> more;
    for (std::size_t a = 0; a < c.axes(); ++a)
      more.push_back((c.x[a + 2] + 2 * c.before[a] - (c.w[a + 2] - 1) * c.dilation[a] - 1) % c.stride[a]);
    Tensor values = y.tensor().requires_grad(true), kernel = w.tensor().requires_grad(true);
    const Tensor back = conv_transpose_nd(values, kernel, {},
                                          {.stride = c.each(c.stride),
                                           .padding = c.each(c.before),
                                           .output_padding = more,
                                           .groups = c.groups,
                                           .dilation = c.each(c.dilation)});
    expect_near(back, c.x, [&](const Place& at) { return expected.x.at(at); });
    // <conv_transpose(y), x> is <y, conv(x)>: its gradients are the convolution, and those of the weight from above.
    back.backward(x.tensor());
    expect_near(*values.grad(), y.shape, [&](const Place& at) { return conv_at(c, x, w, at); });
    expect_near(*kernel.grad(), c.w, [&](const Place& at) { return expected.w.at(at); });
  }
}

// The gradient of each layer by its weight differentiates that layer alone: with all layers below, 40 layers would take
// 2^40 steps.
TEST(Convolution, ADeepNetIsDifferentiatedOnce) {
  for (const bool is_transposed : {false, true}) {
    const Tensor x = counted({1, 1, 8}).cast(dtypes::float64).requires_grad(true);
    std::vector<Tensor> weights;
    Tensor y = x;
    for (int layer = 0; layer < 40; ++layer) {
      weights.push_back((f64({0.2, 0.5, 0.3}, {1, 1, 3})).requires_grad(true));
      y = is_transposed ? conv_transpose1d(y, weights.back(), {}, {.padding = 1})
                        : conv1d(y, weights.back(), {}, {.padding = 1});
    }
    const std::vector<Tensor> by = gradients(y.sum(), weights);
    EXPECT_LT(postorder(by[0].node()).size(), 20000U);
  }
}

/// The products of the gradient are of one dtype.
TEST(Convolution, TransposedGradientsOfMixedDtypes) {
  const Tensor x = i64({1, 2, 3, 4}, {1, 1, 2, 2});
  const Tensor by = grad([&](const Tensor& w) { return conv_transpose2d(x, w).sum(); })(f64({2, 3}, {1, 1, 1, 2}));
  expect_values(by, {1, 1, 1, 2}, {10, 10});
}

TEST(Convolution, TransposedByHand) {
  const Tensor x = i64({1, 2}, {1, 1, 2}).cast(dtypes::float64), w = i64({1, 10, 100}, {1, 1, 3}).cast(dtypes::float64);
  expect_values(conv_transpose1d(x, w), {1, 1, 4}, {1, 12, 120, 200});
  expect_values(conv_transpose1d(x, w, i64({1}), {.stride = 2}), {1, 1, 5}, {2, 11, 103, 21, 201});
  expect_values(conv_transpose1d(x, w, {}, {.stride = 2, .padding = 1, .output_padding = 1}), {1, 1, 4},
                {10, 102, 20, 200});
  // Sides that differ, a size that is asked for, and "same".
  expect_values(conv_transpose1d(x, w, {}, {.stride = 2, .padding = {{1, 0}}}), {1, 1, 4}, {10, 102, 20, 200});
  expect_values(conv_transpose1d(x, w, {}, {.padding = {{0, 2}}}), {1, 1, 2}, {1, 12});
  expect_values(conv_transpose1d(x, w, {}, {.padding = "same"}), {1, 1, 2}, {12, 120});
  expect_values(conv_transpose1d(x, w, {}, {.stride = 2, .padding = 1, .output_size = 4}), {1, 1, 4},
                {10, 102, 20, 200});
  expect_values(conv_transpose1d(x, w, {}, {.stride = 2, .padding = 1, .output_size = 3}), {1, 1, 3}, {10, 102, 20});
}

// Both ways in which it is computed, and their gradients: the sides cut the whole result.
TEST(Convolution, TransposedWithSidesThatDiffer) {
  for (const std::int64_t stride : {1, 2, 3}) {
    const Array x({2, 4, 5, 4}, 1), w({4, 3, 3, 4}, 2);
    const auto by = [&](const ConvPadding::Sides& sides) {
      return [&, sides](const Tensor& at) {
        return conv_transpose2d(at, w.tensor(), {}, {.stride = stride, .padding = sides, .output_padding = stride - 1});
      };
    };
    const auto whole = by({{0, 0}, {0, 0}});
    const auto cut = [&](const Tensor& at) { return whole(at).pad({{0, 0}, {0, 0}, {-2, 0}, {-1, -3}}); };
    const auto own = by({{2, 0}, {1, 3}});
    const Tensor expected = cut(x.tensor()), y = own(x.tensor());
    ASSERT_EQ(y.shape(), expected.shape()) << stride;
    EXPECT_TRUE(y.allclose(expected, 1e-9, 1e-12)) << stride;
    const auto slope = [&](const auto& f) {
      return grad([&](const Tensor& at) { return f(at).square().sum(); })(x.tensor());
    };
    EXPECT_TRUE(slope(own).allclose(slope(cut), 1e-9, 1e-12)) << stride;
  }
}

TEST(Convolution, PaddingInWords) {
  const Array x({1, 2, 5, 5}, 1), w({3, 2, 2, 3}, 2);
  const Tensor same = conv2d(x.tensor(), w.tensor(), {}, {.padding = "same"});
  const Case c = {x.shape, w.shape, {1, 1}, {1, 1}, {0, 1}, {1, 1}};
  expect_near(same, {1, 3, 5, 5}, [&](const Place& at) { return conv_at(c, x, w, at); });
  EXPECT_EQ(conv2d(x.tensor(), w.tensor(), {}, {.padding = "valid"}).shape(), Ints({1, 3, 4, 3}));
  EXPECT_EQ(conv2d(x.tensor(), w.tensor(), {}, {.padding = {1, 2}}).shape(), Ints({1, 3, 6, 7}));
  EXPECT_EQ(conv2d(x.tensor(), w.tensor(), {}, {.padding = 1}).shape(), Ints({1, 3, 6, 5}));
}

TEST(Convolution, WithoutABatchAndOfIntegers) {
  const Tensor x = counted({1, 4}, dtypes::int32), w = i64({1, -1}, {1, 1, 2}).cast(dtypes::int32);
  expect_values(conv1d(x, w), {1, 3}, {-1, -1, -1});
  EXPECT_EQ(conv1d(x, w).dtype(), dtypes::int32);
}

TEST(Convolution, ErrorsNameTheShapes) {
  const Tensor x = counted({1, 2, 5}), w = counted({3, 2, 3});
  expect_error([&] { conv2d(x, w); },
               "[conv2d] the weight has shape (3, 2, 3); two channel dimensions and 2 kernel sizes");
  expect_error([&] { conv1d(counted({5}), w); }, "[conv1d] the input has shape (5,)");
  expect_error([&] { conv1d(x, counted({3, 3, 3})); },
               "[conv1d] the input has 2 channels; a weight of shape (3, 3, 3) and 1 group need 3");
  expect_error([&] { conv1d(x, w, {}, {.groups = 2}); }, "[conv1d] 2 groups");
  expect_error([&] { conv1d(x, w, {}, {.groups = 0}); }, "[conv1d] 0 groups");
  expect_error([&] { conv1d(x, w, {}, {.stride = 0}); }, "[conv1d] stride 0: 1 to");
  expect_error([&] { conv1d(x, w, {}, {.stride = {1, 1}}); }, "[conv1d] stride of 2 axes, not 1");
  expect_error([&] { conv1d(x, w, {}, {.padding = -1}); }, "[conv1d] padding -1");
  expect_error([&] { conv1d(x, w, {}, {.stride = 2, .padding = "same"}); }, "needs stride 1, not 2");
  expect_error([&] { conv1d(x, w, {}, {.padding = "full"}); }, "padding \"full\"");
  expect_error([&] { conv1d(x, w, {}, {.dilation = 3}); }, "spans 7 elements does not fit the 5");
  expect_error([&] { conv1d(x, w, {}, {.dilation = std::int64_t{1} << 62}); }, "dilation");
  expect_error([&] { conv1d(x, w, counted({2})); }, "a bias of shape (2,) does not match 3 channels");
  expect_error([&] { conv1d(counted({1, 2, 0}), w); }, "does not fit the 0");
  expect_error([&] { conv_transpose1d(x, counted({2, 3, 3}), {}, {.output_padding = 1}); }, "output padding 1");
  expect_error([&] { conv_transpose1d(counted({1, 2, 1}), counted({2, 3, 1}), {}, {.padding = 1}); }, "leaves nothing");
  expect_error([&] { conv_transpose1d(x, counted({2, 3, 3}), {}, {.stride = 2, .output_size = 13}); },
               "[conv_transpose1d] the output size 13 of spatial axis 0 is not from 11 to 12");
  expect_error([&] { conv_transpose1d(x, counted({2, 3, 3}), {}, {.stride = 2, .padding = "same"}); },
               "needs stride 1");
}

TEST(Columns, AreWindowsAndGoBack) {
  const Array x({2, 2, 5, 4});
  const UnfoldOptions o = {.dilation = {2, 1}, .padding = {1, 0}, .stride = {1, 2}};
  const Tensor columns = unfold(x.tensor(), {2, 2}, o);  // 5 x 2 windows
  expect_near(columns, {2, 8, 10}, [&](const Place& at) {
    const std::int64_t ch = at[1] / 4, kh = at[1] / 2 % 2, kw = at[1] % 2, oh = at[2] / 2, ow = at[2] % 2;
    return x.at({at[0], ch, oh + 2 * kh - 1, 2 * ow + kw});
  });
  const Array y({2, 8, 10}, 3);
  expect_near(fold(y.tensor(), {5, 4}, {2, 2}, o), {2, 2, 5, 4}, [&](const Place& at) {
    double sum = 0;
    for_each_place({2, 2, 5, 2}, [&](const Place& k) {
      if (k[2] + 2 * k[0] - 1 == at[2] && 2 * k[3] + k[1] == at[3])
        sum += y.at({at[0], at[1] * 4 + k[0] * 2 + k[1], k[2] * 2 + k[3]});
    });
    return sum;
  });
  {
    const NoGrad none;
    expect_values(fold(Tensor::ones({1, 2, 2}).to("INTERP"), {1, 3}, {1, 2}), {1, 1, 1, 3}, {1, 2, 1});
  }
  EXPECT_EQ(unfold(counted({1, 4, 4}), 2).shape(), Ints({4, 9}));
  EXPECT_EQ(fold(counted({4, 9}), 4, 2).shape(), Ints({1, 4, 4}));
  expect_error([&] { fold(counted({4, 8}), 4, 2); },
               "[fold] columns of shape (4, 8) do not match an image of 4 x 4, which has 9");
  expect_error([&] { fold(counted({3, 9}), 4, 2); }, "[fold] columns of 3 elements do not match a kernel of 4");
}

/// One axis, each kind of window: apart, overlapping, many elements.
TEST(Columns, OfAllKindsOfWindows) {
  struct Kind {
    std::int64_t size, kernel, stride, dilation, padding;
  };
  const Kind kinds[] = {{9, 3, 1, 1, 0}, {9, 3, 3, 1, 0},  {9, 2, 4, 2, 1},   {9, 3, 2, 2, 1},
                        {7, 1, 2, 1, 0}, {14, 9, 1, 1, 0}, {30, 10, 3, 2, 2}, {9, 9, 1, 1, 0}};
  for (const Kind& c : kinds) {
    SCOPED_TRACE(::testing::PrintToString(Place{c.size, c.kernel, c.stride, c.dilation, c.padding}));
    const std::int64_t count = (c.size + 2 * c.padding - (c.kernel - 1) * c.dilation - 1) / c.stride + 1;
    const UnfoldOptions o = {.dilation = {1, c.dilation}, .padding = {0, c.padding}, .stride = {1, c.stride}};
    const Array x({1, 1, 1, c.size}, 1), y({1, c.kernel, count}, 2);
    const auto element = [&](std::int64_t k, std::int64_t w) { return w * c.stride + k * c.dilation - c.padding; };
    expect_near(unfold(x.tensor(), {1, c.kernel}, o), y.shape,
                [&](const Place& p) { return x.at({0, 0, 0, element(p[1], p[2])}); });
    const auto sum = [&](const Place& p) {
      double out = 0;
      for_each_place(y.shape, [&](const Place& q) { out += element(q[1], q[2]) == p[3] ? y.at(q) : 0; });
      return out;
    };
    expect_near(fold(y.tensor(), {1, c.size}, {1, c.kernel}, o), x.shape, sum);
    Tensor image = x.tensor().requires_grad(true), columns = y.tensor().requires_grad(true);
    unfold(image, {1, c.kernel}, o).backward(y.tensor());
    expect_near(*image.grad(), x.shape, sum);
    fold(columns, {1, c.size}, {1, c.kernel}, o).backward(x.tensor());
    expect_near(*columns.grad(), y.shape, [&](const Place& p) { return x.at({0, 0, 0, element(p[1], p[2])}); });
  }
}

/// Gradients of gradients.
TEST(Convolution, SecondGradients) {
  const Tensor w = Array({2, 2, 3}, 2).tensor(), wt = Array({2, 2, 3}, 3).tensor();
  const auto slope = [](const TensorFunction& f) {
    return [f](const Tensor& x) {
      return value_and_grad([&f](const Tensor& t) { return f(t).square().sum(); }, x).second;
    };
  };
  const std::vector<double> values = spread(10, -1, 1);
  expect_gradient(slope([&](const Tensor& x) { return conv1d(x, w, {}, {.stride = 2, .padding = 1}); }), values,
                  {1, 2, 5});
  expect_gradient(slope([&](const Tensor& x) { return conv_transpose1d(x, wt, {}, {.stride = 2}); }), values,
                  {1, 2, 5});
}

TEST(Convolution, Gradients) {
  expect_gradients([](const Many& x) { return conv1d(x[0], x[1], x[2], {.stride = 2, .padding = 1}); },
                   {{1, 2, 5}, {2, 2, 3}, {2}});
  expect_gradients([](const Many& x) { return conv1d(x[0], x[1], {}, {.dilation = 2, .groups = 2}); },
                   {{1, 2, 5}, {2, 1, 2}});
  expect_gradients([](const Many& x) { return conv2d(x[0], x[1], {}, {.padding = "same"}); },
                   {{1, 1, 3, 3}, {2, 1, 2, 3}});
  expect_gradients([](const Many& x) { return conv1d(x[0], x[1], {}, {.stride = 2}); }, {{1, 1, 5}, {1, 1, 2}});
  expect_gradients([](const Many& x) { return conv_transpose1d(x[0], x[1], x[2], {.stride = 2, .padding = 1}); },
                   {{1, 2, 3}, {2, 2, 3}, {2}});
  expect_gradients([](const Many& x) { return unfold(x[0], 2, {.padding = 1, .stride = 2}); }, {{1, 1, 3, 3}});
  expect_gradients([](const Many& x) { return fold(x[0], 3, 2); }, {{1, 4, 4}});
}

}  // namespace
}  // namespace strata::test
