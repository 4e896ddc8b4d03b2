#include "strata/tensor/tensor.h"

#include <array>
#include <atomic>

#include "strata/base/fork.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/placed.h"
#include "strata/engine/realize.h"
#include "strata/tensor/access.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/gradient_slot.h"
#include "strata/tensor/host_reads.h"

namespace strata {

thread_local constinit TensorListener* TensorListener::current_ = nullptr;

// --- the nodes of tensors, and fork() ---

constinit std::array<TensorState::Lock, 64> TensorState::locks_;

struct TensorState::AtFork {
  static void before() {
    for (Lock& l : locks_) l.lock.lock();
  }
  static void after() {
    for (Lock& l : locks_) l.lock.unlock();
  }
  static const ForkHook hook;
};
const ForkHook TensorState::AtFork::hook(ForkOrder::tensors, &before, &after);

namespace {
std::uint64_t next_birth() {
  static std::atomic<std::uint64_t> born{0};
  return born.fetch_add(1, std::memory_order_relaxed);
}

/// True iff `n` is memory, or a parameter that is a view of memory: realize() has nothing to replace then.
bool is_view_of_memory(const LazyOp& n) {
  const LazyNode* at = n.node();
  if (is_annotation(at->op))
    for (at = at->src[0].node(); is_movement(at->op);) at = at->src[0].node();
  return at->op == Ops::EMPTY;
}

}  // namespace

LazyOp parameter_over(const LazyOp& plain, const std::shared_ptr<GradientSlot>& slot) {
  const LazyOp out = plain.tracked(slot);
  if (is_realized(*plain.node())) out.realize_as(plain.realized());
  return out;
}

Tensor::Tensor(LazyOp node, const Device& device)
    : state_(std::make_shared<TensorState>(NoGrad::is_active() ? node.detached() : std::move(node), device,
                                           next_birth())) {}

Tensor::Tensor() : Tensor(zeros({0})) {}

void TensorHandle::become_empty() const { state_ = TensorAccess::state(Tensor()); }

void Tensor::tell_read() const { TensorListener::current()->read(state_.get()); }

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
  // NOTE: a constant expression is hash-consed and shared by the whole program, including cached kernels: it must not
  // become memory itself.
  if (const LazyOp constant = node(); constant.node()->is_closed) state_->replace_node(constant, constant.contiguous());
  const LazyOp now = node();
  if (!strata::is_realized(*now.node())) strata::realize(now, device());
  // A realized node keeps its operands only if gradients pass through it.
  const bool is_parameter = state_->slot != nullptr;
  if (is_view_of_memory(now) || (!is_parameter && now.is_tracked())) return *this;
  const LazyOp leaf = placed_storage(now) ? placed_leaf_of(now) : leaf_of(buffer_of(now), shape());
  state_->replace_node(now, is_parameter ? parameter_over(leaf, state_->slot) : leaf);
  return *this;
}

bool Tensor::is_realized() const { return strata::is_realized(*node().node()); }

Buffer Tensor::buffer() const {
  Buffer out = buffer_of(realize().node());
  HostReadListener::note(out);
  return out;
}

Scalar Tensor::scalar() const {
  STRATA_CHECK(count() == 1, shape, "[item] a tensor of shape ", render(shape()), " has ", count(),
               " elements, not one");
  return buffer()[0];
}

std::string Tensor::explain() const { return strata::explain(std::array{node()}, device()); }

Tensor Tensor::to(const Device& device, At at) const {
  const OriginScope scope("to", at);
  return &device == state_->device ? *this : Tensor(node().copied(), device);
}

Tensor Tensor::contiguous(At at) const {
  const OriginScope scope("contiguous", at);
  return Tensor(node().contiguous(), device());
}

void Tensor::assign(const Tensor& value) const {
  STRATA_CHECK(value.shape() == shape(), shape, "[assign] a value of shape ", render(value.shape()),
               " does not match a tensor of shape ", render(shape()));
  STRATA_CHECK(value.dtype() == dtype(), domain, "[assign] a value of dtype ", value.dtype().name(),
               " does not match a tensor of dtype ", dtype().name());
  STRATA_CHECK(&value.device() == &device(), domain, "[assign] a value on ", value.device().name(),
               " does not match a tensor on ", device().name());
  if (TensorListener::current() != nullptr) TensorListener::current()->assigned(state_.get());
  const LazyOp plain = placed_like(value.node().detached(), node());
  state_->set_node(state_->slot != nullptr ? parameter_over(plain, state_->slot) : plain);
}

}  // namespace strata
