// Functions of tensors that are captured once and replayed: no graphs, no scheduling, no checks, and in the steady state no
// allocation and no lock of ours.
//
//   auto step = jit([&](const Tensor& x, const Tensor& y) {
//     optimizer.zero_grad();
//     const Tensor loss = cross_entropy(model(x), y);
//     loss.backward();
//     optimizer.step();
//     return loss;
//   });
//   for (...) step(x, y);       // 1st call: as it is written; 2nd: the same, and captured; from then on: replayed
//
// What a replay does is what the captured call did: the same kernels on other memory. So
// - inputs may have other elements, and bound variables other values; other shapes, dtypes or devices are another capture (the
//   first call with them is again as written);
// - tensors that the function reads from outside are read as they are now, also after assign() to them; those that it assigns to
//   are assigned to;
// - inputs that the function assigns to (in place, too) are assigned to in each call. One tensor given twice is one tensor; one that
//   the function knows from outside as well has to be used in one of these ways alone where it is changed;
// - random numbers go on, learning rates change: what is fed (engine/feed.h) is fed anew;
// - all else is as it was in the captured call: numbers that C++ code computed or read with item(), branches, what was printed,
//   gradients that were left in grad().
// While the flag CHECK_INDEX is set nothing is captured or replayed: each call is as it is written, and its indices are looked at.
// A result is memory of its own for as long as somebody holds it. One jit function is called by one thread at a time; others wait.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "strata/engine/recording.h"
#include "strata/tensor/tensor.h"

namespace strata {

/// A function that is captured once for each kind of inputs, and replayed.
class Jit {
 public:
  using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

  /// @param most_captures kept, those used last; others are captured again when they are needed
  explicit Jit(Function function, std::size_t most_captures = 8);
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  std::vector<Tensor> operator()(std::span<const Tensor> inputs);

  /// How often it ran as it is written (captures among them), and how often it was replayed.
  std::size_t runs() const { return runs_; }
  std::size_t replays() const { return replays_; }
  /// What the kernels of the last call's capture take, longest first; nothing where there is none. NOTE: runs them, on the memory
  /// of the last call.
  std::vector<RecordedTime> times(int repeats);

 private:
  class Capture;
  Capture* find(std::span<const Tensor> inputs);

  Function function_;
  std::size_t most_captures_, runs_ = 0, replays_ = 0;
  std::mutex mutex_;
  std::list<std::unique_ptr<Capture>> captures_;  // used last ones first
};

/// A function of tensors with one result or a vector of results, jitted.
template <class F>
class JitFunction {
 public:
  explicit JitFunction(F f) : f_(std::make_shared<F>(std::move(f))) {}

  template <class... T>
    requires(std::same_as<T, Tensor> && ...)
  auto operator()(const T&... inputs) {
    using Result = std::invoke_result_t<F&, const T&...>;
    if (jit_ == nullptr) {
      jit_ = std::make_shared<Jit>([f = f_](std::span<const Tensor> in) {
        const auto call = [&]<std::size_t... k>(std::index_sequence<k...>) { return (*f)(in[k]...); };
        if constexpr (std::same_as<Result, Tensor>)
          return std::vector<Tensor>{call(std::index_sequence_for<T...>())};
        else
          return call(std::index_sequence_for<T...>());
      });
    }
    const std::array<Tensor, sizeof...(T)> all{inputs...};
    std::vector<Tensor> results = (*jit_)(all);
    if constexpr (std::same_as<Result, Tensor>)
      return results.at(0);
    else
      return results;
  }
  /// Null before the first call.
  Jit* jit() const { return jit_.get(); }

 private:
  std::shared_ptr<F> f_;
  std::shared_ptr<Jit> jit_;
};

template <class F>
JitFunction<F> jit(F f) {
  return JitFunction<F>(std::move(f));
}

}  // namespace strata
