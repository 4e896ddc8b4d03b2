// If, Loop, Scan and SequenceMap: operators that run graphs.
#include <algorithm>
#include <utility>

#include "strata/onnx/operators.h"
#include "strata/onnx/run.h"

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
  explicit LoopState(const Call& call) : body_(call.graph("body")), has_count_(call.has(0)) {
    if (has_count_) count_ = call.integer_of(0);
    if (call.has(1)) goes_on_ = truth_of(call.datum(1));
    for (std::size_t k = 2; k < call.count(); ++k) carried_.push_back(call.has(k) ? call.datum(k) : Datum());
    for (std::size_t k = carried_.size(); k < call.outputs(); ++k) collected_.emplace_back(call, k + 1);
  }
  std::optional<Step> next() override {
    if (!goes_on_ || (has_count_ && done_ >= count_)) return std::nullopt;
    const Device& host = Device::get("INTERP");
    Results inputs = {moved(Tensor(done_), host), moved(Tensor(true), host)};
    inputs.insert(inputs.end(), carried_.begin(), carried_.end());
    return Step{body_, std::move(inputs)};
  }
  void take(Results outputs) override {
    STRATA_CHECK(outputs.size() >= 1 + carried_.size(), parse, "the body has ", outputs.size(), " outputs for ",
                 carried_.size(), " carried values and the condition");
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
  int body_;
  bool has_count_, goes_on_ = true;
  std::int64_t count_ = 0, done_ = 0;
  Results carried_;
  std::vector<Collected> collected_;
};

/// Scan over slices of sequences: (state..., sequences...) to (state..., collected...).
class ScanState final : public Control {
 public:
  ScanState(const Call& call, std::size_t first, std::int64_t batch) : body_(call.graph("body")) {
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
      std::int64_t axis = k < axes.size() ? axes[k] : 0;
      axis = Call::axis_in(axis, x.ndim());
      STRATA_CHECK(x.size(axis).value() <= kMostSlices, budget, "a sequence of ", x.size(axis).value(),
                   " steps, more than ", kMostSlices);
      std::vector<Tensor> slices = x.unbind(axis);
      if (k < directions.size() && directions[k] == 1) std::reverse(slices.begin(), slices.end());
      STRATA_CHECK(k == 0 || slices.size() == sequences_[0].size(), shape, "sequences have ", sequences_[0].size(),
                   " and ", slices.size(), " steps");
      sequences_.push_back(std::move(slices));
    }
    for (std::size_t k = states; k < call.outputs(); ++k) collected_.emplace_back(call, k);
    if (call.opset() >= 9) {
      output_axes_ = call.integers("scan_output_axes");
      output_directions_ = call.integers("scan_output_directions");
    }
  }
  std::optional<Step> next() override {
    if (done_ >= sequences_[0].size()) return std::nullopt;
    Results inputs = state_;
    for (const std::vector<Tensor>& slices : sequences_) inputs.emplace_back(slices[done_]);
    return Step{body_, std::move(inputs)};
  }
  void take(Results outputs) override {
    STRATA_CHECK(outputs.size() >= state_.size() + collected_.size(), parse, "the body has ", outputs.size(),
                 " outputs, too few");
    realize_all(outputs);
    for (std::size_t k = 0; k < state_.size(); ++k) state_[k] = outputs[k];
    for (std::size_t k = 0; k < collected_.size(); ++k) collected_[k].add(outputs[state_.size() + k]);
    ++done_;
  }
  Results results() override {
    Results out = state_;
    for (std::size_t k = 0; k < collected_.size(); ++k) {
      const std::int64_t axis = k < output_axes_.size() ? output_axes_[k] : 0;
      const bool is_reversed = k < output_directions_.size() && output_directions_[k] == 1;
      out.emplace_back(collected_[k].joined(axis, is_reversed));
    }
    return out;
  }

 private:
  int body_;
  Results state_;
  std::vector<std::vector<Tensor>> sequences_;
  std::vector<Collected> collected_;
  Sizes output_axes_, output_directions_;
  std::size_t done_ = 0;
};

/// Scan of version 8: every input has a batch axis in front, and the batch runs element by element.
class BatchedScan final : public Control {
 public:
  explicit BatchedScan(const Call& call) {
    STRATA_CHECK(!call.has(0), undefined, "lengths of sequences (an input of Scan 8) are not supported");
    STRATA_CHECK(call.count() >= 2, parse, "there is nothing to scan");
    const std::int64_t batch = call.x(1).size(0).value();
    for (std::int64_t b = 0; b < batch; ++b) parts_.push_back(std::make_unique<ScanState>(call, 1, b));
  }
  std::optional<Step> next() override {
    for (; at_ < parts_.size(); ++at_)
      if (std::optional<Step> step = parts_[at_]->next()) return step;
    return std::nullopt;
  }
  void take(Results outputs) override { parts_[at_]->take(std::move(outputs)); }
  Results results() override {
    std::vector<std::vector<Tensor>> columns;
    for (const auto& part : parts_) {
      const Results values = part->results();
      columns.resize(values.size());
      for (std::size_t k = 0; k < values.size(); ++k) columns[k].push_back(values[k].tensor());
    }
    Results out;
    for (const std::vector<Tensor>& column : columns) out.emplace_back(Tensor::stack(column, 0));
    return out;
  }

 private:
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
