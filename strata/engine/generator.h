// Where random numbers come from: a seed, and how many were drawn. Number k of a seed is the same on every device and with any
// count of threads: it is a function of both (tensor/random.h), not of what ran before.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace strata {

/// A handle on a state that its copies share. Any function from any thread; which numbers two threads get is up to who is first.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0) : state_(std::make_shared<State>()) {
    state_->seed = seed;
  }
  /// That of operations which are given none.
  static Generator& default_generator();

  /// From the beginning of another sequence.
  void manual_seed(std::uint64_t seed) {
    state_->seed = seed;
    state_->drawn = 0;
  }
  std::uint64_t seed() const { return state_->seed; }
  /// The position of the first of `count` numbers, which are drawn then.
  std::uint64_t draw(std::uint64_t count) { return state_->drawn.fetch_add(count); }

 private:
  struct State {
    std::atomic<std::uint64_t> seed{0}, drawn{0};
  };
  std::shared_ptr<State> state_;
};

/// Seeds the default generator.
void manual_seed(std::uint64_t seed);

}  // namespace strata
