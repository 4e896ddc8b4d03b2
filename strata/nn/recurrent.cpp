#include "strata/nn/recurrent.h"

#include <cmath>

#include "strata/graph/origin.h"
#include "strata/nn/layers.h"
#include "strata/tensor/access.h"
#include "strata/tensor/random.h"
#include "strata/tensor/scan.h"

namespace strata::nn {

namespace {

/// Gate `k` of a tensor (batch, gates * features).
Tensor gate_of(const Tensor& gates, std::int64_t k, const Tensor& state) {
  const Int& f = state.shape()[1];
  return gates.shrink({{0, gates.shape()[0]}, {f * Int(k), f * Int(k + 1)}});
}

/// The gates of a step: the part of the input, and that of the hidden state.
Tensor gates_of(const Tensor& from_input, const Tensor& hidden, const Recurrent::Weights& w) {
  return from_input + linear(hidden, w.weight_hh);
}

std::vector<Tensor> rnn_step(const Tensor& x, std::span<const Tensor> s, const Recurrent::Weights& w) {
  return {gates_of(x, s[0], w).tanh()};
}
std::vector<Tensor> relu_step(const Tensor& x, std::span<const Tensor> s, const Recurrent::Weights& w) {
  return {gates_of(x, s[0], w).relu()};
}
std::vector<Tensor> lstm_step(const Tensor& x, std::span<const Tensor> s, const Recurrent::Weights& w) {
  const Tensor gates = gates_of(x, s[0], w);
  const auto part = [&](std::int64_t k) { return gate_of(gates, k, s[0]); };
  const Tensor cell = part(1).sigmoid() * s[1] + part(0).sigmoid() * part(2).tanh();
  return {part(3).sigmoid() * cell.tanh(), cell};
}
std::vector<Tensor> gru_step(const Tensor& x, std::span<const Tensor> s, const Recurrent::Weights& w) {
  const Tensor b = w.bias_hh.numel() == Int(0) ? linear(s[0], w.weight_hh) : linear(s[0], w.weight_hh, w.bias_hh);
  const auto sum = [&](std::int64_t k) { return gate_of(x, k, s[0]) + gate_of(b, k, s[0]); };
  const Tensor reset = sum(0).sigmoid(), update = sum(1).sigmoid();
  const Tensor next = (gate_of(x, 2, s[0]) + reset * gate_of(b, 2, s[0])).tanh();
  return {next + update * (s[0] - next)};
}

}  // namespace

Recurrent::Recurrent(const char* name, std::int64_t gates, std::int64_t in, std::int64_t f, RecurrentOptions o)
    : features(f), options(o), name_(name) {
  STRATA_CHECK(in >= 1 && f >= 1, domain, "[", name, "] ", in, " inputs and ", f, " features");
  STRATA_CHECK(o.layers >= 1, domain, "[", name, "] ", o.layers, " layers");
  STRATA_CHECK(o.dropout >= 0 && o.dropout < 1, domain, "[", name, "] dropout ", o.dropout, " is outside of [0, 1)");
  const double most = 1 / std::sqrt(static_cast<double>(f));
  const auto made = [&](const Ints& shape) { return uniform(shape, -most, most); };
  more_.reserve(static_cast<std::size_t>(o.layers * directions()));  // members have fixed addresses
  for (std::int64_t layer = 0; layer < o.layers; ++layer) {
    for (std::int64_t d = 0; d < directions(); ++d) {
      const std::int64_t inputs = layer == 0 ? in : f * directions();
      Weights w{made({gates * f, inputs}), made({gates * f, f}), {}, {}};
      if (o.bias) w.bias_ih = made({gates * f}), w.bias_hh = made({gates * f});
      const bool is_first = layer == 0 && d == 0;
      if (is_first)
        weight_ih = w.weight_ih, weight_hh = w.weight_hh, bias_ih = w.bias_ih, bias_hh = w.bias_hh;
      else
        more_.push_back(std::move(w));
      const std::string end = detail::message("_l", layer, d == 1 ? "_reverse" : "");
      add_member("weight_ih" + end, is_first ? weight_ih : more_.back().weight_ih);
      add_member("weight_hh" + end, is_first ? weight_hh : more_.back().weight_hh);
      if (!o.bias) continue;
      add_member("bias_ih" + end, is_first ? bias_ih : more_.back().bias_ih);
      add_member("bias_hh" + end, is_first ? bias_hh : more_.back().bias_hh);
    }
  }
}

Recurrent::Weights Recurrent::weights(std::int64_t layer, std::int64_t direction) const {
  STRATA_CHECK(layer >= 0 && layer < options.layers && direction >= 0 && direction < directions(), domain, "[", name_,
               "] layer ", layer, ", direction ", direction, " of ", options.layers, " layers in ", directions());
  const std::int64_t k = layer * directions() + direction;
  return k == 0 ? Weights{weight_ih, weight_hh, bias_ih, bias_hh} : more_[static_cast<std::size_t>(k - 1)];
}

/// One direction of a layer over x, (length, batch, in). The output is (length, batch, features).
Recurrent::Out Recurrent::run_direction(const Tensor& x, std::span<const Tensor> initial,
                                        const std::optional<Tensor>& mask, bool adds_both, Step step, const Weights& w,
                                        bool is_reverse) const {
  Tensor from_inputs = !options.bias ? linear(x, w.weight_ih)
                       : adds_both   ? linear(x, w.weight_ih, w.bias_ih + w.bias_hh)
                                     : linear(x, w.weight_ih, w.bias_ih);
  std::vector<Tensor> sequences = {std::move(from_inputs)};
  if (mask) sequences.push_back(*mask);
  const Origin origin = Origin::current();
  const ScanStep one = [&](std::span<const Tensor> state, std::span<const Tensor> elements) {
    const OriginScope scope(origin);
    std::vector<Tensor> next = step(elements[0], state, w);
    if (!mask) return std::pair(next, std::vector<Tensor>{next[0]});
    const Tensor output = elements[1].where(next[0], 0);
    for (std::size_t k = 0; k < next.size(); ++k) next[k] = elements[1].where(next[k], state[k]);
    return std::pair(next, std::vector<Tensor>{output});
  };
  ScanResult made = scan(one, initial, sequences, {.length = x.shape()[0], .reverse = is_reverse});
  return {std::move(made.outputs[0]), std::move(made.state)};
}

Recurrent::Out Recurrent::run(const Tensor& given, std::span<const Tensor> initial,
                              const std::optional<Tensor>& lengths, std::size_t states, bool adds_both,
                              Step step) const {
  const char* const order = options.batch_first ? "(batch, length, features)" : "(length, batch, features)";
  STRATA_CHECK(given.ndim() == 3, shape, "[", name_, "] takes ", order, ", not ", render(given.shape()));
  Tensor x = options.batch_first ? given.transpose(0, 1) : given;
  const Int length = x.shape()[0], batch = x.shape()[1];
  STRATA_CHECK(x.shape()[2] == weight_ih.shape()[1], shape, "[", name_, "] the input has ", x.shape()[2].render(),
               " features, not ", weight_ih.shape()[1].render());
  STRATA_CHECK(x.dtype() == weight_ih.dtype(), domain, "[", name_, "] the input is of ", x.dtype().name(),
               ", and the weights of ", weight_ih.dtype().name());
  const std::int64_t count = options.layers * directions();
  Ints wanted = {count, batch, features};
  if (count == 1) wanted = {batch, features};
  for (const Tensor& s : initial)
    STRATA_CHECK(s.dtype() == x.dtype(), domain, "[", name_, "] an initial state is of ", s.dtype().name(),
                 ", and the input of ", x.dtype().name());
  for (const Tensor& s : initial)
    STRATA_CHECK(s.shape() == wanted, shape, "[", name_, "] an initial state has the shape ", render(s.shape()),
                 ", not ", render(wanted));
  std::optional<Tensor> mask;
  if (lengths) {
    STRATA_CHECK(lengths->shape() == Ints{batch} && lengths->dtype().is_int(), shape, "[", name_,
                 "] lengths are integers of shape ", render(Ints{batch}), ", not ", lengths->dtype().name(), " of ",
                 render(lengths->shape()));
    const Tensor time = TensorAccess::of(LazyOp::iota(dtypes::int64, ShapeTracker::from_shape({length})), x);
    mask = time.reshape({length, 1, 1}) < lengths->cast(dtypes::int64).reshape({1, batch, 1});
  }
  const Tensor zero = Tensor::zeros({batch, features}, x.dtype()).to(x.device());
  const auto initial_of = [&](std::int64_t k) {
    std::vector<Tensor> out;
    for (std::size_t s = 0; s < states; ++s)
      out.push_back(initial.empty() ? zero
                    : count == 1    ? initial[s]
                                    : initial[s].shrink({{k, k + 1}, {0, batch}, {0, features}}).squeeze(0));
    return out;
  };
  std::vector<std::vector<Tensor>> last(states);
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    if (layer > 0 && options.dropout > 0) x = dropout(x, options.dropout, is_training());
    std::vector<Tensor> outputs;
    for (std::int64_t d = 0; d < directions(); ++d) {
      Out one =
          run_direction(x, initial_of(layer * directions() + d), mask, adds_both, step, weights(layer, d), d == 1);
      outputs.push_back(std::move(one.output));
      for (std::size_t s = 0; s < states; ++s) last[s].push_back(std::move(one.state[s]));
    }
    x = outputs.size() == 1 ? outputs[0] : Tensor::cat(outputs, 2);
  }
  Out out{options.batch_first ? x.transpose(0, 1) : x, {}};
  for (std::vector<Tensor>& s : last) out.state.push_back(count == 1 ? s[0] : Tensor::stack(s, 0));
  return out;
}

RNN::RNN(std::int64_t in, std::int64_t f, RecurrentOptions o, bool with_relu)
    : Recurrent("RNN", 1, in, f, o), relu(with_relu) {}
std::pair<Tensor, Tensor> RNN::operator()(const Tensor& x, const std::optional<Tensor>& state,
                                          const std::optional<Tensor>& lengths, At at) const {
  const OriginScope scope("RNN", at);
  Out out =
      run(x, state ? std::span(&*state, 1) : std::span<const Tensor>(), lengths, 1, true, relu ? relu_step : rnn_step);
  return {std::move(out.output), std::move(out.state[0])};
}

LSTM::LSTM(std::int64_t in, std::int64_t f, RecurrentOptions o) : Recurrent("LSTM", 4, in, f, o) {}
LSTM::Result LSTM::operator()(const Tensor& x, const std::optional<std::pair<Tensor, Tensor>>& state,
                              const std::optional<Tensor>& lengths, At at) const {
  const OriginScope scope("LSTM", at);
  std::vector<Tensor> initial;
  if (state) initial = {state->first, state->second};
  Out out = run(x, initial, lengths, 2, true, lstm_step);
  return {std::move(out.output), std::move(out.state[0]), std::move(out.state[1])};
}

GRU::GRU(std::int64_t in, std::int64_t f, RecurrentOptions o) : Recurrent("GRU", 3, in, f, o) {}
std::pair<Tensor, Tensor> GRU::operator()(const Tensor& x, const std::optional<Tensor>& state,
                                          const std::optional<Tensor>& lengths, At at) const {
  const OriginScope scope("GRU", at);
  Out out = run(x, state ? std::span(&*state, 1) : std::span<const Tensor>(), lengths, 1, false, gru_step);
  return {std::move(out.output), std::move(out.state[0])};
}

}  // namespace strata::nn
