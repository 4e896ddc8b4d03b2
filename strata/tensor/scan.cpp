#include "strata/tensor/scan.h"

#include "strata/ops/loop.h"
#include "strata/tensor/access.h"

namespace strata {

namespace {

/// Checks a loop and traces its step.
class Tracing {
 public:
  Tracing(const char* name, std::span<const Tensor> initial, std::span<const Tensor> sequences)
      : name_(name),
        initial_(initial),
        device_(initial.empty() && sequences.empty() ? Device::default_device()
                : initial.empty()                    ? sequences[0].device()
                                                     : initial[0].device()) {
    for (const Tensor& x : initial) check_device(x), add_input(x, x.shape());
    for (const Tensor& x : sequences) {
      check_device(x);
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
      check_device(to);
      step.results.push_back(to.node());
    }
  }
  void take_outputs(std::span<const Tensor> outputs) {
    for (const Tensor& y : outputs) check_device(y), step.results.push_back(y.node());
  }

  Tensor tensor_of(const LazyOp& n) const { return TensorAccess::of(n, device_); }
  ops::Loop loop(std::vector<LazyOp> sources, const std::optional<LazyOp>& last) {
    return ops::make_loop(std::move(step), std::move(sources), last, !NoGrad::is_active());
  }

  StepGraph step;

 private:
  void add_input(const Tensor& x, const Ints& shape) {
    step.inputs.push_back(placeholder(x.dtype(), shape));
    inputs_.push_back(tensor_of(step.inputs.back()));
  }
  void check_device(const Tensor& x) const {
    STRATA_CHECK(&x.device() == &device_, domain, "[", name_, "] tensors on ", device_.name(), " and on ",
                 x.device().name());
  }

  const char* name_;
  std::span<const Tensor> initial_;
  const Device& device_;
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
  const auto [next, outputs] = [&] {
    const UserCodeScope user;
    return f(tracing.state(), tracing.elements());
  }();
  tracing.take_state(next);
  tracing.take_outputs(outputs);
  tracing.step.count = count;
  tracing.step.is_reversed = options.reverse;
  const ops::Loop loop = tracing.loop(std::move(sources), {});
  ScanResult out;
  for (std::size_t k = 0; k < initial.size(); ++k) out.state.push_back(tracing.tensor_of(loop.result(k)));
  for (std::size_t k = 0; k < outputs.size(); ++k)
    out.outputs.push_back(tracing.tensor_of(loop.result(initial.size() + k)));
  return out;
}

std::vector<Tensor> while_loop(const std::function<Tensor(std::span<const Tensor>)>& condition,
                               const std::function<std::vector<Tensor>(std::span<const Tensor>)>& f,
                               std::span<const Tensor> initial, const Int& most, At at) {
  const OriginScope scope("while_loop", at);
  STRATA_CHECK(!most.is_number() || most.value() >= 0, shape, "[while_loop] ", most.value(), " steps are fewer than 0");
  Tracing tracing("while_loop", initial, {});
  const auto condition_of = [&](std::span<const Tensor> state) {
    const Tensor out = [&] {
      const UserCodeScope user;
      return condition(state);
    }();
    STRATA_CHECK(out.dtype().is_bool() && out.numel() == Int(1), domain,
                 "[while_loop] the condition is a bool of one element, not ", out.dtype().name(), " of shape ",
                 render(out.shape()));
    return out.node().reshape({});
  };
  const std::vector<Tensor> next = [&] {
    const UserCodeScope user;
    return f(tracing.state());
  }();
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
