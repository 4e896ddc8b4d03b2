#include "strata/tensor/tensor.h"

#include "strata/engine/realize.h"
#include "strata/engine/storage.h"
#include "strata/tensor/access.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/gradient_slot.h"

namespace strata {

Tensor::Tensor(LazyOp node, const Device& device)
    : state_(std::make_shared<State>(
          State{NoGrad::is_active() ? node.detached() : std::move(node), &device, nullptr})) {}

const Int& Tensor::size(std::int64_t axis) const {
  STRATA_CHECK(ndim() > 0, shape, "[size] a scalar has no axis");
  return shape()[static_cast<std::size_t>(axis_of(axis, ndim(), "size"))];
}

std::int64_t Tensor::count() const {
  const Int n = numel();
  return n.is_number() ? n.value() : evaluate(n.expr());
}

// --- running ---

const Tensor& Tensor::realize() const {
  if (!is_realized()) strata::realize(node(), device());
  // What is realized needs its history only where a gradient is taken through it.
  const bool is_parameter = state_->slot != nullptr;
  const bool is_leaf = (is_parameter ? node().src(0) : node()).op() == Ops::EMPTY;
  if (!is_leaf && (is_parameter || !node().is_tracked())) {
    const LazyOp leaf = leaf_of(buffer_of(node()), shape());
    state_->node = is_parameter ? leaf.tracked(state_->slot) : leaf;
  }
  return *this;
}

bool Tensor::is_realized() const { return strata::is_realized(*node().node()); }

Buffer Tensor::buffer() const { return buffer_of(realize().node()); }

Scalar Tensor::scalar() const {
  STRATA_CHECK(count() == 1, shape, "[item] a tensor of shape ", render(shape()), " has ", count(),
               " elements, not one");
  return buffer()[0];
}

std::string Tensor::explain() const { return strata::explain({&node(), 1}); }

Tensor Tensor::to(const Device& device, At at) const {
  const OriginScope scope("to", at);
  return &device == state_->device ? *this : Tensor(node().copied(), device);
}

Tensor Tensor::contiguous(At at) const {
  const OriginScope scope("contiguous", at);
  return Tensor(node().contiguous(), device());
}

void Tensor::assign(const Tensor& value) const {
  STRATA_CHECK(value.shape() == shape(), shape, "[assign] a tensor of shape ",
               render(value.shape()), " to one of shape ", render(shape()));
  STRATA_CHECK(value.dtype() == dtype(), domain, "[assign] a tensor of ", value.dtype().name(),
               " to one of ", dtype().name());
  STRATA_CHECK(&value.device() == &device(), domain, "[assign] a tensor on ", value.device().name(),
               " to one on ", device().name());
  const LazyOp plain = value.node().detached();
  state_->node = state_->slot != nullptr ? plain.tracked(state_->slot) : plain;
}

}  // namespace strata
