#include "strata/tensor/scan.h"

#include <algorithm>

#include "strata/ops/loop.h"
#include "strata/tensor/access.h"
#include "strata/tensor/outside_tensors.h"

namespace strata {

namespace {

ops::Loop looped(StepGraph step, std::vector<LazyOp> sources, const std::optional<LazyOp>& last = {}) {
  return ops::make_loop(std::move(step), std::move(sources), last, !NoGrad::is_active());
}

/// The results of a loop: the states, then the outputs.
std::vector<LazyOp> results_of(const ops::Loop& loop, std::size_t count) {
  std::vector<LazyOp> out;
  for (std::size_t k = 0; k < count; ++k) out.push_back(loop.result(k));
  return out;
}

/// Elements [begin, end) of axis 0.
LazyOp rows_of(const LazyOp& x, std::int64_t begin, std::int64_t end) {
  Mask bounds;
  for (const Int& size : x.shape()) bounds.push_back({0, size});
  bounds[0] = {begin, end};
  return x.shrink(bounds);
}

Ints with_front(std::initializer_list<std::int64_t> front, const Ints& shape, std::size_t skipped) {
  Ints out;
  for (const std::int64_t size : front) out.push_back(size);
  out.append(shape.begin() + static_cast<std::ptrdiff_t>(skipped), shape.size() - skipped);
  return out;
}

/// A loop of count / every loops of `every` steps, and one of the steps that are left: gradients keep the states
/// between these loops alone. @return the results of the loop over all steps
std::vector<LazyOp> results_in_parts(const StepGraph& step, const std::vector<LazyOp>& sources, std::int64_t count,
                                     std::int64_t every) {
  const std::int64_t parts = count / every, in_parts = parts * every, begin = step.is_reversed ? count - in_parts : 0;
  StepGraph inner = step, outer;
  inner.count = every;
  for (std::size_t k = 0; k < sources.size(); ++k)
    outer.inputs.push_back(placeholder(
        sources[k].dtype(), k < step.states ? sources[k].shape() : with_front({every}, sources[k].shape(), 1)));
  outer.states = step.states, outer.sequences = step.sequences;
  outer.results = results_of(looped(std::move(inner), outer.inputs), step.results.size());
  outer.count = parts;
  outer.is_reversed = step.is_reversed;
  outer.recomputes = true;
  std::vector<LazyOp> in = sources;
  for (std::size_t k = step.states; k < in.size(); ++k)
    in[k] = rows_of(in[k], begin, begin + in_parts).reshape(with_front({parts, every}, in[k].shape(), 1));
  std::vector<LazyOp> out = results_of(looped(std::move(outer), std::move(in)), step.results.size());
  for (std::size_t k = step.states; k < out.size(); ++k)
    out[k] = out[k].reshape(with_front({in_parts}, out[k].shape(), 2));
  if (in_parts == count) return out;
  StepGraph left = step;
  left.count = count - in_parts;
  std::vector<LazyOp> of_left(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(step.states));
  for (std::size_t k = step.states; k < sources.size(); ++k)
    of_left.push_back(step.is_reversed ? rows_of(sources[k], 0, begin) : rows_of(sources[k], in_parts, count));
  std::vector<LazyOp> last = results_of(looped(std::move(left), std::move(of_left)), step.results.size());
  for (std::size_t k = step.states; k < out.size(); ++k) {
    const std::vector<LazyOp> both = step.is_reversed ? std::vector{last[k], out[k]} : std::vector{out[k], last[k]};
    last[k] = LazyOp::concatenated(both).reshape(with_front({count}, out[k].shape(), 1));
  }
  return last;
}

/// Checks a loop and traces its step.
class Tracing {
 public:
  Tracing(const char* name, std::span<const Tensor> initial, std::span<const Tensor> sequences)
      : name_(name),
        initial_(initial),
        device_(initial.empty() && sequences.empty() ? Device::default_device()
                : initial.empty()                    ? sequences[0].device()
                                                     : initial[0].device()) {
    for (std::size_t k = 0; k < initial.size(); ++k) {
      check_device(initial[k], "state", k);
      add_input(initial[k], initial[k].shape());
    }
    for (std::size_t k = 0; k < sequences.size(); ++k) {
      const Tensor& x = sequences[k];
      check_device(x, "sequence", k);
      STRATA_CHECK(x.ndim() > 0, shape, "[", name_, "] a sequence of shape () has no axis");
      Ints element;
      element.append(x.shape().begin() + 1, x.shape().size() - 1);
      add_input(x, element);
    }
    step.states = initial.size(), step.sequences = sequences.size();
  }

  /// Placeholders for the state, and for one element of each sequence.
  std::span<const Tensor> state() const { return std::span(inputs_).first(step.states); }
  std::span<const Tensor> elements() const { return std::span(inputs_).subspan(step.states); }
  const Device& device() const { return device_; }

  /// Calls a function of the user's.
  template <class F>
  auto call(const F& f) const {
    OutsideTensors outside(begin_);
    auto out = [&] {
      const UserCodeScope user;
      return f();
    }();
    outside.check({name_, "the step", "let the tensor be a state of the loop",
                   "return what gradients() gives as an output of the step"});
    return out;
  }

  void take_state(std::span<const Tensor> next) {
    STRATA_CHECK(next.size() == step.states, domain, "[", name_, "] the step returns ", next.size(),
                 " states, and takes ", step.states);
    for (std::size_t k = 0; k < next.size(); ++k) {
      const Tensor &from = initial_[k], &to = next[k];
      const std::string origin = to.node().origin().text();
      const std::string at = origin.empty() ? std::string() : detail::message(" (", origin, ")");
      STRATA_CHECK(to.shape() == from.shape(), shape, "[", name_, "] state ", k, " has the shape ",
                   render(from.shape()), ", and behind a step ", render(to.shape()), at);
      STRATA_CHECK(to.dtype() == from.dtype(), domain, "[", name_, "] state ", k, " is of ", from.dtype().name(),
                   ", and behind a step of ", to.dtype().name(), at);
      check_device(to, "the next state", k);
      step.results.push_back(to.node());
    }
  }
  void take_outputs(std::span<const Tensor> outputs) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      check_device(outputs[k], "output", k);
      step.results.push_back(outputs[k].node());
    }
  }

  Tensor tensor_of(const LazyOp& n) const { return TensorAccess::of(n, device_); }
  ops::Loop loop(std::vector<LazyOp> sources, const std::optional<LazyOp>& last) {
    return looped(std::move(step), std::move(sources), last);
  }

  StepGraph step;

 private:
  void add_input(const Tensor& x, const Ints& shape) {
    step.inputs.push_back(placeholder(x.dtype(), shape));
    inputs_.push_back(tensor_of(step.inputs.back()));
  }
  void check_device(const Tensor& x, const char* what, std::size_t k) const {
    if (&x.device() == &device_) return;
    const std::string origin = x.node().origin().text();
    STRATA_CHECK(false, domain, "[", name_, "] ", what, " ", k, " is on ", x.device().name(), ", and the loop on ",
                 device_.name(), origin.empty() ? "" : " (", origin, origin.empty() ? "" : ")");
  }

  const char* name_;
  std::span<const Tensor> initial_;
  const Device& device_;
  const std::uint64_t begin_ = birth_of_now(device_);
  std::vector<Tensor> inputs_;
};

}  // namespace

ScanResult scan(const ScanStep& f, std::span<const Tensor> initial, std::span<const Tensor> sequences,
                const ScanOptions& options, At at) {
  const OriginScope scope("scan", at);
  Tracing tracing("scan", initial, sequences);
  STRATA_CHECK(options.length || !sequences.empty(), shape, "[scan] neither sequences nor a length are given");
  const Int count = options.length ? *options.length : sequences[0].shape()[0];
  STRATA_CHECK(!count.is_number() || count.value() >= 0, shape, "[scan] ", count.value(), " steps are fewer than 0");
  std::vector<LazyOp> sources;
  for (const Tensor& x : initial) sources.push_back(x.node());
  for (std::size_t k = 0; k < sequences.size(); ++k) {
    STRATA_CHECK(sequences[k].shape()[0] == count, shape, "[scan] sequence ", k, " has ",
                 sequences[k].shape()[0].render(), " elements, not ", count.render());
    sources.push_back(sequences[k].node());
  }
  const auto [next, outputs] = tracing.call([&] { return f(tracing.state(), tracing.elements()); });
  tracing.take_state(next);
  tracing.take_outputs(outputs);
  tracing.step.count = count;
  tracing.step.is_reversed = options.reverse;
  const std::size_t results = initial.size() + outputs.size();
  const std::int64_t every = options.checkpoint_every;
  STRATA_CHECK(every >= 0, domain, "[scan] checkpoints every ", every, " steps");
  STRATA_CHECK(every == 0 || count.is_number(), shape, "[scan] checkpoints every ", every, " of ", count.render(),
               " steps: the number of steps has to be a number");
  const std::vector<LazyOp> all = every > 1 && every < count.value()
                                      ? results_in_parts(tracing.step, sources, count.value(), every)
                                      : results_of(tracing.loop(std::move(sources), {}), results);
  ScanResult out;
  for (std::size_t k = 0; k < results; ++k)
    (k < initial.size() ? out.state : out.outputs).push_back(tracing.tensor_of(all[k]));
  return out;
}

std::vector<Tensor> while_loop(const std::function<Tensor(std::span<const Tensor>)>& condition,
                               const std::function<std::vector<Tensor>(std::span<const Tensor>)>& f,
                               std::span<const Tensor> initial, const Int& most, At at) {
  const OriginScope scope("while_loop", at);
  STRATA_CHECK(!most.is_number() || most.value() >= 0, shape, "[while_loop] ", most.value(), " steps are fewer than 0");
  Tracing tracing("while_loop", initial, {});
  const auto condition_of = [&](std::span<const Tensor> state) {
    const Tensor out = tracing.call([&] { return condition(state); });
    STRATA_CHECK(out.dtype().is_bool() && out.numel() == Int(1), domain,
                 "[while_loop] the condition is a bool of one element, not ", out.dtype().name(), " of shape ",
                 render(out.shape()));
    return out.node().reshape({});
  };
  const std::vector<Tensor> next = tracing.call([&] { return f(tracing.state()); });
  tracing.take_state(next);
  tracing.step.condition = condition_of(next);
  tracing.step.count = most;
  std::vector<LazyOp> sources;
  for (const Tensor& x : initial) sources.push_back(x.node());
  const ops::Loop loop = tracing.loop(std::move(sources), condition_of(initial));
  std::vector<Tensor> out;
  for (std::size_t k = 0; k < initial.size(); ++k) out.push_back(tracing.tensor_of(loop.result(k)));
  return out;
}

}  // namespace strata
