#include "strata/ops/batching.h"

#include <algorithm>
#include <unordered_set>

#include "strata/base/check.h"
#include "strata/base/walk.h"
#include "strata/graph/step_graph.h"
#include "strata/ops/instantiation.h"

namespace strata {

namespace {

Ints in_front(const Int& size, const Ints& shape) {
  Ints out = {size};
  out.append(shape.begin(), shape.size());
  return out;
}

/// The axes behind the batch's.
Axes behind(const Axes& axes) {
  Axes out;
  for (const std::int64_t axis : axes) out.push_back(axis + 1);
  return out;
}

LazyOp swapped(const LazyOp& x) {
  Axes order = {1, 0};
  for (std::int64_t k = 2; k < std::ssize(x.shape()); ++k) order.push_back(k);
  return x.permute(order);
}

/// The gradients of a custom gradient for all elements of a batch.
class BatchedGradient final : public GradientFunction {
 public:
  // NOTE: keeps what the placeholders stand for, not the Batching, which owns the result: that would be a cycle.
  BatchedGradient(const char* operation, const LazyOp& one, Int size, std::vector<BatchedInput> inputs)
      : operation_(operation),
        backward_(std::get<IdentityArg>(one.arg()).backward),
        of_(one.src().begin() + 1, one.src().end()),
        shape_(one.shape()),
        size_(std::move(size)),
        inputs_(std::move(inputs)) {}

  std::vector<LazyOp> gradients(const LazyOp& dy) const override {
    std::vector<BatchedInput> inputs = inputs_;
    inputs.push_back({placeholder(dy.dtype(), shape_), dy});
    Batching all(operation_, size_, inputs);
    const std::vector<LazyOp> by = backward_->gradients(inputs.back().placeholder);
    std::vector<LazyOp> out;
    for (std::size_t k = 0; k < by.size(); ++k) {
      const LazyOp elements = all.all_of(by[k]);
      out.push_back(all.of(of_[k]) ? elements : LazyOp::reduce(Ops::SUM, elements, {0}).reshape(of_[k].shape()));
    }
    return out;
  }

 private:
  const char* operation_;
  std::shared_ptr<const GradientFunction> backward_;
  std::vector<LazyOp> of_;
  Ints shape_;
  Int size_;
  std::vector<BatchedInput> inputs_;
};

}  // namespace

LazyOp moved_in_all(const LazyOp& n, const Int& size, const LazyOp& x) {
  switch (n.op()) {
    case Ops::RESHAPE: return x.reshape(in_front(size, n.shape()));
    case Ops::EXPAND: return x.expand(in_front(size, n.shape()));
    case Ops::STRIDE: return x.stride(in_front(1, std::get<Ints>(n.arg())));
    case Ops::PERMUTE: {
      Axes order = {0};
      for (const std::int64_t axis : std::get<Axes>(n.arg())) order.push_back(axis + 1);
      return x.permute(order);
    }
    case Ops::PAD: {
      Padding padding = {{0, 0}};
      for (const auto& sides : std::get<Padding>(n.arg())) padding.push_back(sides);
      return x.pad(padding);
    }
    case Ops::SHRINK: {
      Mask bounds = {{0, size}};
      for (const Extent& extent : std::get<Mask>(n.arg())) bounds.push_back(extent);
      return x.shrink(bounds);
    }
    default: throw InternalError(detail::message("[moved_in_all] ", spec_name(n.op()), " moves nothing"));
  }
}

Batching::Batching(const char* operation, Int size, std::vector<BatchedInput> inputs)
    : operation_(operation), size_(std::move(size)), inputs_(std::move(inputs)) {
  for (const BatchedInput& input : inputs_) known_.emplace(input.placeholder.node(), input.elements);
}

std::optional<LazyOp> Batching::of(const LazyOp& root) {
  roots_.push_back(root);
  const auto enter = [&](const LazyOp* n) {
    if (known_.contains(n->node())) return false;
    // What has no sources, or is in memory, is the same for all.
    if (!n->src().empty() && !is_realized(*n->node()) && !n->node()->is_closed) return true;
    known_.emplace(n->node(), std::nullopt);
    return false;
  };
  detail::walk(&root, enter, any_source, [&](const LazyOp* n) {
    if (known_.contains(n->node())) return;
    const bool depends =
        std::any_of(n->src().begin(), n->src().end(), [&](const LazyOp& s) { return known_.at(s.node()).has_value(); });
    known_.insert_or_assign(n->node(), depends ? std::optional(made(*n)) : std::nullopt);
  });
  return known_.at(root.node());
}

LazyOp Batching::all_of(const LazyOp& root) {
  const std::optional<LazyOp> out = of(root);
  return out ? *out : spread(root);
}

LazyOp Batching::spread(const LazyOp& n) const {
  return n.reshape(in_front(1, n.shape())).expand(in_front(size_, n.shape()));
}

/// `n`, which depends on a placeholder. @pre its sources are known
LazyOp Batching::made(const LazyOp& n) {
  if (n.op() == Ops::SCAN) return loop(n);
  if (n.op() == Ops::CUSTOM_GRAD) return custom(n);
  Results all;
  for (const LazyOp& s : n.src()) {
    const std::optional<LazyOp>& known = known_.at(s.node());
    all.push_back(known ? *known : spread(s));
  }
  if (is_movement(n.op())) return moved_in_all(n, size_, all[0]);
  if (is_reduce(n.op())) return LazyOp::reduce(n.op(), all[0], behind(std::get<Axes>(n.arg())));
  switch (n.op()) {
    case Ops::REQUIRES_GRAD: return all[0];  // gradients by values of the trace are taken by now
    case Ops::DETACH: return all[0].detached();
    case Ops::IN_RANGE: return all[0].in_range(std::get<IndexRange>(n.arg()));
    case Ops::CAST: return all[0].cast(n.dtype());
    case Ops::BITCAST: return all[0].bitcast(n.dtype());
    case Ops::FORMULA: return all[0].formula(*std::get<FormulaArg>(n.arg()).formula);
    case Ops::CONTIGUOUS: return all[0].contiguous();
    case Ops::FROM: return all.size() == 1 ? all[0].copied() : all[0].copied_behind(all[1]);
    case Ops::CONCAT: return joined(n, all);
    case Ops::GATHER: return LazyOp::gather(all[0], all[1]);
    case Ops::SCATTER: {
      const AxisArg& arg = std::get<AxisArg>(n.arg());
      return LazyOp::scatter(arg.op, all[0], all[1], all[2], arg.axis + 1);
    }
    case Ops::ORDER: {
      OrderArg arg = std::get<OrderArg>(n.arg());
      const Int& count = n.shape()[static_cast<std::size_t>(arg.axis)];
      ++arg.axis;
      return LazyOp::order(all[0], arg, count);
    }
    case Ops::ASSOCIATIVE_SCAN: {
      const AxisArg& arg = std::get<AxisArg>(n.arg());
      if (arg.op != Ops::MULACC) return LazyOp::scan(arg.op, all[0], arg.axis + 1);
      return LazyOp::recurrence(std::span(all).first(all.size() - 1), all.back(), arg.axis + 1);
    }
    default: break;
  }
  STRATA_ASSERT(is_elementwise(n.op()), "[", operation_, "] ", row(n.op()).name, " has no rule for batches");
  return LazyOp::alu(n.op(), all);
}

LazyOp Batching::joined(const LazyOp& n, const Results& parts) const {
  if (const auto* along = std::get_if<Axes>(&n.arg())) return LazyOp::concatenated(parts, along->front() + 1);
  Results rows;
  for (std::size_t k = 0; k < parts.size(); ++k) rows.push_back(parts[k].reshape({size_, product(n.src(k).shape())}));
  return LazyOp::concatenated(rows, 1);
}

LazyOp Batching::custom(const LazyOp& n) {
  const std::optional<LazyOp> value = known_.at(n.src(0).node());
  Results inputs;
  for (const LazyOp& s : n.src().subspan(1)) inputs.push_back(known_.at(s.node()).value_or(s));
  const LazyOp elements = value ? *value : spread(n.src(0));
  return elements.with_gradient(inputs, std::make_shared<BatchedGradient>(operation_, n, size_, inputs_));
}

/// Which states of a loop depend on the element: those that begin with a value that does, and those that a step makes
/// of a value that does.
std::vector<bool> Batching::varying_states(const StepGraph& step, std::span<const LazyOp> sources) const {
  std::vector<bool> out;
  for (std::size_t k = 0; k < step.states; ++k) out.push_back(known_.at(sources[k].node()).has_value());
  for (bool grows = true; grows;) {
    std::unordered_set<const LazyNode*> seen, varying;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      seen.insert(step.inputs[k].node());
      if (k < step.states ? out[k] : known_.at(sources[k].node()).has_value()) varying.insert(step.inputs[k].node());
    }
    const auto enter = [&](const LazyOp* n) {
      if (const auto it = known_.find(n->node()); it != known_.end() && it->second) varying.insert(n->node());
      return !known_.contains(n->node()) && seen.insert(n->node()).second;
    };
    grows = false;
    for (std::size_t k = 0; k < step.states; ++k) {
      detail::walk(&step.results[k], enter, any_source, [&](const LazyOp* n) {
        if (std::any_of(n->src().begin(), n->src().end(), [&](const LazyOp& s) { return varying.contains(s.node()); }))
          varying.insert(n->node());
      });
      if (!out[k] && varying.contains(step.results[k].node())) out[k] = grows = true;
    }
  }
  return out;
}

/// A SCAN of the whole batch, and its results in the order of `n`, a row for each element.
LazyOp Batching::loop(const LazyOp& n) {
  const auto& arg = std::get<StepArg>(n.arg());
  const StepGraph& step = *arg.step;
  const ops::Loop& all = loop_of(n);
  const Bundle bundle = bundle_of(step, n.dtype(), arg.of_saved);
  Results parts;
  Int at = 0;
  const auto fill = [&](const Int& until) {
    if (!(at == until)) parts.push_back(LazyOp::constant(Scalar::of(n.dtype(), std::int64_t{0}), {size_, until - at}));
    at = until;
  };
  if (step.condition && n.dtype() == dtypes::int64 && !arg.of_saved) {  // the number of steps is in front
    parts.push_back(spread(count_of_loop(all.step, all.sources).reshape({1})));
    at = 1;
  }
  Results rows;
  for (const BundlePart& part : bundle.parts) {
    const LazyOp& one = step.results[part.result];
    const bool varies = !(all.step->results[part.result].shape() == one.shape());
    LazyOp result = all.result(part.result);
    if (!varies) result = spread(result);
    if (varies && !step.is_state(part.result)) result = swapped(result);
    if (step.is_state(part.result)) {
      fill(part.offset);
      parts.push_back(result.reshape({size_, product(one.shape())}));
      at = part.offset + product(one.shape());
    } else {
      rows.push_back(result.reshape({size_, step.count, product(one.shape())}));
    }
  }
  fill(bundle.rows);
  if (!rows.empty()) parts.push_back(LazyOp::concatenated(rows, 2).reshape({size_, bundle.size - bundle.rows}));
  return LazyOp::concatenated(parts, 1);
}

const ops::Loop& Batching::loop_of(const LazyOp& n) {
  const std::shared_ptr<const StepGraph> of = std::get<StepArg>(n.arg()).step;
  for (const auto& [of_node, made] : loops_)
    if (std::get<StepArg>(of_node.arg()).step == of &&
        std::equal(n.src().begin(), n.src().end(), of_node.src().begin(), of_node.src().end()))
      return made;
  const std::vector<bool> states = varying_states(*of, n.src());
  StepGraph step;
  step.states = of->states, step.sequences = of->sequences;
  step.count = of->count, step.is_reversed = of->is_reversed, step.is_counted = of->is_counted;
  step.recomputes = of->recomputes;
  Results sources;
  for (std::size_t k = 0; k < of->states + of->sequences; ++k) {
    const LazyOp &input = of->inputs[k], &source = n.src(k);
    const std::optional<LazyOp> known = known_.at(source.node());
    const bool varies = k < of->states ? states[k] : known.has_value();
    const LazyOp inner = varies ? placeholder(input.dtype(), in_front(size_, input.shape())) : input;
    known_.insert_or_assign(input.node(), varies ? std::optional(inner) : std::nullopt);
    if (varies) inputs_.push_back({input, inner});
    step.inputs.push_back(inner);
    sources.push_back(!varies ? source : k < of->states ? (known ? *known : spread(source)) : swapped(*known));
  }
  for (std::size_t k = of->states + of->sequences; k < of->inputs.size(); ++k)
    known_.insert_or_assign(of->inputs[k].node(), known_.at(n.src(k).node()));
  for (std::size_t k = 0; k < of->results.size(); ++k) {
    const bool varies = k < of->states && states[k];
    step.results.push_back(varies ? all_of(of->results[k]) : this->of(of->results[k]).value_or(of->results[k]));
  }
  if (of->condition) {
    STRATA_CHECK(!this->of(*of->condition), domain, "[", operation_,
                 "] whether a while_loop() goes on depends on the element: the elements would end in different steps");
    step.condition = of->condition;
  }
  std::optional<LazyOp> last;
  if (of->has_last_source()) {
    last = n.src().back();
    STRATA_CHECK(!known_.at(last->node()), domain, "[", operation_,
                 "] how often a loop runs depends on the element: the elements would end in different steps");
  }
  loops_.emplace_back(n, ops::make_loop(std::move(step), std::move(sources), last, true));
  return loops_.back().second;
}

}  // namespace strata
