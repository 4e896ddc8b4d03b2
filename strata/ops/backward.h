// Custom gradients for formulas: with_gradient() replaces the gradient that would follow from the ops of a formula,
// where that one would be slow or inexact. (tensor/custom_gradient.h is the form for users.)
#pragma once

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/ops/value.h"

namespace strata::ops {

/// False in builds that never take gradients: the WebAssembly engine of the web page (viz/) is smaller without gradient
/// formulas.
#ifdef STRATA_WITHOUT_GRADIENTS
inline constexpr bool kTakesGradients = false;
#else
inline constexpr bool kTakesGradients = true;
#endif

/// The values and numbers that a gradient needs besides dy.
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

/// A gradient function: (dy, saved) -> gradients by the inputs, in order. A lambda without captures: all operands of a
/// gradient are in Saved, so that nothing is kept alive or used unseen.
class Backward {
 public:
  using Function = std::vector<Value>(const Value& dy, const Saved& saved);
  template <class F>
  Backward(F f) : f_(nullptr) {  // NOTE: implicit, a lambda is given where a Backward is expected
    constexpr bool kCapturesNothing = std::is_convertible_v<F, Function*>;
    static_assert(kCapturesNothing,
                  "backward captures nothing: save the tensors and numbers that backward needs in Saved");
    if constexpr (kCapturesNothing) f_ = f;
  }
  std::vector<Value> operator()(const Value& dy, const Saved& saved) const { return f_(dy, saved); }

 private:
  Function* f_;
};

/// The elements of `value`, with the gradients backward(dy, saved) by `inputs`, where dy is the gradient by the result.
/// Each gradient has the shape and dtype of its input. @throws Error (shape) otherwise, when gradients are taken
Value with_gradient(const Value& value, std::span<const Value> inputs, Backward backward, Saved saved);

/// For each x of `xs` the gradient of y by x, times `dy`; zeros for an x on which y does not depend. @pre dy has y's
/// shape and dtype
std::vector<Value> gradients(const Value& y, std::span<const Value> xs, const Value& dy);

/// `value`, a function of `inputs` with derivative 0 (e.g. a rounding): the result is tracked and its gradients are
/// zeros, so that taking gradients of it is no error.
Value flat_in(const Value& value, const std::vector<Value>& inputs);

/// `y`, a function of x, with the derivative Slope{}(x, y). NOTE: saves y, not the result: the result owns Saved, and
/// saving it would be a reference cycle.
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

/// `y`, a softmax of x along `axis`: its elements, and what follows for gradients from the fact that each row of y adds
/// up to 1, or is zeros: dx = y * (dy - sum of dy * y). The ops that made y from x are not differentiated.
Value with_softmax_gradient(const Value& y, const Value& x, std::int64_t axis);

}  // namespace strata::ops
