// Steps of graph programs: indexing by tensors, gradients, and what says when and where something is computed.
#include <algorithm>

#include "strata/tensor/access.h"
#include "strata/tensor/autograd.h"
#include "tests/fuzz/graph_program.h"

namespace strata::oracle {

namespace {

using Tensors = GraphOp::Tensors;

/// An axis, three small sizes, and whether indices may be outside.
bool draw_indices(Choices& c, Tensors in, StepArgs& args) {
  args = {c.below(static_cast<std::uint32_t>(std::max<std::int64_t>(in[0].ndim(), 1)))};
  for (int k = 0; k < 3; ++k) args.push_back(1 + c.below(3));
  args.push_back(c.chance(10) ? 1 : 0);
  return in[0].ndim() > 0 && !in[1].dtype().is_float();
}
/// Integers of `shape` that are indices of the axis, some counted from the end.
Tensor indices(Tensors in, const StepArgs& a, const Ints& shape) {
  const Tensor any = shaped(in[1], shape).cast(dtypes::int64);
  if (a[4] != 0) return any;
  const std::int64_t size = std::max<std::int64_t>(sizes_of(in[0])[place(a[0])], 1);
  return any.remainder(size) - (a[1] == 2 ? size : 0);
}
/// The shape of the first operand, with another size of the axis.
Ints resized(Tensors in, const StepArgs& a, std::int64_t size) {
  Ints out = to_ints(sizes_of(in[0]));
  out[place(a[0])] = size;
  return out;
}
Tensor values(Tensors in, const Ints& shape) { return shaped(in[2], shape).cast(in[0].dtype()); }

Tensor indexed(Tensors in, const StepArgs& a) {
  std::vector<Subscript> subscripts;
  for (std::int64_t k = 0; k < a[0]; ++k) subscripts.emplace_back(Slice{});
  if (a[3] == 2) subscripts.emplace_back(new_axis);
  subscripts.emplace_back(indices(in, a, {a[2], a[3]}));
  return in[0].index(subscripts);
}
GraphFamily reads() {
  const auto one = [](auto f) {
    return [f](Tensors in, const StepArgs& a) { return f(in[0], a[0], indices(in, a, {a[2]})); };
  };
  return {6,
          {{"gather", 2, draw_indices,
            [](Tensors in, const StepArgs& a) { return in[0].gather(a[0], indices(in, a, resized(in, a, a[2]))); }},
           {"index_select", 2, draw_indices,
            one([](const Tensor& x, auto axis, const Tensor& at) { return x.index_select(axis, at); })},
           {"index", 2, draw_indices, indexed},
           {"take", 2, draw_indices, one([](const Tensor& x, auto, const Tensor& at) { return x.take(at); })},
           {"one_hot", 2, draw_indices,
            [](Tensors in, const StepArgs& a) { return indices(in, a, {a[2], a[3]}).remainder(4).one_hot(4); }},
           {"searchsorted", 2, draw_indices, [](Tensors in, const StepArgs& a) {
              return shaped(in[0], {a[2] + 1}).sort().first.searchsorted(shaped(in[0], {a[3]}));
            }}}};
}
GraphFamily writes() {
  const auto at_resized = [](auto f) {
    return [f](Tensors in, const StepArgs& a) {
      const Ints shape = resized(in, a, a[2]);
      return f(in[0], a, indices(in, a, shape), values(in, shape));
    };
  };
  const auto at_rows = [](auto f) {
    return [f](Tensors in, const StepArgs& a) {
      return f(in[0], a, indices(in, a, {a[2]}), values(in, resized(in, a, a[2])));
    };
  };
  using T = const Tensor&;
  using A = const StepArgs&;
  return {6,
          {{"scatter", 3, draw_indices, at_resized([](T x, A a, T at, T v) { return x.scatter(a[0], at, v); })},
           {"scatter_add", 3, draw_indices, at_resized([](T x, A a, T at, T v) { return x.scatter_add(a[0], at, v); })},
           {"scatter_reduce", 3, draw_indices, at_resized([](T x, A a, T at, T v) {
              const auto how = static_cast<Tensor::Reduce>((a[1] + a[3]) % 5);
              return x.scatter_reduce(a[0], at, v, how, a[3] != 2);
            })},
           {"index_add", 3, draw_indices, at_rows([](T x, A a, T at, T v) { return x.index_add(a[0], at, v); })},
           {"index_copy", 3, draw_indices, at_rows([](T x, A a, T at, T v) { return x.index_copy(a[0], at, v); })},
           {"index_put", 3, draw_indices, [](Tensors in, const StepArgs& a) {
              std::vector<Subscript> subscripts;
              for (std::int64_t k = 0; k < a[0]; ++k) subscripts.emplace_back(Slice{});
              subscripts.emplace_back(indices(in, a, {a[2]}));
              return in[0].index_put(subscripts, values(in, resized(in, a, a[2])), a[3] == 1);
            }}}};
}

bool draw_nothing(Choices&, Tensors, StepArgs& args) { return args.clear(), true; }
/// What the outputs are summed as: 0 themselves, 1 their squares.
bool draw_gradient(Choices& c, Tensors in, StepArgs& args) {
  args = {c.chance(40) ? 1 : 0};
  return in[0].requires_grad() && in[0].dtype().is_float() && TensorAccess::state(in[1])->slot != nullptr;
}
Tensor loss(const Tensor& y, const StepArgs& a) { return (a[0] != 0 ? y.square() : y).sum(); }
Tensor backward(Tensors in, const StepArgs& a) {
  in[1].set_grad({});
  loss(in[0], a).backward();
  const Tensor out = in[1].grad() ? *in[1].grad() : in[1].zeros_like();
  in[1].set_grad({});
  return out;
}

GraphFamily gradients_of_inputs() {
  return {8,
          {{"grad", 2, draw_gradient,
            [](Tensors in, const StepArgs& a) {
              return gradients(loss(in[0], a), in.subspan(1, 1), {}, Unused::zeros).front();
            }},
           {"backward", 2, draw_gradient, backward}}};
}
GraphFamily places() {
  const auto step = [](const char* name, auto f) {
    return GraphOp{name, 1, draw_nothing, [f](Tensors in, const StepArgs&) { return f(in[0]); }};
  };
  return {3,
          {step("contiguous", [](const Tensor& x) { return x.contiguous(); }),
           step("detach", [](const Tensor& x) { return x.detach(); }),
           step("realize",
                [](const Tensor& x) {
                  if (GraphBuild::current()->realizes) x.realize();
                  return x.reshape(x.shape());  // each step gives a tensor of its own
                }),
           step("assigned", [](const Tensor& x) {
             const Tensor out = x.zeros_like().contiguous();
             out.assign(x + out);
             return out;
           })}};
}

}  // namespace

std::vector<GraphFamily> index_families() { return {reads(), writes()}; }
std::vector<GraphFamily> gradient_families() { return {gradients_of_inputs(), places()}; }

}  // namespace strata::oracle
