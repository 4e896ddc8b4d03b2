// Gradients that users say, as functions of tensors. The operations of the library say theirs on nodes (ops/backward.h).
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

/// `value`, whose gradients by `inputs` are what `backward` makes of the gradient by it. It runs when gradients are taken: a Tensor
/// that it captures is what that stands for then, also where it was changed in place in between. What is to stay as it is at
/// the call is captured as `x.detach()` or another tensor that nothing changes.
Tensor with_gradient(const Tensor& value, std::span<const Tensor> inputs,
                     std::function<std::vector<Tensor>(const Tensor& dy)> backward);

/// What a gradient is made of beside dy: what tensors stood for when they were saved, whatever is done to them in place later; and
/// numbers. Deprecated, for one version.
class [[deprecated("capture x.detach() instead")]] Saved {
 public:
  explicit Saved(const std::vector<Tensor>& tensors, Ints numbers = {});
  /// A tensor that nobody else holds, of what the one that was saved stood for.
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

/// A function of dy and of what was saved, which captures nothing. Deprecated, for one version.
class [[deprecated("give with_gradient() a std::function of dy")]] Backward {
 public:
  using Function = std::vector<Tensor>(const Tensor& dy, const Saved& saved);
  template <class F>
  Backward(F f) : f_(nullptr) {  // NOTE: implicit, a lambda is given where a Backward is expected
    constexpr bool kCapturesNothing = std::is_convertible_v<F, Function*>;
    static_assert(
        kCapturesNothing,
        "backward captures nothing: save the tensors and numbers that backward needs in Saved");
    if constexpr (kCapturesNothing) f_ = f;
  }
  std::vector<Tensor> operator()(const Tensor& dy, const Saved& saved) const {
    return f_(dy, saved);
  }

 private:
  Function* f_;
};

/// The other with_gradient(), of a function that captures what was saved. Deprecated, for one version.
[[deprecated("give a function of dy alone, which captures the tensors that it needs")]]
Tensor with_gradient(const Tensor& value, std::span<const Tensor> inputs, Backward backward,
                     Saved saved);

#pragma GCC diagnostic pop

}  // namespace strata
