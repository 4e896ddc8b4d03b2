// Custom gradients for users: with_gradient() replaces the gradient of a computed tensor by a function of tensors. The
// library's own operations use the same mechanism on graph nodes (ops/backward.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/tensor/autograd.h"

namespace strata {

/// Returns a tensor with the elements of `value` and a custom gradient: `backward(dy)` returns one gradient for each of
/// `inputs`, in order, each of its input's shape; dy is the gradient by the result. NOTE: `backward` runs when
/// gradients are taken and then reads the current values of the Tensors that it captures, including changes in place.
/// Capture `x.detach()` to keep the values of the time of the call.
Tensor with_gradient(const Tensor& value, std::span<const Tensor> inputs,
                     std::function<std::vector<Tensor>(const Tensor& dy)> backward);

/// Tensors and numbers that a gradient needs besides dy. The tensors keep the values that they had when they were
/// saved, whatever is assigned to the originals later. Deprecated, for one version.
class [[deprecated("capture x.detach() instead")]] Saved {
 public:
  explicit Saved(const std::vector<Tensor>& tensors, Ints numbers = {});
  /// A new tensor with the saved value of tensor `k`.
  Tensor operator[](std::size_t k) const;
  std::size_t size() const { return nodes_.size(); }
  const Ints& numbers() const { return numbers_; }
  std::int64_t number(std::size_t k) const { return numbers_[k].value(); }

 private:
  std::vector<std::pair<LazyOp, const Device*>> nodes_;
  Ints numbers_;
};

// Deprecated declarations name each other.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// A gradient function of dy and Saved; a lambda without captures. Deprecated, for one version.
class [[deprecated("give with_gradient() a std::function of dy")]] Backward {
 public:
  using Function = std::vector<Tensor>(const Tensor& dy, const Saved& saved);
  template <class F>
  Backward(F f) : f_(nullptr) {  // NOTE: implicit, a lambda is given where a Backward is expected
    constexpr bool kCapturesNothing = std::is_convertible_v<F, Function*>;
    static_assert(kCapturesNothing,
                  "backward captures nothing: save the tensors and numbers that backward needs in Saved");
    if constexpr (kCapturesNothing) f_ = f;
  }
  std::vector<Tensor> operator()(const Tensor& dy, const Saved& saved) const { return f_(dy, saved); }

 private:
  Function* f_;
};

/// with_gradient() with the gradient function `backward(dy, saved)`. Deprecated, for one version.
[[deprecated("give a function of dy alone, which captures the tensors that it needs")]]
Tensor with_gradient(const Tensor& value, std::span<const Tensor> inputs, Backward backward, Saved saved);

#pragma GCC diagnostic pop

}  // namespace strata
