// Steps of graph programs: reductions, what is cumulative, order, and products.
#include <algorithm>

#include "strata/tensor/functional.h"
#include "tests/fuzz/graph_program.h"

namespace strata::oracle {

namespace {

using Tensors = GraphOp::Tensors;

/// Axes as bits (none: all), and whether they stay.
bool draw_axes(Choices& c, Tensors in, StepArgs& args) {
  const auto n = static_cast<std::uint32_t>(in[0].ndim());
  const bool several = n > 0 && c.chance(30);
  args = {c.chance(20) || n == 0 ? 0 : several ? 1 + c.below((1U << n) - 1) : 1 << c.below(n), c.chance(40) ? 1 : 0};
  return true;
}
AxesArg axes_of_bits(std::int64_t bits) {
  Axes out;
  for (std::int64_t k = 0; bits >> k != 0; ++k)
    if ((bits >> k & 1) != 0) out.push_back(k);
  return out;
}
bool draw_axis_and_flag(Choices& c, Tensors in, StepArgs& args) {
  const std::int64_t n = std::max<std::int64_t>(in[0].ndim(), 1);
  args = {c.below(static_cast<std::uint32_t>(n)), c.chance(40) ? 1 : 0, c.below(4)};
  if (c.chance(20)) args[0] -= n;
  return true;
}

using Method = Tensor (Tensor::*)(const AxesArg&, bool, At) const;
GraphOp reduction(const char* name, Method f) {
  return {name, 1, draw_axes,
          [f](Tensors in, const StepArgs& a) { return (in[0].*f)(axes_of_bits(a[0]), a[1] != 0, At::current()); }};
}
/// Of a tensor, an axis, a flag and a number from 0 to 3.
template <class F>
GraphOp along(const char* name, const F& f) {
  return {name, 1, draw_axis_and_flag, [f](Tensors in, const StepArgs& a) { return f(in[0], a[0], a[1] != 0, a[2]); }};
}

GraphFamily reductions() {
  return {
      16,
      {reduction("sum", &Tensor::sum),
       reduction("sum", &Tensor::sum),
       reduction("max", &Tensor::max),
       reduction("min", &Tensor::min),
       reduction("mean", &Tensor::mean),
       reduction("prod", &Tensor::prod),
       reduction("any", &Tensor::any),
       reduction("all", &Tensor::all),
       reduction("logsumexp", &Tensor::logsumexp),
       {"var", 1, draw_axes, [](Tensors in, const StepArgs& a) { return in[0].var(axes_of_bits(a[0]), 0, a[1] != 0); }},
       {"norm", 1, draw_axes,
        [](Tensors in, const StepArgs& a) { return (in[0].abs() + 0.5).norm(2, axes_of_bits(a[0]), a[1] != 0); }},
       {"count_nonzero", 1, draw_axes,
        [](Tensors in, const StepArgs& a) { return in[0].count_nonzero(axes_of_bits(a[0])); }}}};
}
GraphFamily reductions_of_an_axis() {
  return {8,
          {along("softmax", [](const Tensor& x, auto axis, bool, auto) { return x.softmax(axis); }),
           along("log_softmax", [](const Tensor& x, auto axis, bool, auto) { return x.log_softmax(axis); }),
           along("argmax", [](const Tensor& x, auto axis, bool f, auto) { return x.argmax(axis, f); }),
           along("argmin", [](const Tensor& x, auto axis, bool f, auto) { return x.argmin(axis, f); }),
           along("normalized", [](const Tensor& x, auto axis, bool,
                                  auto) { return (x - x.mean(axis, true)) * (x.var(axis, 0, true) + 0.5).rsqrt(); }),
           along("cumsum", [](const Tensor& x, auto axis, bool, auto) { return x.cumsum(axis); }),
           along("cumsum", [](const Tensor& x, auto axis, bool, auto) { return x.cumsum(axis); }),
           along("cumprod", [](const Tensor& x, auto axis, bool, auto) { return x.cumprod(axis); }),
           along("cummax", [](const Tensor& x, auto axis, bool f,
                              auto) { return f ? x.cummax(axis).first : x.cummax(axis).second; }),
           along("cummin", [](const Tensor& x, auto axis, bool f,
                              auto) { return f ? x.cummin(axis).first : x.cummin(axis).second; }),
           along("linear_recurrence",
                 [](const Tensor& x, auto axis, bool f, auto) {
                   return (x.dtype().is_bool() ? x.cast(dtypes::int32) : x)
                       .linear_recurrence(f ? (x * 0.1).tanh() : Tensor(0.5), axis);
                 }),
           along("lfilter",
                 [](const Tensor& x, auto axis, bool f, auto) {
                   const Tensor b = Tensor::arange(1, 3) * 0.25, a = Tensor::arange(1, f ? 3 : 5) * (f ? -0.5 : 0.125);
                   return x.lfilter(b, (a + 2) * 0.5, axis);
                 }),
           along("logcumsumexp", [](const Tensor& x, auto axis, bool, auto) { return x.logcumsumexp(axis); })}};
}
GraphFamily orders() {
  return {
      2,
      {along("sort", [](const Tensor& x, auto axis, bool f, auto) { return x.sort(axis, f).first; }),
       along("argsort", [](const Tensor& x, auto axis, bool f, auto) { return x.argsort(axis, f); }),
       along("topk", [](const Tensor& x, auto axis, bool f, auto k) { return x.topk(k, axis, f).first; }),
       along("median", [](const Tensor& x, auto axis, bool f, auto) { return x.median(axis, f).first; }),
       along("kthvalue", [](const Tensor& x, auto axis, bool f, auto k) { return x.kthvalue(k, axis, f).second; })}};
}

/// Four small sizes and two flags.
bool draw_sizes(Choices& c, Tensors, StepArgs& args) {
  args.clear();
  for (int k = 0; k < 4; ++k) args.push_back(1 + c.below(4));
  for (int k = 0; k < 2; ++k) args.push_back(c.chance(40) ? 1 : 0);
  return true;
}
Tensor convolution(Tensors in, const StepArgs& a) {
  const Tensor x = shaped(in[0], {a[4] + 1, 2, a[0] + 2, a[1] + 3});
  const Tensor w = shaped(in[1], {a[2], 2, 1 + a[0] / 2, 1 + a[1] / 2});
  return conv2d(x, w, {}, {.stride = 1 + a[5], .padding = a[4], .dilation = 1});
}
Tensor pooled(Tensors in, const StepArgs& a) {
  const Tensor x = shaped(in[0], {1, a[2], a[0] + 2, a[1] + 2});
  if (a[4] != 0) return max_pool2d(x, 2, {.stride = PerAxis(1 + a[5])});
  return avg_pool2d(x, 2, {.stride = PerAxis(1 + a[5]), .padding = a[5]});
}
Tensor einsum_of(Tensors in, const StepArgs& a) {
  const std::vector<Tensor> both{shaped(in[0], {a[0], a[1], a[2]}), shaped(in[1], {a[1], a[2], a[3]})};
  constexpr const char* kFormulas[] = {"ijk,jkl->il", "ijk,jkl->jil", "ijk,jkl->ikl", "ijk,jkl->"};
  return Tensor::einsum(kFormulas[2 * a[4] + a[5]], both);
}
GraphFamily products() {
  return {
      6,
      {{"matmul", 2, draw_sizes,
        [](Tensors in, const StepArgs& a) { return shaped(in[0], {a[0], a[1]}).matmul(shaped(in[1], {a[1], a[2]})); }},
       {"matmul_as_is", 2, draw_sizes, [](Tensors in, const StepArgs&) { return in[0].matmul(in[1]); }},
       {"matmul_own", 1, draw_sizes, [](Tensors in, const StepArgs&) { return in[0].matmul(in[0].transpose()); }},
       {"outer", 2, draw_sizes,
        [](Tensors in, const StepArgs& a) { return shaped(in[0], {a[0]}).outer(shaped(in[1], {a[1]})); }},
       {"einsum", 2, draw_sizes, einsum_of},
       {"conv2d", 2, draw_sizes, convolution},
       {"pool2d", 1, draw_sizes, pooled},
       {"attention", 3, draw_sizes, [](Tensors in, const StepArgs& a) {
          const Ints shape{a[0], a[1], a[2]};
          return scaled_dot_product_attention(shaped(in[0], shape), shaped(in[1], shape), shaped(in[2], shape),
                                              {.causal = a[4] != 0});
        }}}};
}

Tensor interpolated(Tensors in, const StepArgs& a) {
  const Tensor x = shaped(in[0], {1, a[0], 1 + a[1], 1 + a[2]});
  const bool is_linear = a[4] != 0;
  return interpolate(x, {.size = PerAxis{1 + a[3], 2 + a[0]},
                         .mode = is_linear ? Interpolation::linear : Interpolation::nearest,
                         .align_corners = is_linear && a[5] != 0});
}
GraphFamily functions() {
  return {3,
          {{"layer_norm", 1, draw_sizes,
            [](Tensors in, const StepArgs&) { return layer_norm(in[0], {in[0].size(-1)}, {}, {}, 0.5); }},
           {"cross_entropy", 2, draw_sizes,
            [](Tensors in, const StepArgs& a) {
              const Tensor classes = shaped(in[1], {a[0]}).cast(dtypes::int64).remainder(a[1]);
              return cross_entropy(shaped(in[0], {a[0], a[1]}), classes,
                                   {.reduction = a[4] != 0 ? Reduction::none : Reduction::mean});
            }},
           {"interpolate", 1, draw_sizes, interpolated},
           {"huber", 2, draw_sizes,
            [](Tensors in, const StepArgs&) { return huber_loss(in[0], in[1], 1, Reduction::none); }},
           {"conv_transpose2d", 2, draw_sizes, [](Tensors in, const StepArgs& a) {
              const Tensor x = shaped(in[0], {1, a[0], a[1], a[2]});
              return conv_transpose2d(x, shaped(in[1], {a[0], a[3], 2, 1 + a[4]}), {}, {.stride = 1 + a[5]});
            }}}};
}

}  // namespace

std::vector<GraphFamily> reduction_families() {
  return {reductions(), reductions_of_an_axis(), orders(), products(), functions()};
}

}  // namespace strata::oracle
