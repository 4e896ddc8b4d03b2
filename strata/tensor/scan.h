// Loops inside of graphs: scan() and while_loop() trace a function of tensors once, and make one node of the whole
// loop. Building, scheduling and compiling do not depend on the number of steps, and one call runs all of them.
//
//   // An exponential average: y[t] = 0.9 * y[t - 1] + 0.1 * x[t].
//   const auto [last, ys] = scan([](const Tensor& y, const Tensor& x) {
//     const Tensor next = 0.9 * y + 0.1 * x;
//     return std::pair(next, next);
//   }, Tensor::zeros({}), x);
//
// The function runs once, when the loop is made. It gets tensors without elements: reading an element inside of it,
// e.g. by item(), is an Error. What the function does besides computing (printing, assigning to tensors, drawing random
// numbers) happens once. Tensors from outside that the function uses are the same in all steps; what is computed of
// them alone is computed once, in front of the loop. A loop is a node like others: it runs on every device, inside of
// jit() and of other loops, and gradients flow through scan() and while_loop().
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/tensor/tensor.h"

namespace strata {

/// How scan() goes through sequences.
struct ScanOptions {
  std::optional<Int> length = {};  ///< the number of steps; default: the size of axis 0 of the sequences
  bool reverse = false;            ///< begin with the last element; output k still belongs to element k
  /// Gradients keep the state of every k-th step alone, and compute the steps between two of them again: memory for n /
  /// k
  /// + k steps, least for k near the square root of n, for about half of the time more. 0: they keep all steps. The
  /// number of steps has to be a number then.
  std::int64_t checkpoint_every = 0;
};

/// The result of scan().
struct ScanResult {
  std::vector<Tensor> state;    ///< behind the last step, as the initial state
  std::vector<Tensor> outputs;  ///< of each step, along a new axis 0: (steps, shape...)
};

/// A step: takes the state and one element of each sequence, returns the next state and outputs.
using ScanStep = std::function<std::pair<std::vector<Tensor>, std::vector<Tensor>>(std::span<const Tensor> state,
                                                                                   std::span<const Tensor> elements)>;

/// Applies `step` to each element of the sequences, along their axis 0, in order.
/// @param initial the state in front of the first step; the tensors of the next state have the same shapes and dtypes
/// @param sequences tensors whose axis 0 has one size, the number of steps
/// @throws Error (shape) where that size differs, no size is given, or a step changes the shape of a state; (domain)
///   where a step changes a dtype or the number of states, devices differ, or `checkpoint_every` is negative; what
///   `step` throws
ScanResult scan(const ScanStep& step, std::span<const Tensor> initial, std::span<const Tensor> sequences,
                const ScanOptions& options = {}, At at = At::current());

/// scan() with one state, one sequence and one output: returns the last state and the outputs. @throws as scan()
template <class F>
  requires std::invocable<F&, const Tensor&, const Tensor&>
std::pair<Tensor, Tensor> scan(F&& f, const Tensor& initial, const Tensor& sequence, const ScanOptions& options = {},
                               At at = At::current()) {
  const ScanStep step = [&f](std::span<const Tensor> state, std::span<const Tensor> elements) {
    std::pair<Tensor, Tensor> made = f(state[0], elements[0]);
    return std::pair(std::vector<Tensor>{std::move(made.first)}, std::vector<Tensor>{std::move(made.second)});
  };
  ScanResult out = scan(step, {&initial, 1}, {&sequence, 1}, options, at);
  return {out.state[0], out.outputs[0]};
}

/// The state while `condition(state)` is true: the initial one, then step(state), and so on, at most `most` times. The
/// condition returns a bool of one element. Gradients flow through the steps that ran.
/// @throws Error as scan(), and (domain) where the condition is not a bool of one element
std::vector<Tensor> while_loop(const std::function<Tensor(std::span<const Tensor>)>& condition,
                               const std::function<std::vector<Tensor>(std::span<const Tensor>)>& step,
                               std::span<const Tensor> initial, const Int& most, At at = At::current());

/// while_loop() with one state. @throws as while_loop()
template <class C, class F>
  requires std::invocable<C&, const Tensor&> && std::invocable<F&, const Tensor&>
Tensor while_loop(C&& condition, F&& f, const Tensor& initial, const Int& most, At at = At::current()) {
  return while_loop([&condition](std::span<const Tensor> s) -> Tensor { return condition(s[0]); },
                    [&f](std::span<const Tensor> s) { return std::vector<Tensor>{f(s[0])}; }, {&initial, 1}, most,
                    at)[0];
}

namespace detail {

/// Whether the tensor is computed from a value that exists only while a loop runs: an input of a step that is traced.
bool is_of_step(const Tensor& x);

}  // namespace detail

}  // namespace strata
