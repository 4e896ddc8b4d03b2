// Access to the private state of a Tensor: its graph node, its device and the TensorState that copies of a handle
// share. For the code of Strata itself (tensor/, nn/, the Python binding); users of the library do not need it.
#pragma once

#include <memory>

#include "strata/graph/origin.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/tensor.h"

namespace strata {

/// Makes Tensors from graph nodes or states, and reads the state of a Tensor.
class TensorAccess {
 public:
  /// A new tensor that stands for `node`, on the device of `like`.
  static Tensor of(const LazyOp& node, const Tensor& like) { return Tensor(node, like.device()); }
  static Tensor of(const LazyOp& node, const Device& device) { return Tensor(node, device); }
  /// The identity of a tensor: two handles are copies of one tensor iff their states are the same object.
  static const std::shared_ptr<TensorState>& state(const Tensor& x) { return x.state_.get(); }
  static Tensor of(const std::shared_ptr<TensorState>& state) { return Tensor(state); }
};

/// The node of a parameter with the value `plain`; its gradient goes to `slot`. Where `plain` is realized, the new node
/// is realized too, with the same buffer.
LazyOp parameter_over(const LazyOp& plain, const std::shared_ptr<GradientSlot>& slot);

}  // namespace strata
