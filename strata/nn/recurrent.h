// Recurrent layers: RNN, LSTM and GRU over sequences. The steps of a direction are one loop (tensor/scan.h), so that
// building and compiling a layer do not depend on the length of the sequence, which may be symbolic.
//
//   nn::LSTM lstm(64, 128, {.layers = 2, .bidirectional = true});
//   const auto [output, hidden, cell] = lstm(x);     // x (batch, length, 64), output (batch, length, 256)
//
// Formulas, initial values and the names in state_dict() are PyTorch's: weight_ih_l0, weight_hh_l0, bias_ih_l0,
// bias_hh_l0, then those of the reverse direction (weight_ih_l0_reverse, ...), then those of the next layer.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "strata/nn/module.h"
#include "strata/tensor/tensor.h"

namespace strata::nn {

/// What recurrent layers have in common.
struct RecurrentOptions {
  std::int64_t layers = 1;
  bool bidirectional = false;  ///< a second direction goes from the end; features of both stand side by side
  bool batch_first = true;     ///< (batch, length, features); else (length, batch, features), also of the output
  bool bias = true;
  double dropout = 0;  ///< probability of dropping an element between two layers, in training
};

/// The base of RNN, LSTM and GRU. A weight stacks the gates on axis 0.
class Recurrent : public Module {
 public:
  std::int64_t features;
  RecurrentOptions options;
  /// Of the first layer, in the forward direction: weight_ih (gates * features, in), weight_hh (gates * features,
  /// features), biases (gates * features,). Biases are empty without options.bias.
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;

  /// The weights of a layer in a direction: 0 forward, 1 reverse. @throws Error (domain) for others than those of
  /// `options`
  struct Weights {
    Tensor weight_ih, weight_hh, bias_ih, bias_hh;
  };
  Weights weights(std::int64_t layer, std::int64_t direction) const;
  std::int64_t directions() const { return options.bidirectional ? 2 : 1; }

 protected:
  /// The next state of one step, given the input's part of the gates (batch, gates * features). state[0] is hidden.
  using Step = std::vector<Tensor> (*)(const Tensor& from_input, std::span<const Tensor> state, const Weights& w);

  /// @throws Error (domain) for sizes or layers below 1, or a dropout outside of [0, 1)
  Recurrent(const char* name, std::int64_t gates, std::int64_t in, std::int64_t features, RecurrentOptions options);

  /// The hidden state of each step, and the last state.
  struct Out {
    Tensor output;
    std::vector<Tensor> state;
  };
  /// @param states how many tensors the state has  @param adds_both whether bias_hh is added to the input's part
  Out run(const Tensor& x, std::span<const Tensor> initial, const std::optional<Tensor>& lengths, std::size_t states,
          bool adds_both, Step step) const;

 private:
  Out run_direction(const Tensor& x, std::span<const Tensor> initial, const std::optional<Tensor>& mask, bool adds_both,
                    Step step, const Weights& w, bool is_reverse) const;
  const char* name_;
  std::vector<Weights> more_;  // behind the first layer's forward direction
};

// In all layers: x (batch, length, in), or as options.batch_first says. An initial state and the last state have the
// shape (batch, features) with one layer in one direction; else (layers * directions, batch, features), the directions
// of a layer one behind the other. `lengths`, integers (batch,), says where each sequence ends: behind its end the
// output is 0, the last state is that of its last element, and the reverse direction begins there.
// Calls throw Error (shape) for inputs, states and lengths of other shapes.

/// h' = tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh), or relu.
class RNN : public Recurrent {
 public:
  RNN(std::int64_t in, std::int64_t features, RecurrentOptions options = {}, bool relu = false);
  /// The hidden state of each step, and the last one.
  std::pair<Tensor, Tensor> operator()(const Tensor& x, const std::optional<Tensor>& state = {},
                                       At at = At::current()) const {
    return (*this)(x, state, std::nullopt, at);
  }
  std::pair<Tensor, Tensor> operator()(const Tensor& x, const std::optional<Tensor>& state,
                                       const std::optional<Tensor>& lengths, At at = At::current()) const;
  bool relu;
};

/// Hochreiter and Schmidhuber, 1997, with the gates input, forget, cell, output: c' = f*c + i*g, h' = o*tanh(c').
class LSTM : public Recurrent {
 public:
  using Recurrent::features, Recurrent::weight_ih, Recurrent::weight_hh, Recurrent::bias_ih, Recurrent::bias_hh;
  LSTM(std::int64_t in, std::int64_t features, RecurrentOptions options = {});
  /// `output` is the hidden state of each step.
  struct Result {
    Tensor output, hidden, cell;
  };
  /// @param state the hidden and the cell state before the first step; zeros if not given
  Result operator()(const Tensor& x, const std::optional<std::pair<Tensor, Tensor>>& state = {},
                    At at = At::current()) const {
    return (*this)(x, state, std::nullopt, at);
  }
  Result operator()(const Tensor& x, const std::optional<std::pair<Tensor, Tensor>>& state,
                    const std::optional<Tensor>& lengths, At at = At::current()) const;
};

/// Cho et al., 2014, with the gates reset, update, new, as in PyTorch: n = tanh(x_n + r * h_n), h' = n + z * (h - n).
class GRU : public Recurrent {
 public:
  using Recurrent::features, Recurrent::weight_ih, Recurrent::weight_hh, Recurrent::bias_ih, Recurrent::bias_hh;
  GRU(std::int64_t in, std::int64_t features, RecurrentOptions options = {});
  /// The hidden state of each step, and the last one.
  std::pair<Tensor, Tensor> operator()(const Tensor& x, const std::optional<Tensor>& state = {},
                                       At at = At::current()) const {
    return (*this)(x, state, std::nullopt, at);
  }
  std::pair<Tensor, Tensor> operator()(const Tensor& x, const std::optional<Tensor>& state,
                                       const std::optional<Tensor>& lengths, At at = At::current()) const;
};

}  // namespace strata::nn
