// Gradients that formulas say themselves, where those of the ops that a formula is made of would be slow or inexact.
#pragma once

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/ops/value.h"

namespace strata::ops {

/// Whether gradients are taken at all: the engine of the page takes none, and is smaller without their formulas.
#ifdef STRATA_WITHOUT_GRADIENTS
inline constexpr bool kTakesGradients = false;
#else
inline constexpr bool kTakesGradients = true;
#endif

/// What a gradient is made of beside dy: values of the time when they were saved, and numbers.
class Saved {
 public:
  explicit Saved(std::vector<Value> values, Ints numbers = {})
      : values_(std::move(values)), numbers_(std::move(numbers)) {}
  const Value& operator[](std::size_t k) const { return values_[k]; }
  std::size_t size() const { return values_.size(); }
  const Ints& numbers() const { return numbers_; }
  std::int64_t number(std::size_t k) const { return numbers_[k].value(); }

 private:
  std::vector<Value> values_;
  Ints numbers_;
};

/// The gradients by the inputs of a formula, made of dy and of what was saved. The function captures nothing: whatever it needs is
/// Saved, so that the graph of a gradient shows all that it is made of.
class Backward {
 public:
  using Function = std::vector<Value>(const Value& dy, const Saved& saved);
  template <class F>
  Backward(F f) : f_(nullptr) {  // NOTE: implicit, a lambda is given where a Backward is expected
    constexpr bool kCapturesNothing = std::is_convertible_v<F, Function*>;
    static_assert(
        kCapturesNothing,
        "backward captures nothing: save the tensors and numbers that backward needs in Saved");
    if constexpr (kCapturesNothing) f_ = f;
  }
  std::vector<Value> operator()(const Value& dy, const Saved& saved) const { return f_(dy, saved); }

 private:
  Function* f_;
};

/// `value`, whose gradients by `inputs` are what `backward` makes of the gradient by it and of what was saved.
Value with_gradient(const Value& value, std::span<const Value> inputs, Backward backward, Saved saved);

/// dy/dx for each of `xs`, zeros of an x that y does not depend on.
std::vector<Value> gradients(const Value& y, std::span<const Value> xs, const Value& dy);

/// `value`, which is made of `inputs` and whose slopes by them are 0: gradients are taken of it, and are zeros.
Value flat_in(const Value& value, const std::vector<Value>& inputs);

/// `y`, computed from x, whose derivative Slope makes of both. NOTE: y is saved as it was computed, not as the result, which has
/// what was saved.
template <class Slope>
Value with_slope_by_both(const Value& y, const Value& x, Slope) {
  if constexpr (kTakesGradients) {
    if (!x.is_tracked()) return y;
    const auto backward = [](const Value& dy, const Saved& saved) {
      const Value& a = saved[0];
      return std::vector{dy * Slope{}(a, with_slope_by_both(saved[1], a, Slope{}))};
    };
    return with_gradient(y, {&x, 1}, backward, Saved({x, y}));
  }
  return y;
}

}  // namespace strata::ops
