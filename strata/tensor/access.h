// The way to the inside of a Tensor, for this floor and those above.
#pragma once

#include <memory>

#include "strata/graph/origin.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/tensor.h"

namespace strata {

/// The way to the inside of a Tensor.
class TensorAccess {
 public:
  /// A tensor of a node, on the device of another.
  static Tensor of(const LazyOp& node, const Tensor& like) { return Tensor(node, like.device()); }
  static Tensor of(const LazyOp& node, const Device& device) { return Tensor(node, device); }
  /// What identifies a tensor: its copies have the same.
  static const std::shared_ptr<TensorState>& state(const Tensor& x) { return x.state_.get(); }
  static Tensor of(const std::shared_ptr<TensorState>& state) { return Tensor(state); }
};

/// The node of a parameter that stands for `plain`: memory where `plain` is memory.
LazyOp parameter_over(const LazyOp& plain, const std::shared_ptr<GradientSlot>& slot);

}  // namespace strata
