// jit(f): a function of tensors that is captured once and replayed afterwards. The capture is a list of compiled
// kernels with their memory; a replay runs these kernels without building graphs, scheduling or checks and, in the
// steady state, without allocating and without taking a lock of Strata's. Jit captures functions of a span of tensors;
// JitFunction, made by jit(), wraps a callable.
//
//   auto step = jit([&](const Tensor& x, const Tensor& y) {
//     optimizer.zero_grad();
//     const Tensor loss = cross_entropy(model(x), y);
//     loss.backward();
//     optimizer.step();
//     return loss;
//   });
//   for (...) step(x, y);       // 1st call: runs f; 2nd call: runs f and captures it; later calls: replay
//
// A replay runs the kernels of the captured call on other memory. Therefore
// - Inputs may have other elements, and bound variables other values: those in the shapes of inputs, and those that
//   are arguments themselves, e.g. the position of a token. Other shapes, dtypes, devices or expressions, and another
//   setting of DETERMINISTIC, need a capture of their own, whose first call runs f again. Where f binds such a variable
//   itself, or got one value in the first two calls, a capture is for these values alone.
// - On a mesh (tensor/sharded.h) a capture is also for one sharding of each input, and for one value of each variable.
//   A call is collective, and begins with the ranks' agreement.
// - Tensors that f reads from outside its arguments are read with their current elements, also after assign(). Tensors
//   that f assigns to are assigned to in each replay.
// - Products and convolutions keep packed copies of what f reads from outside, e.g. of weights, and pack again after a
//   change. Code that writes through Buffer::data() has to note it (DeviceMemory::note_write()).
// - Arguments that f assigns to, or changes in place, are assigned to in each call: large ones in their own memory,
//   where nobody else sees it and no kernel reads the new value. A tensor passed twice is one tensor. A tensor that f
//   changes must be used either as an argument or from outside, not both.
// - Values that are fed (engine/feed.h) are new in each replay: the random stream continues, learning rates follow
//   their schedule.
// - Everything else stays as in the captured call: numbers that C++ code computed or read with item(), the branches
//   taken, printed output (none in a replay), gradients left in grad(). Kernels of whose results only the host has
//   read elements are left out.
//
// A jit function that another one calls runs as a part of the other one, and is captured with it; gradients flow
// through it then. While the flag CHECK_INDEX is set nothing is captured or replayed: each call runs f, and its indices
// are checked. Each result has memory of its own while somebody holds it; into() writes the results to memory of the
// caller. One thread at a time calls a jit function; other threads wait. A function that calls itself would wait for
// itself: this is an Error.
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
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/engine/recording.h"
#include "strata/tensor/captured.h"
#include "strata/tensor/tensor.h"
#include "strata/tensor/traced.h"

namespace strata {

/// A function of a span of tensors that is captured once for each combination of input shapes, dtypes and devices, and
/// replayed. Its further arguments are integers: expressions whose variables are bound, e.g. `pos.bind(5)`. A replay
/// takes the values of this call.
class Jit {
 public:
  using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
  using FunctionOfIntegers = std::function<std::vector<Tensor>(std::span<const Tensor>, std::span<const Expr>)>;

  /// @param most_captures how many captures are kept (at least 1). The least recently used one is dropped, and captured
  /// again on demand
  /// @param name the name of the function in error messages
  explicit Jit(Function function, std::size_t most_captures = 8, std::string name = "a function");
  explicit Jit(FunctionOfIntegers function, std::size_t most_captures = 8, std::string name = "a function");
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  /// Returns the results of the function. Realizes `inputs`.
  /// @throws Error (domain) where a variable of `integers` has no value, or two values in one call, or the function
  ///   calls itself, directly or through another function; what the function
  ///   and its kernels throw; what an InterruptCheck of this thread throws (base/interrupt.h), also while this thread
  ///   waits for another one
  std::vector<Tensor> operator()(std::span<const Tensor> inputs, std::span<const Expr> integers = {});
  /// Writes result k of the function to the memory of outputs[k]. A replay whose inputs are realized allocates nothing
  /// and takes no lock (docs/real-time.md lists the conditions). NOTE: unrealized tensors that were computed from an
  /// output will read its new elements.
  /// @pre nobody else uses the memory of `outputs` during the call
  /// @throws Error (shape) where the numbers of outputs and results differ, or an output has another shape than its
  ///   result; (domain) for an output of another dtype or device than its result, that is a parameter, that is not
  ///   realized memory of its own, that is read-only, or that shares memory with an input, another output or a tensor
  ///   that the function reads or assigns to; for a call by a function that is being captured; as operator(). These
  ///   checks precede a replay; in a call that is no replay the function has run by then.
  void into(std::span<const Tensor> outputs, std::span<const Tensor> inputs, std::span<const Expr> integers = {});

  /// How many calls ran the function, including those that captured it.
  std::size_t runs() const { return runs_; }
  /// How many calls were replays.
  std::size_t replays() const { return replays_; }
  /// Measures the kernels of the most recently used capture, slowest first; empty where that is not captured yet. The
  /// kernels run with the arguments of the captured call (Recording::times()).
  std::vector<RecordedTime> times(int repeats);
  /// The most recently used capture. @param runs whether the inputs and outputs have the elements of the captured call
  /// @throws Error (domain) where nothing is captured yet, or assigned tensors cannot be told apart
  Captured captured(bool runs = false);
  /// The graph of the most recently used capture: the function runs once more, on tensors without elements.
  /// @throws Error (domain) where nothing is captured yet, or the function reads elements that depend on its arguments;
  ///   what the function throws
  Traced traced();

 private:
  class Capture;
  class Turn;
  struct DropOnMesh;
  using Captures = std::list<std::unique_ptr<Capture>>;

  struct Arguments;

  Capture* find(const Arguments& arguments);
  Capture* replayable(const Arguments& arguments);
  std::vector<Tensor> run(const Arguments& arguments);

  FunctionOfIntegers function_;
  std::string name_;
  std::size_t most_captures_, runs_ = 0, replays_ = 0;
  std::atomic<std::uint64_t> owner_{0};  // the calling thread and its process (jit_turn.cpp); 0: nobody
  Captures captures_;                    // most recently used first
};

/// An argument of a jit function: a tensor, or an integer whose variables are bound, which the function gets as an
/// Expr.
template <class T>
concept JitArgument = std::same_as<T, Tensor> || std::derived_from<T, Expr>;

/// A callable F of tensors and integers with a Jit behind it; F returns a Tensor or a std::vector<Tensor>. Made by
/// jit().
template <class F>
class JitFunction {
 public:
  JitFunction(F f, std::string name) : f_(std::make_shared<F>(std::move(f))), name_(std::move(name)) {}

  template <JitArgument... T>
  auto operator()(const T&... arguments) {
    using Result = std::invoke_result_t<F&, const Passed<T>&...>;
    const Sorted sorted(arguments...);
    std::vector<Tensor> results = jit_of<T...>()(sorted.tensors, sorted.integers);
    if constexpr (std::same_as<Result, Tensor>)
      return results.at(0);
    else
      return results;
  }
  /// Writes the one result to the memory of `output`. @throws as Jit::into()
  template <JitArgument... T>
  void into(const Tensor& output, const T&... arguments) {
    const Sorted sorted(arguments...);
    jit_of<T...>().into({&output, 1}, sorted.tensors, sorted.integers);
  }
  /// Writes the results to the memory of `outputs`. @throws as Jit::into()
  template <JitArgument... T>
  void into(std::span<const Tensor> outputs, const T&... arguments) {
    const Sorted sorted(arguments...);
    jit_of<T...>().into(outputs, sorted.tensors, sorted.integers);
  }
  /// The Jit behind this function; null before the first call.
  Jit* jit() const { return made_->jit.load(std::memory_order_acquire); }

 private:
  template <class T>
  using Passed = std::conditional_t<std::same_as<T, Tensor>, Tensor, Expr>;

  /// Which of the arguments are tensors.
  template <class... T>
  struct Kinds {
    static constexpr std::array<bool, sizeof...(T)> is_tensor = {std::same_as<T, Tensor>...};
    /// How many of the first `end` arguments are tensors, or are none.
    static constexpr std::size_t count(bool tensors, std::size_t end = sizeof...(T)) {
      std::size_t out = 0;
      for (std::size_t k = 0; k < end; ++k) out += is_tensor[k] == tensors ? 1 : 0;
      return out;
    }
    /// The position of the one that `before` others of its kind precede.
    static constexpr std::size_t position(bool tensors, std::size_t before) {
      std::size_t k = 0;
      while (is_tensor[k] != tensors || count(tensors, k) != before) ++k;
      return k;
    }
  };

  /// The arguments of a call, tensors and integers apart.
  template <class... T>
  struct Sorted {
    explicit Sorted(const T&... arguments)
        : tensors(gather<true, Tensor>(std::tie(arguments...), std::make_index_sequence<Kinds<T...>::count(true)>())),
          integers(gather<false, Expr>(std::tie(arguments...), std::make_index_sequence<Kinds<T...>::count(false)>())) {
    }

    std::array<Tensor, Kinds<T...>::count(true)> tensors;
    std::array<Expr, Kinds<T...>::count(false)> integers;

   private:
    template <bool of_tensors, class Kind, std::size_t... k>
    static std::array<Kind, sizeof...(k)> gather([[maybe_unused]] const std::tuple<const T&...>& all,
                                                 std::index_sequence<k...>) {
      return {std::get<Kinds<T...>::position(of_tensors, k)>(all)...};
    }
  };

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
    using Result = std::invoke_result_t<F&, const Passed<T>&...>;
    const auto run = [f = f_](std::span<const Tensor> tensors, std::span<const Expr> integers) {
      const auto argument = [&]<std::size_t k>(std::integral_constant<std::size_t, k>) -> const auto& {
        constexpr bool is_tensor = Kinds<T...>::is_tensor[k];
        constexpr std::size_t before = Kinds<T...>::count(is_tensor, k);
        if constexpr (is_tensor)
          return tensors[before];
        else
          return integers[before];
      };
      const auto call = [&]<std::size_t... k>(std::index_sequence<k...>) {
        return (*f)(argument(std::integral_constant<std::size_t, k>())...);
      };
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
  std::shared_ptr<Made> made_ = std::make_shared<Made>();  // filled by the first call, on any thread
};

/// Wraps `f`, a callable of tensors. @param at the source line of the call, which error messages name
template <class F>
JitFunction<F> jit(F f, const std::source_location& at = std::source_location::current()) {
  return {std::move(f), "the function of " + std::string(at.file_name()) + ":" + std::to_string(at.line())};
}

}  // namespace strata
