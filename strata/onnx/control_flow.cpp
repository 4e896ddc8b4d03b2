// If, Loop, Scan and SequenceMap: operators that run graphs.
#include <algorithm>
#include <utility>

#include "strata/onnx/operators.h"
#include "strata/onnx/run.h"
#include "strata/onnx/sizes.h"
#include "strata/tensor/access.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/scan.h"

namespace strata::onnx {
namespace {

constexpr std::int64_t kMostSlices = 1 << 18;

/// Runs one graph; its outputs are those of the operator.
class OneGraph final : public Control {
 public:
  OneGraph(int graph, Results inputs) : step_(Step{graph, std::move(inputs)}) {}
  std::optional<Step> next() override { return std::exchange(step_, std::nullopt); }
  void take(Results outputs) override { outputs_ = std::move(outputs); }
  Results results() override { return std::move(outputs_); }

 private:
  std::optional<Step> step_;
  Results outputs_;
};

bool truth_of(const Datum& value) {
  const Tensor& x = value.tensor();
  STRATA_CHECK(x.dtype() == dtypes::boolean && x.numel() == Int(1), domain, "a condition is ", value.type_text(),
               " instead of one bool");
  return read_integers(x)[0] != 0;
}

/// The values on the device. @throws Error (domain) for one that is no tensor
std::vector<Tensor> tensors_on(std::span<const Datum> values, const Device& device) {
  std::vector<Tensor> out;
  for (const Datum& value : values) out.push_back(moved(value.tensor(), device));
  return out;
}

/// Step by step a loop runs as often as now: in a capture, and beside kernels for all sizes, that would be wrong.
void check_steps(const Int& count) {
  STRATA_CHECK(count.is_number(), shape, "the steps cannot be one node, and their number has to be known on the host, ",
               "but is ", count.render(), ": load the model without bounds of it");
}

/// The tensors that the steps of a body made for one output, joined along a new axis.
class Collected {
 public:
  /// @param k the number of the body's output
  Collected(const Call& call, std::size_t k) : device_(&call.device()) {
    const Graph& body = call.body("body");
    STRATA_CHECK(k < body.outputs.size(), parse, "the body has ", body.outputs.size(), " outputs, too few");
    port_ = body.outputs[k];
  }
  void add(const Datum& value) { parts_.push_back(moved(value.tensor(), *device_)); }
  /// Without a step the sizes are those that the body states; sizes that are not numbers are 0.
  Tensor joined(std::int64_t axis = 0, bool is_reversed = false) {
    if (is_reversed) std::reverse(parts_.begin(), parts_.end());
    if (!parts_.empty()) return Tensor::stack(parts_, axis);
    STRATA_CHECK(port_.kind == Port::Kind::tensor && port_.has_shape, undefined,
                 "no step ran, and the body does not state the shape of \"", port_.name, "\"");
    Sizes sizes = port_.sizes;
    for (std::int64_t& size : sizes) size = std::max(size, std::int64_t{0});
    sizes.insert(sizes.begin() + Call::axis_in(axis, std::ssize(sizes) + 1), 0);
    return moved(Tensor::zeros(to_shape(sizes), port_.dtype), *device_);
  }

 private:
  const Device* device_;
  Port port_;
  std::vector<Tensor> parts_;
};

/// Loop: (count, condition, carried...) to (carried..., collected...).
class LoopState final : public Control {
 public:
  explicit LoopState(const Call& call) : device_(&call.device()), body_(call.graph("body")), has_count_(call.has(0)) {
    if (has_count_) {
      const Ints count = call.sizes_of_input(0);
      STRATA_CHECK(count.size() == 1, shape, "the count has ", count.size(), " elements instead of 1");
      length_ = count[0];
      count_ = present(length_);
    }
    if (call.has(1)) condition_ = call.datum(1);
    for (std::size_t k = 2; k < call.count(); ++k) carried_.push_back(call.has(k) ? call.datum(k) : Datum());
    for (std::size_t k = carried_.size(); k < call.outputs(); ++k) collected_.emplace_back(call, k + 1);
  }

  std::optional<Results> at_once(StepTracer& tracer) override {
    const bool has_tensors =
        std::all_of(carried_.begin(), carried_.end(), [](const Datum& value) { return value.is_tensor(); });
    if (!has_tensors || (length_.is_number() && has_count_ && count_ <= 0)) return std::nullopt;
    if (is_on_host(condition_) && !begins()) return std::nullopt;
    const std::int64_t left = tracer.steps_left(body_);
    const bool is_short = has_count_ && length_.is_number() && left > 0 && count_ <= kFoldedSteps;
    if (is_short && std::all_of(carried_.begin(), carried_.end(), is_on_host) && tracer.is_known(body_))
      return std::nullopt;
    if (has_count_ && count_ <= left && !tracer.depends_on_data()) {
      std::optional<Results> out = counted(tracer);
      if (out || !tracer.depends_on_data()) return out;
    }
    return collected_.empty() ? conditional(tracer, left) : std::nullopt;
  }

  std::optional<Step> next() override {
    check_steps(length_);
    if (done_ == 0) goes_on_ = begins();
    if (!goes_on_ || (has_count_ && done_ >= count_)) return std::nullopt;
    const Device& host = Device::get("INTERP");
    Results inputs = {moved(Tensor(done_), host), moved(Tensor(true), host)};
    inputs.insert(inputs.end(), carried_.begin(), carried_.end());
    return Step{body_, std::move(inputs)};
  }
  void take(Results outputs) override {
    check_count(outputs);
    realize_all(outputs);
    goes_on_ = truth_of(outputs[0]);
    const std::size_t n = carried_.size();
    for (std::size_t k = 0; k < n; ++k) carried_[k] = outputs[1 + k];
    for (std::size_t k = 0; k < collected_.size(); ++k) collected_[k].add(outputs[1 + n + k]);
    ++done_;
  }
  Results results() override {
    Results out = std::move(carried_);
    for (Collected& parts : collected_) out.emplace_back(parts.joined());
    return out;
  }

 private:
  /// Ends the trace of a body as one that always goes on.
  struct ConditionDepends {};

  bool begins() const { return condition_.is_absent() || truth_of(condition_); }
  void check_count(const Results& outputs) const {
    STRATA_CHECK(outputs.size() >= 1 + carried_.size() + collected_.size(), parse, "the body has ", outputs.size(),
                 " outputs for ", carried_.size(), " carried values, ", collected_.size(),
                 " collected ones and the condition");
  }
  std::vector<Tensor> initial() const { return tensors_on(carried_, *device_); }

  /// The outputs of a step that is traced. The condition is true where a step begins.
  Results traced(StepTracer& tracer, const Tensor& step, std::span<const Tensor> carried, std::int64_t count,
                 bool is_exact) const {
    Results inputs = {step, moved(Tensor(true), Device::get("INTERP"))};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    Results out = tracer.trace({body_, std::move(inputs)}, count, is_exact);
    check_count(out);
    return out;
  }

  /// A loop whose condition stays true: a scan over the numbers of the steps. Nothing: the condition depends on data.
  std::optional<Results> counted(StepTracer& tracer) const {
    const std::size_t n = carried_.size();
    const auto step = [&](std::span<const Tensor> carried, std::span<const Tensor> numbers) {
      const Results out = traced(tracer, numbers[0], carried, count_, true);
      const Tensor& goes_on = out[0].tensor();
      if (detail::is_of_step(goes_on)) throw ConditionDepends();
      STRATA_CHECK(truth_of(out[0]), undefined, "the condition is false behind the first step");
      const std::vector<Tensor> made = tensors_on(std::span(out).subspan(1, n + collected_.size()), *device_);
      return std::pair(std::vector<Tensor>(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(n)),
                       std::vector<Tensor>(made.begin() + static_cast<std::ptrdiff_t>(n), made.end()));
    };
    const Tensor numbers = TensorAccess::of(LazyOp::iota(dtypes::int64, ShapeTracker::from_shape({length_})), *device_);
    try {
      const ScanResult made = strata::scan(step, initial(), {&numbers, 1});
      if (!is_on_host(condition_) && !begins()) return std::nullopt;
      Results out(made.state.begin(), made.state.end());
      out.insert(out.end(), made.outputs.begin(), made.outputs.end());
      return out;
    } catch (const ConditionDepends&) {
      tracer.depends_on_data() = true;
      return std::nullopt;
    }
  }

  /// A loop that data end. The state is the condition and the number of the step, in front of what is carried.
  std::optional<Results> conditional(StepTracer& tracer, std::int64_t left) const {
    // Where the limit of the call is less than the count, the loop must not end by the limit unnoticed.
    const bool is_limited = !has_count_ || count_ > left;
    if (left <= 0 || (is_limited && (tracer.is_tracing() || !NoGrad::is_active()))) return std::nullopt;
    const std::int64_t most = is_limited ? left : count_;
    const Int steps = is_limited ? Int(left) : length_;
    const auto step = [&](std::span<const Tensor> s) {
      const Results out = traced(tracer, s[1], s.subspan(2), most, false);
      const bool is_endless = is_limited && !detail::is_of_step(out[0].tensor()) && truth_of(out[0]);
      STRATA_CHECK(!is_endless, budget, "the condition stays true, and at most ", most,
                   " more steps are allowed (most_steps)");
      const Tensor goes_on = moved(out[0].tensor(), *device_);
      STRATA_CHECK(goes_on.dtype() == dtypes::boolean && goes_on.numel() == Int(1), domain, "a condition is ",
                   out[0].type_text(), " instead of one bool");
      std::vector<Tensor> next = {goes_on.reshape({}), s[1] + 1};
      for (const Tensor& x : tensors_on(std::span(out).subspan(1, carried_.size()), *device_)) next.push_back(x);
      return next;
    };
    const auto constant = [&](const Tensor& x) { return moved(x, *device_); };
    const Tensor begin = condition_.is_absent() ? constant(Tensor(true)) : constant(condition_.tensor());
    std::vector<Tensor> state = {begin.reshape({}), constant(Tensor(std::int64_t{0}))};
    for (const Tensor& x : initial()) state.push_back(x);
    const std::vector<Tensor> last = while_loop([](std::span<const Tensor> s) { return s[0]; }, step, state, steps);
    if (is_limited)
      STRATA_CHECK(!truth_of(last[0]), budget, "the condition is still true behind ", most,
                   " steps, as many as the call may run (most_steps)");
    return Results(last.begin() + 2, last.end());
  }

  const Device* device_;
  int body_;
  bool has_count_, goes_on_ = true;
  Int length_ = 0;          ///< the count
  std::int64_t count_ = 0;  ///< its present value
  std::int64_t done_ = 0;
  Datum condition_;  ///< absent: true
  Results carried_;
  std::vector<Collected> collected_;
};

/// Scan over slices of sequences: (state..., sequences...) to (state..., collected...).
class ScanState final : public Control {
 public:
  ScanState(const Call& call, std::size_t first, std::int64_t batch)
      : device_(&call.device()), body_(call.graph("body")) {
    const auto sequences = static_cast<std::size_t>(call.integer("num_scan_inputs"));
    STRATA_CHECK(call.integer("num_scan_inputs") >= 1 && first + sequences <= call.count(), parse,
                 "num_scan_inputs is ", sequences, " for ", call.count(), " inputs");
    const std::size_t states = call.count() - first - sequences;
    const auto part = [&](const Tensor& x) { return batch < 0 ? x : x.select(0, batch); };
    for (std::size_t k = 0; k < states; ++k) state_.emplace_back(part(call.x(first + k)));
    const Sizes axes = call.opset() >= 9 ? call.integers("scan_input_axes") : Sizes();
    const Sizes directions = call.integers(call.opset() >= 9 ? "scan_input_directions" : "directions");
    for (std::size_t k = 0; k < sequences; ++k) {
      const Tensor x = part(call.x(first + states + k));
      const std::int64_t axis = Call::axis_in(k < axes.size() ? axes[k] : 0, x.ndim());
      sequences_.push_back(x.movedim({axis}, {0}));
      is_reversed_.push_back(k < directions.size() && directions[k] == 1);
      STRATA_CHECK(x.size(axis) == sequences_[0].size(0), shape, "sequences have ", sequences_[0].size(0).render(),
                   " and ", x.size(axis).render(), " steps");
    }
    length_ = sequences_[0].size(0);
    steps_ = present(length_);
    for (std::size_t k = states; k < call.outputs(); ++k) collected_.emplace_back(call, k);
    if (call.opset() >= 9) {
      output_axes_ = call.integers("scan_output_axes");
      output_directions_ = call.integers("scan_output_directions");
    }
  }

  std::optional<Results> at_once(StepTracer& tracer) override {
    if (length_ == Int(0)) return std::nullopt;
    const std::size_t n = state_.size();
    const auto step = [&](std::span<const Tensor> state, std::span<const Tensor> elements) {
      Results inputs(state.begin(), state.end());
      inputs.insert(inputs.end(), elements.begin(), elements.end());
      const Results out = tracer.trace({body_, std::move(inputs)}, steps_, true);
      check_count(out);
      const std::vector<Tensor> made = tensors_on(std::span(out).first(n + collected_.size()), *device_);
      return std::pair(std::vector<Tensor>(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(n)),
                       std::vector<Tensor>(made.begin() + static_cast<std::ptrdiff_t>(n), made.end()));
    };
    // Where all sequences begin with the last element the loop does, else those that do are turned over.
    const bool runs_back = std::all_of(is_reversed_.begin(), is_reversed_.end(), [](bool is) { return is; });
    std::vector<Tensor> sequences;
    for (std::size_t k = 0; k < sequences_.size(); ++k)
      sequences.push_back(is_reversed_[k] && !runs_back ? sequences_[k].flip({0}) : sequences_[k]);
    const ScanResult made =
        strata::scan(step, tensors_on(state_, *device_), sequences, {.length = length_, .reverse = runs_back});
    Results out(made.state.begin(), made.state.end());
    for (std::size_t k = 0; k < collected_.size(); ++k) {
      const Tensor& x = made.outputs[k];
      const std::int64_t axis = Call::axis_in(output_axis(k), x.ndim());
      out.emplace_back((is_output_reversed(k) != runs_back ? x.flip({0}) : x).movedim({0}, {axis}));
    }
    return out;
  }

  std::optional<Step> next() override {
    check_steps(length_);
    if (done_ >= steps_) return std::nullopt;
    STRATA_CHECK(steps_ <= kMostSlices, budget, "a sequence of ", steps_, " steps, more than ", kMostSlices);
    Results inputs = state_;
    for (std::size_t k = 0; k < sequences_.size(); ++k)
      inputs.emplace_back(sequences_[k].select(0, is_reversed_[k] ? steps_ - 1 - done_ : done_));
    return Step{body_, std::move(inputs)};
  }
  void take(Results outputs) override {
    check_count(outputs);
    realize_all(outputs);
    for (std::size_t k = 0; k < state_.size(); ++k) state_[k] = outputs[k];
    for (std::size_t k = 0; k < collected_.size(); ++k) collected_[k].add(outputs[state_.size() + k]);
    ++done_;
  }
  Results results() override {
    Results out = state_;
    for (std::size_t k = 0; k < collected_.size(); ++k)
      out.emplace_back(collected_[k].joined(output_axis(k), is_output_reversed(k)));
    return out;
  }

 private:
  std::int64_t output_axis(std::size_t k) const { return k < output_axes_.size() ? output_axes_[k] : 0; }
  bool is_output_reversed(std::size_t k) const { return k < output_directions_.size() && output_directions_[k] == 1; }
  void check_count(const Results& outputs) const {
    STRATA_CHECK(outputs.size() >= state_.size() + collected_.size(), parse, "the body has ", outputs.size(),
                 " outputs, too few");
  }

  const Device* device_;
  int body_;
  Results state_;
  std::vector<Tensor> sequences_;  ///< with the axis of the steps in front
  std::vector<bool> is_reversed_;
  std::vector<Collected> collected_;
  Sizes output_axes_, output_directions_;
  Int length_ = 0;
  std::int64_t steps_ = 0, done_ = 0;  ///< the present length
};

/// Scan of version 8: every input has a batch axis in front, and the batch runs element by element.
class BatchedScan final : public Control {
 public:
  explicit BatchedScan(const Call& call) {
    STRATA_CHECK(!call.has(0), undefined, "lengths of sequences (an input of Scan 8) are not supported");
    STRATA_CHECK(call.count() >= 2, parse, "there is nothing to scan");
    const std::int64_t batch = number_of_size(call.x(1), 0);
    for (std::int64_t b = 0; b < batch; ++b) parts_.push_back(std::make_unique<ScanState>(call, 1, b));
  }
  std::optional<Results> at_once(StepTracer& tracer) override {
    std::vector<std::vector<Tensor>> columns;
    for (const auto& part : parts_) {
      const std::optional<Results> values = part->at_once(tracer);
      if (!values) return std::nullopt;
      add(columns, *values);
    }
    return stacked(columns);
  }
  std::optional<Step> next() override {
    for (; at_ < parts_.size(); ++at_)
      if (std::optional<Step> step = parts_[at_]->next()) return step;
    return std::nullopt;
  }
  void take(Results outputs) override { parts_[at_]->take(std::move(outputs)); }
  Results results() override {
    std::vector<std::vector<Tensor>> columns;
    for (const auto& part : parts_) add(columns, part->results());
    return stacked(columns);
  }

 private:
  static void add(std::vector<std::vector<Tensor>>& columns, const Results& values) {
    columns.resize(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) columns[k].push_back(values[k].tensor());
  }
  static Results stacked(const std::vector<std::vector<Tensor>>& columns) {
    Results out;
    for (const std::vector<Tensor>& column : columns) out.emplace_back(Tensor::stack(column, 0));
    return out;
  }

  std::vector<std::unique_ptr<ScanState>> parts_;
  std::size_t at_ = 0;
};

/// SequenceMap: the body of each element of the first sequence; other sequences go along, other values are repeated.
class MapState final : public Control {
 public:
  explicit MapState(const Call& call) : body_(call.graph("body")), outputs_(call.outputs()) {
    for (std::size_t k = 0; k < call.count(); ++k) inputs_.push_back(call.datum(k));
    for (const Datum& input : inputs_)
      STRATA_CHECK(!input.is_sequence() || input.sequence().size() >= inputs_[0].sequence().size(), shape,
                   "a sequence has ", input.is_sequence() ? input.sequence().size() : 0, " elements, the first one ",
                   inputs_[0].sequence().size());
  }
  std::optional<Step> next() override {
    if (done_ >= inputs_[0].sequence().size()) return std::nullopt;
    Results inputs;
    for (const Datum& input : inputs_) inputs.push_back(input.is_sequence() ? input.sequence()[done_] : input);
    return Step{body_, std::move(inputs)};
  }
  void take(Results outputs) override {
    STRATA_CHECK(outputs.size() >= outputs_.size(), parse, "the body has ", outputs.size(), " outputs, too few");
    for (std::size_t k = 0; k < outputs_.size(); ++k) outputs_[k].push_back(outputs[k]);
    ++done_;
  }
  Results results() override { return {outputs_.begin(), outputs_.end()}; }

 private:
  int body_;
  Results inputs_;
  std::vector<Sequence> outputs_;
  std::size_t done_ = 0;
};

}  // namespace

std::unique_ptr<Control> call_of_function(int graph, std::span<const Datum> inputs) {
  return std::make_unique<OneGraph>(graph, Results(inputs.begin(), inputs.end()));
}

std::unique_ptr<Control> if_then_else(const Call& call) {
  const int graph = call.graph(truth_of(call.datum(0)) ? "then_branch" : "else_branch");
  return std::make_unique<OneGraph>(graph, Results());
}
std::unique_ptr<Control> loop(const Call& call) { return std::make_unique<LoopState>(call); }
std::unique_ptr<Control> scan(const Call& call) { return std::make_unique<ScanState>(call, 0, -1); }
std::unique_ptr<Control> scan8(const Call& call) { return std::make_unique<BatchedScan>(call); }
std::unique_ptr<Control> sequence_map(const Call& call) { return std::make_unique<MapState>(call); }

}  // namespace strata::onnx
