// Steps of graph programs: movement, and several tensors together.
#include <algorithm>
#include <numeric>

#include "tests/fuzz/graph_program.h"

namespace strata::oracle {

namespace {

using Tensors = GraphOp::Tensors;

std::int64_t from_to(Choices& c, std::int64_t low, std::int64_t high) {
  return low + c.below(static_cast<std::uint32_t>(std::max<std::int64_t>(high - low + 1, 1)));
}
std::int64_t draw_axis(Choices& c, const Tensor& x) {
  return from_to(c, 0, std::max<std::int64_t>(x.ndim() - 1, 0)) - (c.chance(20) ? x.ndim() : 0);
}
/// The size of an axis; 1 of a scalar.
std::int64_t size_at(const Tensor& x, std::int64_t axis) {
  if (x.ndim() == 0) return 1;
  return sizes_of(x)[place(axis < 0 ? axis + x.ndim() : axis)];
}
Ints ints(const StepArgs& args, std::size_t from = 0) {
  Ints out;
  for (std::size_t k = from; k < args.size(); ++k) out.push_back(args[k]);
  return out;
}
Axes axes(const StepArgs& args, std::size_t from = 0) {
  Axes out;
  for (std::size_t k = from; k < args.size(); ++k) out.push_back(args[k]);
  return out;
}

/// Arguments that are `count` numbers from low to high.
auto draw_each(std::int64_t low, std::int64_t high) {
  return [low, high](Choices& c, Tensors in, StepArgs& args) {
    args.clear();
    for (std::int64_t k = 0; k < in[0].ndim(); ++k) args.push_back(from_to(c, low, high));
    return true;
  };
}
auto draw_one_axis(std::int64_t low = 0, std::int64_t high = 0) {
  return [low, high](Choices& c, Tensors in, StepArgs& args) {
    args = {draw_axis(c, in[0]), from_to(c, low, high)};
    return true;
  };
}
auto draw_two_axes(std::int64_t low = 0, std::int64_t high = 0) {
  return [low, high](Choices& c, Tensors in, StepArgs& args) {
    args = {draw_axis(c, in[0]), draw_axis(c, in[0]), from_to(c, low, high)};
    return true;
  };
}

/// As many elements in other dimensions.
bool draw_shape(Choices& c, Tensors in, StepArgs& args) {
  const Index from = sizes_of(in[0]);
  std::int64_t left = product(from);
  args.clear();
  while (left > 1 && args.size() < 4) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 1; d <= left; ++d)
      if (left % d == 0) divisors.push_back(d);
    args.push_back(c.of(divisors));
    left /= args.back();
  }
  if (left == 0)
    for (const std::int64_t n : from) args.push_back(n);
  else if (left > 1 || c.chance(20))
    args.push_back(left);
  if (c.chance(30)) args.insert(args.begin() + from_to(c, 0, std::ssize(args)), 1);
  return true;
}
bool draw_order(Choices& c, Tensors in, StepArgs& args) {
  args.resize(place(in[0].ndim()));
  std::iota(args.begin(), args.end(), 0);
  for (std::size_t k = args.size(); k > 1; --k) std::swap(args[k - 1], args[c.below(static_cast<std::uint32_t>(k))]);
  return true;
}
/// -1: stays; dimensions in front first.
bool draw_expansion(Choices& c, Tensors in, StepArgs& args) {
  args.clear();
  if (c.chance(40)) args.push_back(from_to(c, 0, 3));
  for (const std::int64_t n : sizes_of(in[0])) args.push_back(n == 1 && c.chance(70) ? from_to(c, 0, 4) : -1);
  return true;
}
/// begin, end, step of each dimension, ends from 0.
bool draw_slices(Choices& c, Tensors in, StepArgs& args) {
  args.clear();
  for (const std::int64_t n : sizes_of(in[0])) {
    const std::int64_t begin = c.chance(50) ? 0 : from_to(c, 0, n);
    args.push_back(begin);
    args.push_back(c.chance(50) ? 0 : -from_to(c, 0, n - begin));
    args.push_back(c.chance(60) ? 1 : from_to(c, -3, 3));
    if (args.back() == 0) args.back() = -1;
  }
  return true;
}
/// Ends count from the end; backwards over the same elements where the step is below 0.
Tensor sliced(Tensors in, const StepArgs& args) {
  std::vector<Subscript> subscripts;
  for (std::size_t k = 0; k < args.size(); k += 3) {
    const std::optional<Int> begin = args[k] == 0 ? std::nullopt : std::optional<Int>(args[k]);
    const std::optional<Int> end = args[k + 1] == 0 ? std::nullopt : std::optional<Int>(args[k + 1]);
    const bool reverses = args[k + 2] < 0;
    subscripts.emplace_back(Slice{reverses ? end : begin, reverses ? begin : end, args[k + 2]});
  }
  return in[0].index(subscripts);
}
/// Mode and value, then pairs; below 0 takes away.
bool draw_padding(Choices& c, Tensors in, StepArgs& args) {
  args = {static_cast<std::int64_t>(c.weighted({7, 1, 1, 1})), c.chance(30) ? from_to(c, -2, 2) : 0};
  for (std::int64_t k = 0; k < 2 * in[0].ndim(); ++k) args.push_back(c.chance(50) ? 0 : from_to(c, -1, 2));
  return true;
}
Tensor padded(Tensors in, const StepArgs& args) {
  Padding padding;
  for (std::size_t k = 2; k + 1 < args.size(); k += 2) padding.push_back({args[k], args[k + 1]});
  return in[0].pad(padding, static_cast<Tensor::PadMode>(args[0]), args[1]);
}

GraphFamily shapes() {
  const auto of_axis = [](auto f) { return [f](Tensors in, const StepArgs& a) { return f(in[0], a[0], a[1]); }; };
  return {
      12,
      {{"reshape", 1, draw_shape, [](Tensors in, const StepArgs& a) { return in[0].reshape(ints(a)); }},
       {"permute", 1, draw_order, [](Tensors in, const StepArgs& a) { return in[0].permute(axes(a)); }},
       {"expand", 1, draw_expansion, [](Tensors in, const StepArgs& a) { return in[0].expand(ints(a)); }},
       {"slices", 1, draw_slices, sliced},
       {"pad", 1, draw_padding, padded},
       {"unsqueeze", 1, draw_one_axis(), of_axis([](const Tensor& x, auto axis, auto) { return x.unsqueeze(axis); })},
       {"squeeze", 1, draw_one_axis(), [](Tensors in, const StepArgs&) { return in[0].squeeze(); }},
       {"flatten", 1, draw_two_axes(), [](Tensors in, const StepArgs& a) { return in[0].flatten(a[0], a[1]); }},
       {"transpose", 1, draw_two_axes(), [](Tensors in, const StepArgs& a) { return in[0].transpose(a[0], a[1]); }},
       {"flip", 1, draw_one_axis(), of_axis([](const Tensor& x, auto axis, auto) { return x.flip(axis); })},
       {"unflatten", 1, draw_one_axis(1, 4),
        of_axis([](const Tensor& x, auto axis, auto n) { return x.unflatten(axis, {n, -1}); })}}};
}

GraphFamily rearrangements() {
  const auto of_axis = [](auto f) { return [f](Tensors in, const StepArgs& a) { return f(in[0], a[0], a[1]); }; };
  const auto draw_index = [](Choices& c, Tensors in, StepArgs& args) {
    args = {draw_axis(c, in[0]), 0};
    args[1] = from_to(c, -size_at(in[0], args[0]), size_at(in[0], args[0]) - 1);
    return in[0].ndim() > 0;
  };
  const auto draw_windows = [](Choices& c, Tensors in, StepArgs& args) {
    args = {draw_axis(c, in[0]), 0, from_to(c, 1, 3)};
    args[1] = from_to(c, 1, size_at(in[0], args[0]));
    return true;
  };
  return {
      6,
      {{"repeat", 1, draw_each(1, 3), [](Tensors in, const StepArgs& a) { return in[0].repeat(ints(a)); }},
       {"repeat_interleave", 1, draw_one_axis(1, 3),
        of_axis([](const Tensor& x, auto axis, auto n) { return x.repeat_interleave(n, axis); })},
       {"roll", 1, draw_one_axis(-3, 3),
        of_axis([](const Tensor& x, auto axis, auto n) { return x.roll({n}, {axis}); })},
       {"select", 1, draw_index, of_axis([](const Tensor& x, auto axis, auto n) { return x.select(axis, n); })},
       {"unfold", 1, draw_windows, [](Tensors in, const StepArgs& a) { return in[0].unfold(a[0], a[1], a[2]); }},
       {"tril", 1, draw_one_axis(-1, 1), of_axis([](const Tensor& x, auto, auto n) { return x.tril(n); })},
       {"triu", 1, draw_one_axis(-1, 1), of_axis([](const Tensor& x, auto, auto n) { return x.triu(n); })},
       {"rot90", 1, draw_one_axis(-1, 3), of_axis([](const Tensor& x, auto, auto n) { return x.rot90(n); })},
       {"diagonal", 1, draw_two_axes(-1, 1),
        [](Tensors in, const StepArgs& a) { return in[0].diagonal(a[2], a[0], a[1]); }},
       {"diag_embed", 1, draw_one_axis(-1, 1), of_axis([](const Tensor& x, auto, auto n) { return x.diag_embed(n); })},
       {"split", 1, draw_two_axes(1, 3), [](Tensors in, const StepArgs& a) { return in[0].split(a[2], a[0]).back(); }},
       {"chunk", 1, draw_two_axes(1, 3),
        [](Tensors in, const StepArgs& a) { return in[0].chunk(a[2], a[0]).front(); }}}};
}

GraphFamily joins() {
  const auto cat = [](Tensors in, const StepArgs& a) { return Tensor::cat(in, a[0]); };
  const auto stack = [](Tensors in, const StepArgs& a) { return Tensor::stack(in, a[0]); };
  return {5,
          {{"cat", 2, draw_one_axis(), cat},
           {"cat3", 3, draw_one_axis(), cat},
           {"stack", 2, draw_one_axis(), stack},
           {"stack3", 3, draw_one_axis(), stack},
           {"cat_moved", 1, draw_one_axis(1, 3), [](Tensors in, const StepArgs& a) {
              const std::vector<Tensor> parts{in[0], in[0].roll({a[1]}, {a[0]}), in[0].flip(a[0])};
              return Tensor::cat(parts, a[0]);
            }}}};
}

}  // namespace

std::vector<GraphFamily> movement_families() { return {shapes(), rearrangements(), joins()}; }

Tensor shaped(const Tensor& x, const Ints& shape) {
  const std::int64_t wanted = product(shape).value();
  const Index sizes = sizes_of(x);
  const std::int64_t count = product(sizes);
  STRATA_CHECK(count > 0 || wanted == 0, shape, "[shaped] nothing to take elements of");
  const std::int64_t repeats = count == 0 ? 1 : (wanted + count - 1) / count;
  Tensor flat = x.reshape({-1});
  if (repeats != 1) flat = flat.repeat({repeats});
  return flat.narrow(0, 0, wanted).reshape(shape);
}

}  // namespace strata::oracle
