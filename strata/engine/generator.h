// Generator: the state of random numbers, which is a seed and a count of the numbers drawn so far. Random number k is a
// function of seed and k (tensor/random.h), computed by kernels. So a seed gives the same numbers on every device and
// with any number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace strata {

/// A handle on the state; copies share it. Thread-safe, but if two threads draw, their order decides which numbers each
/// gets.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0) : state_(std::make_shared<State>()) { state_->seed = seed; }
  /// The generator of operations that are given none. Its first seed is 0.
  static Generator& default_generator();

  /// Restarts with number 0 of another seed.
  void manual_seed(std::uint64_t seed) {
    state_->seed = seed;
    state_->drawn = 0;
  }
  /// The same of all handles on one state, while it lives.
  std::uint64_t id() const { return reinterpret_cast<std::uintptr_t>(state_.get()); }
  std::uint64_t seed() const { return state_->seed; }
  /// Draws `count` numbers. Returns the index k of the first one.
  std::uint64_t draw(std::uint64_t count) { return state_->drawn.fetch_add(count); }

 private:
  struct State {
    std::atomic<std::uint64_t> seed{0}, drawn{0};
  };
  std::shared_ptr<State> state_;
};

/// Calls manual_seed() of the default generator.
void manual_seed(std::uint64_t seed);

}  // namespace strata
