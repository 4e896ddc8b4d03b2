#include "strata/tensor/transforms.h"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "strata/base/check.h"
#include "strata/base/walk.h"
#include "strata/engine/realize.h"
#include "strata/graph/step_graph.h"
#include "strata/ops/batching.h"
#include "strata/ops/formula_node.h"
#include "strata/ops/gradient.h"
#include "strata/ops/instantiation.h"
#include "strata/tensor/access.h"
#include "strata/tensor/outside_tensors.h"

namespace strata {

namespace {

using Nodes = std::vector<LazyOp>;

/// A function, traced on placeholders.
struct Trace {
  std::vector<std::optional<LazyOp>> inputs;  ///< by argument: a placeholder, or nothing: f has the argument itself
  std::vector<Tensor> results;
};

/// @param name of the operation @param shapes by argument: of its placeholder
Trace traced(const char* name, const TensorsFunction& f, std::span<const Tensor> xs,
             std::span<const std::optional<Ints>> shapes) {
  const Device& device = xs.empty() ? Device::default_device() : xs[0].device();
  Trace out;
  OutsideTensors outside(birth_of_now(device));
  std::vector<Tensor> given;
  for (std::size_t k = 0; k < xs.size(); ++k) {
    STRATA_CHECK(&xs[k].device() == &device, domain, "[", name, "] argument ", k, " is on ", xs[k].device().name(),
                 ", and argument 0 on ", device.name());
    out.inputs.emplace_back();
    given.push_back(xs[k]);
    if (!shapes[k]) continue;
    // NOTE: placeholder() tracks floats; where nobody takes gradients by the argument, formulas are plain.
    const LazyOp node = placeholder(xs[k].dtype(), *shapes[k]);
    out.inputs.back() = xs[k].requires_grad() || !xs[k].dtype().is_float() ? node : node.src(0);
    given.back() = TensorAccess::of(*out.inputs.back(), device);
  }
  {
    const UserCodeScope user;
    out.results = f(given);
  }
  outside.check({name, "the function", "return the value", "return what gradients() gives"});
  for (std::size_t k = 0; k < out.results.size(); ++k)
    STRATA_CHECK(&out.results[k].device() == &device, domain, "[", name, "] result ", k, " is on ",
                 out.results[k].device().name(), ", and the arguments on ", device.name());
  return out;
}

std::size_t axis_in(std::int64_t axis, std::int64_t ndim, const char* what, std::size_t k) {
  STRATA_CHECK(axis >= -ndim && axis < ndim, shape, "[vmap] axis ", axis, " of ", what, " ", k, " with ", ndim,
               ndim == 1 ? " dimension" : " dimensions");
  return static_cast<std::size_t>(axis < 0 ? axis + ndim : axis);
}

void check_axes(const std::vector<std::optional<std::int64_t>>& axes, std::size_t tensors, const char* what) {
  STRATA_CHECK(axes.empty() || axes.size() == tensors, shape, "[vmap] ", axes.size(), " axes for ", tensors, " ", what);
}

TensorsFunction of_one(TensorFunction f) {
  return [f = std::move(f)](std::span<const Tensor> xs) { return std::vector{f(xs[0])}; };
}

/// The tracked nodes below `root` that do not depend on what `inputs` replaces, and are below no other one of them.
void add_captured(const LazyOp& root, Instantiation& inputs, Nodes& out) {
  std::unordered_set<const LazyNode*> seen;
  const auto source = [&](const LazyOp* n, std::size_t k) {
    return k < n->src().size() && inputs.depends(*n) ? &n->src()[k] : nullptr;
  };
  detail::walk(
      &root, [&](const LazyOp* n) { return n->is_tracked() && seen.insert(n->node()).second; }, source,
      [&](const LazyOp* n) {
        if (!inputs.depends(*n) && std::find(out.begin(), out.end(), *n) == out.end()) out.push_back(*n);
      });
}

/// Whether the elements of `root` are computed from one of `nodes`. What is only to be computed behind it is not, and
/// neither is what a loop is given: loops have values that nobody reads.
bool reads_any(const LazyOp& root, const Nodes& nodes) {
  std::unordered_set<const LazyNode*> seen;
  bool out = false;
  const auto source = [](const LazyOp* n, std::size_t k) {
    const bool is_loop = n->op() == Ops::SCAN, is_copy = n->op() == Ops::FROM;
    const std::size_t sources = is_loop ? 0 : is_copy ? 1 : needed(*n->node()).size();
    return k < sources ? &n->src()[k] : nullptr;
  };
  detail::walk(
      &root, [&](const LazyOp* n) { return !out && !is_realized(*n->node()) && seen.insert(n->node()).second; }, source,
      [&](const LazyOp* n) { out = out || std::find(nodes.begin(), nodes.end(), *n) != nodes.end(); });
  return out;
}

/// Whether a custom gradient is a linear function of the gradient that it is given.
bool is_linear(const LazyOp& custom) {
  const LazyOp dy = placeholder(custom.dtype(), custom.shape());
  Nodes by, along;
  for (const LazyOp& g : std::get<IdentityArg>(custom.arg()).backward->gradients(dy))
    if (g.dtype().is_float()) by.push_back(g), along.push_back(placeholder(g.dtype(), g.shape()));
  const std::optional<LazyOp> back = backpropagate_to({&dy, 1}, by, along)[0];
  return !back || !reads_any(*back, {dy});
}

/// Whether the custom gradients of the steps of all loops below `roots` are linear.
bool loops_are_linear(const Nodes& roots, bool is_step = false) {
  std::unordered_set<const LazyNode*> seen;
  bool out = true;
  const auto source = [](const LazyOp* n, std::size_t k) { return k < n->src().size() ? &n->src()[k] : nullptr; };
  for (const LazyOp& root : roots)
    detail::walk(
        &root, [&](const LazyOp* n) { return out && n->is_tracked() && seen.insert(n->node()).second; }, source,
        [&](const LazyOp* n) {
          if (n->op() == Ops::SCAN) out = out && loops_are_linear(std::get<StepArg>(n->arg()).step->results, true);
          if (n->op() == Ops::CUSTOM_GRAD && is_step) out = out && is_linear(*n);
        });
  return out;
}

/// The gradients of a function that is computed again.
class CheckpointGradient final : public GradientFunction {
 public:
  CheckpointGradient(LazyOp result, std::vector<Replacement> inputs, Nodes captured)
      : result_(std::move(result)), inputs_(std::move(inputs)), captured_(std::move(captured)) {}

  std::vector<LazyOp> gradients(const LazyOp& dy) const override {
    std::vector<Replacement> again = inputs_;
    Nodes by;
    for (Replacement& input : again) {
      input.second = input.second.copied_behind(dy).tracked({});
      by.push_back(input.second);
    }
    by.insert(by.end(), captured_.begin(), captured_.end());
    const LazyOp y = Instantiation(again)(result_);
    const auto found = backpropagate_to(by, {&y, 1}, {&dy, 1});
    Nodes out;
    for (std::size_t k = 0; k < by.size(); ++k)
      out.push_back(found[k] ? *found[k] : LazyOp::constant(Scalar::of(by[k].dtype(), std::int64_t{0}), by[k].shape()));
    return out;
  }

 private:
  LazyOp result_;  // on placeholders
  std::vector<Replacement> inputs_;
  Nodes captured_;
};

}  // namespace

std::vector<Tensor> vmap(const TensorsFunction& f, std::span<const Tensor> xs, const VmapOptions& options, At at) {
  const OriginScope scope("vmap", at);
  const ops::FormulaScope formulas;
  check_axes(options.in_axes, xs.size(), "arguments");
  std::optional<Int> size;
  std::vector<std::optional<Ints>> shapes(xs.size());
  std::vector<std::optional<LazyOp>> elements(xs.size());
  for (std::size_t k = 0; k < xs.size(); ++k) {
    const std::optional<std::int64_t> given = options.in_axes.empty() ? 0 : options.in_axes[k];
    if (!given) continue;
    const std::size_t axis = axis_in(*given, xs[k].ndim(), "argument", k);
    const Int& own = xs[k].shape()[axis];
    STRATA_CHECK(!size || known(is_equal(*size, own)), shape, "[vmap] argument ", k, " has ", own.render(),
                 " elements along axis ", axis, ", and an argument in front of it ", size->render());
    if (!size) size = own;
    elements[k] = xs[k].movedim({static_cast<std::int64_t>(axis)}, {0}).node();
    shapes[k].emplace();
    shapes[k]->append(elements[k]->shape().begin() + 1, elements[k]->shape().size() - 1);
  }
  STRATA_CHECK(size, domain, "[vmap] no argument has an axis of the batch");
  const Trace trace = traced("vmap", f, xs, shapes);
  check_axes(options.out_axes, trace.results.size(), "results");
  std::vector<BatchedInput> inputs;
  for (std::size_t k = 0; k < xs.size(); ++k)
    if (elements[k]) inputs.push_back({*trace.inputs[k], *elements[k]});
  Batching all("vmap", *size, inputs);
  std::vector<Tensor> out;
  for (std::size_t k = 0; k < trace.results.size(); ++k) {
    const Tensor& result = trace.results[k];
    const std::optional<std::int64_t> axis = options.out_axes.empty() ? 0 : options.out_axes[k];
    STRATA_CHECK(axis || !all.of(result.node()), domain, "[vmap] result ", k,
                 " depends on the element of the batch: it needs an axis");
    if (!axis) {
      out.push_back(result);
      continue;
    }
    const std::size_t to = axis_in(*axis, result.ndim() + 1, "result", k);
    out.push_back(TensorAccess::of(all.all_of(result.node()), result).movedim({0}, {static_cast<std::int64_t>(to)}));
  }
  return out;
}

TensorFunction vmap(TensorFunction f, std::int64_t axis) {
  return [f = of_one(std::move(f)), axis](const Tensor& x) { return vmap(f, {&x, 1}, {.in_axes = {axis}})[0]; };
}

std::pair<std::vector<Tensor>, std::vector<Tensor>> jvp(const TensorsFunction& f, std::span<const Tensor> xs,
                                                        std::span<const Tensor> tangents, At at) {
  const OriginScope scope("jvp", at);
  const ops::FormulaScope formulas;
  STRATA_CHECK(!NoGrad::is_active(), domain, "[jvp] NoGrad turns derivatives off");
  STRATA_CHECK(xs.size() == tangents.size(), shape, "[jvp] ", tangents.size(), " tangents for ", xs.size(),
               " arguments");
  std::vector<Tensor> given;
  Nodes inner, along;
  for (std::size_t k = 0; k < xs.size(); ++k) {
    STRATA_CHECK(xs[k].dtype().is_float(), domain, "[jvp] argument ", k, " of dtype ", xs[k].dtype().name(),
                 " has no derivative");
    STRATA_CHECK(xs[k].shape() == tangents[k].shape(), shape, "[jvp] tangent ", k, " has the shape ",
                 render(tangents[k].shape()), ", and its argument ", render(xs[k].shape()));
    inner.push_back(xs[k].node().tracked({}));
    along.push_back(tangents[k].cast(xs[k].dtype()).node());
    given.push_back(TensorAccess::of(inner.back(), xs[k]));
  }
  std::vector<Tensor> results = [&] {
    const UserCodeScope user;
    return f(given);
  }();
  // The gradient by xs is a linear function of that by the results; its transpose is the derivative along `tangents`.
  Nodes ys, dys;
  for (const Tensor& y : results) {
    if (!y.dtype().is_float()) continue;
    ys.push_back(y.node());
    dys.push_back(placeholder(y.dtype(), y.shape()));
  }
  Nodes by, by_along;
  const auto found = backpropagate_to(inner, ys, dys);
  for (std::size_t k = 0; k < found.size(); ++k)
    if (found[k]) by.push_back(*found[k]), by_along.push_back(along[k]);
  const auto derivatives = backpropagate_to(dys, by, by_along);
  std::vector<Replacement> unknown;
  for (const LazyOp& dy : dys)
    unknown.emplace_back(dy, LazyOp::constant(Scalar::of(dy.dtype(), std::int64_t{0}), dy.shape()));
  Instantiation known(unknown);
  std::vector<Tensor> out;
  const bool is_linear = loops_are_linear(ys);
  for (std::size_t k = 0, at_float = 0; k < results.size(); ++k) {
    const bool is_float = results[k].dtype().is_float();
    const std::optional<LazyOp> own = is_float ? derivatives[at_float++] : std::nullopt;
    STRATA_CHECK(!own || (is_linear && !reads_any(*own, dys)), domain, "[jvp] a custom gradient below result ", k,
                 " is no linear function of the gradient that it is given");
    out.push_back(own ? TensorAccess::of(known(*own), results[k]) : results[k].zeros_like());
  }
  return {std::move(results), std::move(out)};
}

std::pair<Tensor, Tensor> jvp(const TensorFunction& f, const Tensor& x, const Tensor& tangent, At at) {
  const auto [y, dy] = jvp(of_one(f), {&x, 1}, {&tangent, 1}, at);
  return {y[0], dy[0]};
}

std::vector<Tensor> checkpoint(const TensorsFunction& f, std::span<const Tensor> xs, At at) {
  const OriginScope scope("checkpoint", at);
  const ops::FormulaScope formulas;
  std::vector<std::optional<Ints>> shapes;
  for (const Tensor& x : xs) shapes.emplace_back(x.shape());
  const Trace trace = traced("checkpoint", f, xs, shapes);
  std::vector<Replacement> inputs;
  for (std::size_t k = 0; k < xs.size(); ++k) inputs.emplace_back(*trace.inputs[k], xs[k].node());
  Instantiation forward(inputs);
  std::vector<Tensor> out;
  std::vector<DType> done;
  std::vector<std::optional<LazyOp>> nodes(trace.results.size());
  for (std::size_t first = 0; first < nodes.size(); ++first) {
    const DType dtype = trace.results[first].dtype();
    if (nodes[first]) continue;
    if (!dtype.is_float()) {
      nodes[first] = forward(trace.results[first].node()).detached();
      continue;
    }
    // The results of one dtype, one behind another, so that one gradient computes all of them again.
    std::vector<std::size_t> which;
    Nodes parts;
    for (std::size_t k = first; k < nodes.size(); ++k)
      if (trace.results[k].dtype() == dtype) which.push_back(k), parts.push_back(trace.results[k].node());
    const LazyOp all = parts.size() == 1 ? parts[0] : LazyOp::concatenated(parts);
    Nodes captured, by;
    add_captured(all, forward, captured);
    for (const Replacement& input : inputs) by.push_back(input.second);
    by.insert(by.end(), captured.begin(), captured.end());
    const LazyOp value = forward(all).with_gradient(by, std::make_shared<CheckpointGradient>(all, inputs, captured));
    Int begin = 0;
    for (const std::size_t k : which) {
      const Ints& shape = trace.results[k].shape();
      const Int end = begin + product(shape);
      nodes[k] = which.size() == 1 ? value : value.shrink({{begin, end}}).reshape(shape);
      begin = end;
    }
  }
  for (std::size_t k = 0; k < nodes.size(); ++k) out.push_back(TensorAccess::of(*nodes[k], trace.results[k]));
  return out;
}

TensorFunction checkpoint(TensorFunction f) {
  return [f = of_one(std::move(f))](const Tensor& x) { return checkpoint(f, {&x, 1})[0]; };
}

}  // namespace strata
