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
// A result is memory of its own for as long as somebody holds it; into() writes results to memory that the caller has. One jit
// function is called by one thread at a time; others wait. One that calls itself is an error, as it would wait for itself.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
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
  /// @param name of the function, for errors
  explicit Jit(Function function, std::size_t most_captures = 8, std::string name = "a function");
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  /// @throws Error (domain) where the function calls itself, directly or through another one; what the function throws, and what
  ///   running kernels does; what an InterruptCheck of this thread throws (base/interrupt.h), also while it waits for others
  std::vector<Tensor> operator()(std::span<const Tensor> inputs);
  /// The results, in memory that is there: that of `outputs`, whose elements are other ones then. Where the call is a replay on
  /// inputs that are realized, nothing is allocated and no lock is taken (docs/real-time.md says when).
  /// NOTE: what is made of an output and not realized yet sees the new elements.
  /// @pre nobody else uses the memory of `outputs` meanwhile
  /// @throws Error (shape) where there are more or fewer outputs than results, or one is of another shape; (domain) for one of another
  ///   dtype or device, that is a parameter or not realized, whose memory is read-only, or that of an input, of another output or of a
  ///   tensor that the function reads or assigns to. Nothing has run then, but for the calls that are no replays.
  void into(std::span<const Tensor> outputs, std::span<const Tensor> inputs);

  /// How often it ran as it is written (captures among them), and how often it was replayed.
  std::size_t runs() const { return runs_; }
  std::size_t replays() const { return replays_; }
  /// What the kernels of the last call's capture take, longest first; nothing where there is none. NOTE: runs them, on the memory
  /// of the last call.
  std::vector<RecordedTime> times(int repeats);

 private:
  class Capture;
  class Turn;
  using Captures = std::list<std::unique_ptr<Capture>>;

  Capture* find(std::span<const Tensor> inputs);
  Capture* replayable(std::span<const Tensor> inputs);
  std::vector<Tensor> run(std::span<const Tensor> inputs);

  Function function_;
  std::string name_;
  std::size_t most_captures_, runs_ = 0, replays_ = 0;
  std::atomic<std::uint64_t> owner_{0};  // the thread that calls it, and its process; 0: none
  Captures captures_;                    // used last ones first
};

/// A function of tensors with one result or a vector of results, jitted.
template <class F>
class JitFunction {
 public:
  JitFunction(F f, std::string name)
      : f_(std::make_shared<F>(std::move(f))), name_(std::move(name)) {}

  template <class... T>
    requires(std::same_as<T, Tensor> && ...)
  auto operator()(const T&... inputs) {
    using Result = std::invoke_result_t<F&, const T&...>;
    const std::array<Tensor, sizeof...(T)> all{inputs...};
    std::vector<Tensor> results = jit_of<T...>()(all);
    if constexpr (std::same_as<Result, Tensor>)
      return results.at(0);
    else
      return results;
  }
  /// The result in the memory of `output`, as Jit::into().
  template <class... T>
    requires(std::same_as<T, Tensor> && ...)
  void into(const Tensor& output, const T&... inputs) {
    const std::array<Tensor, sizeof...(T)> all{inputs...};
    jit_of<T...>().into({&output, 1}, all);
  }
  /// The results in the memory of `outputs`.
  template <class... T>
    requires(std::same_as<T, Tensor> && ...)
  void into(std::span<const Tensor> outputs, const T&... inputs) {
    const std::array<Tensor, sizeof...(T)> all{inputs...};
    jit_of<T...>().into(outputs, all);
  }
  /// Null before the first call.
  Jit* jit() const { return made_->jit.load(std::memory_order_acquire); }

 private:
  struct Made {
    std::atomic<Jit*> jit{nullptr};
    Made() = default;
    ~Made() { delete jit.load(); }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
  };

  template <class... T>
  Jit& jit_of() {
    if (Jit* const known = jit()) return *known;
    using Result = std::invoke_result_t<F&, const T&...>;
    const auto run = [f = f_](std::span<const Tensor> in) {
      const auto call = [&]<std::size_t... k>(std::index_sequence<k...>) { return (*f)(in[k]...); };
      if constexpr (std::same_as<Result, Tensor>)
        return std::vector<Tensor>{call(std::index_sequence_for<T...>())};
      else
        return call(std::index_sequence_for<T...>());
    };
    auto made = std::make_unique<Jit>(run, std::size_t{8}, name_);
    Jit* known = nullptr;
    return made_->jit.compare_exchange_strong(known, made.get()) ? *made.release() : *known;
  }

  std::shared_ptr<F> f_;
  std::string name_;
  std::shared_ptr<Made> made_ = std::make_shared<Made>();  // by the first call, on any thread
};

/// @param at where it is written: errors name it so
template <class F>
JitFunction<F> jit(F f, const std::source_location& at = std::source_location::current()) {
  return {std::move(f),
          "the function of " + std::string(at.file_name()) + ":" + std::to_string(at.line())};
}

}  // namespace strata
