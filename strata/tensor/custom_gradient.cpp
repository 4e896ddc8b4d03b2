#include "strata/tensor/custom_gradient.h"

#include "strata/tensor/access.h"

namespace strata {

namespace {

using UserFunction = std::function<std::vector<Tensor>(const Tensor&)>;

/// Adapts a user's function of Tensors to the GradientFunction of nodes.
class UserGradient final : public GradientFunction {
 public:
  UserGradient(UserFunction f, const Device& device) : f_(std::move(f)), device_(device) {}
  std::vector<LazyOp> gradients(const LazyOp& dy) const override {
    std::vector<LazyOp> out;
    for (const Tensor& t : f_(TensorAccess::of(dy, device_))) out.push_back(t.node());
    return out;
  }

 private:
  UserFunction f_;
  const Device& device_;
};

}  // namespace

Tensor with_gradient(const Tensor& value, std::span<const Tensor> inputs, UserFunction backward) {
  std::vector<LazyOp> nodes;
  for (const Tensor& x : inputs) nodes.push_back(x.node());
  auto function = std::make_shared<const UserGradient>(std::move(backward), value.device());
  return TensorAccess::of(value.node().with_gradient(nodes, std::move(function)), value);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

Saved::Saved(const std::vector<Tensor>& tensors, Ints numbers) : numbers_(std::move(numbers)) {
  for (const Tensor& t : tensors) nodes_.emplace_back(t.node(), &t.device());
}

Tensor Saved::operator[](std::size_t k) const {
  const auto& [node, device] = nodes_[k];
  return TensorAccess::of(node, *device);
}

Tensor with_gradient(const Tensor& value, std::span<const Tensor> inputs, Backward backward, Saved saved) {
  return with_gradient(value, inputs,
                       [backward, saved = std::move(saved)](const Tensor& dy) { return backward(dy, saved); });
}

#pragma GCC diagnostic pop

}  // namespace strata
