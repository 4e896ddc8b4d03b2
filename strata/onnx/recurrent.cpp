// RNN, GRU and LSTM: the steps of a direction are one loop of the graph (tensor/scan.h).
#include <algorithm>
#include <functional>
#include <span>

#include "strata/onnx/operators.h"
#include "strata/tensor/scan.h"

namespace strata::onnx {
namespace {

using Activation = std::function<Tensor(const Tensor&)>;

/// The activation of that name. `alpha` and `beta` are consumed in the order of the activations that have them.
Activation activation_of(const std::string& name, const std::vector<double>& alphas, const std::vector<double>& betas,
                         std::size_t& next_alpha, std::size_t& next_beta) {
  const auto alpha = [&](double otherwise) { return next_alpha < alphas.size() ? alphas[next_alpha++] : otherwise; };
  const auto beta = [&](double otherwise) { return next_beta < betas.size() ? betas[next_beta++] : otherwise; };
  if (name == "Relu") return [](const Tensor& x) { return x.relu(); };
  if (name == "Tanh") return [](const Tensor& x) { return x.tanh(); };
  if (name == "Sigmoid") return [](const Tensor& x) { return x.sigmoid(); };
  if (name == "Softsign") return [](const Tensor& x) { return x.softsign(); };
  if (name == "Softplus") return [](const Tensor& x) { return x.softplus(1, 1e30); };
  if (name == "Affine") return [a = alpha(1), b = beta(0)](const Tensor& x) { return x * a + b; };
  if (name == "LeakyRelu") return [a = alpha(0.01)](const Tensor& x) { return x.leaky_relu(a); };
  if (name == "ThresholdedRelu") return [a = alpha(1)](const Tensor& x) { return (x > a).where(x, 0); };
  if (name == "ScaledTanh") return [a = alpha(1), b = beta(1)](const Tensor& x) { return (x * b).tanh() * a; };
  if (name == "HardSigmoid")
    return [a = alpha(0.2), b = beta(0.5)](const Tensor& x) { return (x * a + b).clip(Operand(0), Operand(1)); };
  STRATA_CHECK(name == "Elu", domain, "the activation ", name, " is unknown");
  return [a = alpha(1)](const Tensor& x) { return x.elu(a); };
}

/// What the three operators share: the inputs X, W, R, B, lengths, initial states, and their attributes.
class Recurrence {
 public:
  Recurrence(const Call& call, std::int64_t gates, const std::vector<std::string>& activations)
      : call_(call), is_batch_first_(call.opset() >= 14 && call.integer("layout") != 0) {
    x_ = is_batch_first_ ? call.x(0).transpose(0, 1) : call.x(0);
    STRATA_CHECK(x_.ndim() == 3, shape, "the input has ", x_.ndim(), " dimensions instead of 3");
    const std::string& direction = call.text("direction");
    STRATA_CHECK(direction == "forward" || direction == "reverse" || direction == "bidirectional", domain,
                 "the direction is ", direction);
    directions_ = direction == "bidirectional" ? 2 : 1;
    is_reverse_ = direction == "reverse";
    hidden_ = call.given("hidden_size") ? call.integer("hidden_size") : call.x(2).size(-1).value();
    const Sizes wanted = {directions_, gates * hidden_, hidden_};
    STRATA_CHECK(sizes_of(call.x(2)) == wanted, shape, "the recurrent weights are ", call.datum(2).type_text(),
                 " instead of ", sizes_text(wanted));
    std::vector<std::string> names = call.texts("activations");
    if (names.empty())
      for (std::int64_t d = 0; d < directions_; ++d) names.insert(names.end(), activations.begin(), activations.end());
    STRATA_CHECK(names.size() == activations.size() * static_cast<std::size_t>(directions_), domain, names.size(),
                 " activations for ", directions_, " directions");
    const std::vector<double> alphas = call.numbers("activation_alpha"), betas = call.numbers("activation_beta");
    std::size_t next_alpha = 0, next_beta = 0;
    for (const std::string& name : names)
      activations_.push_back(activation_of(name, alphas, betas, next_alpha, next_beta));
    per_direction_ = activations.size();
  }

  std::int64_t hidden() const { return hidden_; }
  std::int64_t directions() const { return directions_; }
  const Activation& activation(std::int64_t direction, std::size_t k) const {
    return activations_[static_cast<std::size_t>(direction) * per_direction_ + k];
  }
  Tensor clipped(const Tensor& x) const {
    if (!call_.given("clip")) return x;
    const double limit = call_.number("clip");
    return x.clip(Operand(-limit), Operand(limit));
  }
  Tensor weight(std::int64_t d) const { return call_.x(1).select(0, d).t(); }
  Tensor recurrent(std::int64_t d) const { return call_.x(2).select(0, d).t(); }
  /// Half `k` of the bias: of the input's, or of the state's product.
  std::optional<Tensor> bias(std::int64_t d, std::int64_t k) const {
    if (!call_.has(3)) return std::nullopt;
    const Tensor both = call_.x(3).select(0, d);
    const std::int64_t half = both.size(0).value() / 2;
    return both.narrow(0, k * half, half);
  }
  /// The sum of both halves.
  std::optional<Tensor> biases(std::int64_t d) const {
    const std::optional<Tensor> first = bias(d, 0);
    return first ? std::optional(*first + *bias(d, 1)) : std::nullopt;
  }
  /// An initial state: input `i`, or zeros. Shape (batch, hidden).
  Tensor initial(std::size_t i, std::int64_t d) const {
    if (!call_.has(i)) return call_.full(Ints{x_.size(1), hidden_}, 0, x_.dtype());
    return call_.x(i).select(is_batch_first_ ? 1 : 0, d);
  }
  Tensor inputs() const { return x_; }

  using Step = std::function<std::vector<Tensor>(const Tensor& input, std::span<const Tensor> states)>;
  /// A direction: the first state of each step in the order of the sequence, (length, batch, hidden), and the last
  /// states.
  struct Direction {
    Tensor steps;
    std::vector<Tensor> last;
  };
  /// Runs a direction, as one loop of the graph. Steps behind the length of a sequence change nothing, and their output
  /// is 0.
  Direction run(std::int64_t d, const Tensor& inputs, const std::vector<Tensor>& states, const Step& step) const {
    const Int& length = inputs.size(0);
    STRATA_CHECK(length.vmin() > 0, shape, "the sequence has no steps");
    std::vector<Tensor> sequences = {inputs};
    if (call_.has(4)) {
      const Tensor time = call_.arange(length).reshape({length, 1, 1});
      sequences.push_back(time < call_.x(4).cast(dtypes::int64).reshape({1, -1, 1}));
    }
    const Origin origin = Origin::current();
    const ScanStep one = [&](std::span<const Tensor> before, std::span<const Tensor> elements) {
      const OriginScope scope(origin);
      std::vector<Tensor> next = step(elements[0], before);
      Tensor output = next[0];
      if (elements.size() > 1) {
        output = elements[1].where(next[0], 0);
        for (std::size_t s = 0; s < next.size(); ++s) next[s] = elements[1].where(next[s], before[s]);
      }
      return std::pair(std::move(next), std::vector<Tensor>{output});
    };
    ScanResult made = scan(one, states, sequences, {.reverse = is_reverse_ || d == 1});
    return {std::move(made.outputs[0]), std::move(made.state)};
  }

  /// The outputs: all steps, then the last states, in the layout that is asked for.
  Results outputs(const std::vector<Direction>& directions) const {
    std::vector<Tensor> by_direction;
    for (const Direction& d : directions) by_direction.push_back(d.steps);
    const Tensor all = Tensor::stack(by_direction, 1);  // (length, directions, batch, hidden)
    Results out = {is_batch_first_ ? all.permute({2, 0, 1, 3}) : all};
    for (std::size_t s = 0; s < directions[0].last.size(); ++s) {
      std::vector<Tensor> parts;
      for (const Direction& d : directions) parts.push_back(d.last[s]);
      out.emplace_back(Tensor::stack(parts, is_batch_first_ ? 1 : 0));
    }
    return out;
  }

 private:
  const Call& call_;
  Tensor x_;
  bool is_batch_first_, is_reverse_ = false;
  std::int64_t directions_ = 1, hidden_ = 0;
  std::vector<Activation> activations_;
  std::size_t per_direction_ = 1;
};

Tensor plus(const Tensor& x, const std::optional<Tensor>& bias) { return bias ? x + *bias : x; }

}  // namespace

Results rnn(const Call& call) {
  const Recurrence r(call, 1, {"Tanh"});
  std::vector<Recurrence::Direction> made;
  for (std::int64_t d = 0; d < r.directions(); ++d) {
    const Tensor recurrent = r.recurrent(d), inputs = plus(r.inputs().matmul(r.weight(d)), r.biases(d));
    const auto step = [&](const Tensor& input, std::span<const Tensor> states) -> std::vector<Tensor> {
      return {r.activation(d, 0)(r.clipped(input + states[0].matmul(recurrent)))};
    };
    made.push_back(r.run(d, inputs, {r.initial(5, d)}, step));
  }
  return r.outputs(made);
}

Results gru(const Call& call) {
  const Recurrence r(call, 3, {"Sigmoid", "Tanh"});
  const bool resets_behind = call.integer("linear_before_reset") != 0;
  std::vector<Recurrence::Direction> made;
  const std::int64_t h = r.hidden();
  for (std::int64_t d = 0; d < r.directions(); ++d) {
    // The gates are update (z), reset (r) and the new state, in this order.
    const Tensor recurrent = r.recurrent(d), inputs = plus(r.inputs().matmul(r.weight(d)), r.bias(d, 0));
    const Tensor gates_recurrent = recurrent.narrow(1, 0, 2 * h), new_recurrent = recurrent.narrow(1, 2 * h, h);
    std::optional<Tensor> gates_bias, new_bias;
    if (const std::optional<Tensor> bias = r.bias(d, 1)) {
      gates_bias = bias->narrow(0, 0, 2 * h);
      new_bias = bias->narrow(0, 2 * h, h);
    }
    const auto step = [&](const Tensor& input, std::span<const Tensor> states) -> std::vector<Tensor> {
      const Tensor& before = states[0];
      const Tensor gates =
          r.activation(d, 0)(r.clipped(input.narrow(1, 0, 2 * h) + plus(before.matmul(gates_recurrent), gates_bias)));
      const Tensor update = gates.narrow(1, 0, h), reset = gates.narrow(1, h, h);
      const Tensor memory = resets_behind ? reset * plus(before.matmul(new_recurrent), new_bias)
                                          : plus((reset * before).matmul(new_recurrent), new_bias);
      const Tensor fresh = r.activation(d, 1)(r.clipped(input.narrow(1, 2 * h, h) + memory));
      return {(1 - update) * fresh + update * before};
    };
    made.push_back(r.run(d, inputs, {r.initial(5, d)}, step));
  }
  return r.outputs(made);
}

Results lstm(const Call& call) {
  const Recurrence r(call, 4, {"Sigmoid", "Tanh", "Tanh"});
  const bool couples = call.integer("input_forget") != 0;
  std::vector<Recurrence::Direction> made;
  const std::int64_t h = r.hidden();
  for (std::int64_t d = 0; d < r.directions(); ++d) {
    // The gates are input, output, forget and cell, in this order; peepholes are of input, output and forget.
    const Tensor recurrent = r.recurrent(d), inputs = plus(r.inputs().matmul(r.weight(d)), r.biases(d));
    std::optional<Tensor> peepholes;
    if (call.has(7)) peepholes = call.x(7).select(0, d);
    const auto gate = [&](const Tensor& sums, std::int64_t k, const Tensor& cell) {
      const Tensor sum = sums.narrow(1, k * h, h);
      return r.activation(d, 0)(r.clipped(peepholes ? sum + peepholes->narrow(0, k * h, h) * cell : sum));
    };
    const auto step = [&](const Tensor& input, std::span<const Tensor> states) -> std::vector<Tensor> {
      const Tensor sums = input + states[0].matmul(recurrent);
      const Tensor entering = gate(sums, 0, states[1]);
      const Tensor kept = couples ? 1 - entering : gate(sums, 2, states[1]);
      const Tensor fresh = r.activation(d, 1)(r.clipped(sums.narrow(1, 3 * h, h)));
      const Tensor cell = kept * states[1] + entering * fresh;
      return {gate(sums, 1, cell) * r.activation(d, 2)(cell), cell};
    };
    made.push_back(r.run(d, inputs, {r.initial(5, d), r.initial(6, d)}, step));
  }
  return r.outputs(made);
}

}  // namespace strata::onnx
