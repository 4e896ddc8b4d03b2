#include "strata/tensor/autograd.h"

#include <array>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "strata/base/fork.h"
#include "strata/engine/placed.h"
#include "strata/ops/backward.h"
#include "strata/ops/formula_node.h"
#include "strata/ops/gradient.h"
#include "strata/tensor/access.h"
#include "strata/tensor/gradient_slot.h"

namespace strata {

namespace {

thread_local int no_grad_scopes = 0;

LazyOp seed(const Tensor& y, const std::optional<Tensor>& dy, const char* name) {
  if (!dy) {
    STRATA_CHECK(y.numel() == Int(1), shape, "[", name, "] a tensor of shape ", render(y.shape()),
                 " is not a scalar: give the gradient of the tensor");
    return y.ones_like().node();
  }
  STRATA_CHECK(dy->shape() == y.shape(), shape, "[", name, "] a gradient of shape ", render(dy->shape()),
               " does not match a tensor of shape ", render(y.shape()));
  return dy->cast(y.dtype()).node();
}

std::optional<Tensor> gradient_of(const GradientSlot& slot) {
  const std::lock_guard lock(gradient_mutex());
  return slot.gradient;
}
bool are_same_handle(const std::optional<Tensor>& a, const std::optional<Tensor>& b) {
  return a && b ? TensorAccess::state(*a) == TensorAccess::state(*b) : a.has_value() == b.has_value();
}
/// Adds `gain` to the gradient. The sum is computed without the lock, and again if another thread has changed the
/// gradient meanwhile.
void add_gradient(const std::shared_ptr<GradientSlot>& slot, const Tensor& gain) {
  for (;;) {
    const std::optional<Tensor> before = gradient_of(*slot);
    std::optional<Tensor> sum = before ? *before + gain : gain;
    {
      const std::lock_guard lock(gradient_mutex());
      if (!are_same_handle(slot->gradient, before)) continue;
      slot->gradient.swap(sum);  // the old gradient is destroyed after the lock is released
    }
    if (TensorListener* const listener = TensorListener::current()) listener->gained(slot, before);
    return;
  }
}

const ForkHook gradient_hook(ForkOrder::memory, [] { gradient_mutex().lock(); }, [] { gradient_mutex().unlock(); });

}  // namespace

std::mutex& gradient_mutex() {
  static constinit std::mutex mutex;
  return mutex;
}

NoGrad::NoGrad() { ++no_grad_scopes; }
NoGrad::~NoGrad() { --no_grad_scopes; }
bool NoGrad::is_active() { return no_grad_scopes > 0; }

Tensor Tensor::detach(At at) const {
  const OriginScope scope("detach", at);
  return Tensor(node().detached(), device());
}

Tensor& Tensor::requires_grad(bool on) {
  STRATA_CHECK(!on || dtype().is_float(), domain, "[requires_grad] a tensor of dtype ", dtype().name(),
               " has no gradient");
  if (on == (state_->slot != nullptr)) return *this;
  state_->slot = on ? std::make_shared<GradientSlot>() : nullptr;
  if (on) state_->slot->born = state_->born;
  const LazyOp plain = node().detached();
  state_->set_node(on ? parameter_over(plain, state_->slot) : plain);
  return *this;
}

std::optional<Tensor> Tensor::grad() const {
  if (state_->slot == nullptr) return std::nullopt;
  return gradient_of(*state_->slot);
}

void Tensor::set_grad(const std::optional<Tensor>& gradient) const {
  STRATA_CHECK(state_->slot != nullptr, domain,
               "[set_grad] the tensor takes no gradient: call requires_grad(true) first");
  STRATA_CHECK(!gradient || gradient->shape() == shape(), shape, "[set_grad] a gradient of shape ",
               render(gradient->shape()), " does not match a tensor of shape ", render(shape()));
  STRATA_CHECK(!gradient || gradient->dtype() == dtype(), domain, "[set_grad] a gradient of dtype ",
               gradient->dtype().name(), " does not match a tensor of dtype ", dtype().name());
  if (TensorListener* const listener = TensorListener::current()) listener->read(state_.get());
  // After the swap the old one, which is destroyed after the lock is released.
  std::optional<Tensor> next = gradient;
  {
    const std::lock_guard lock(gradient_mutex());
    state_->slot->gradient.swap(next);
  }
  if (TensorListener* const listener = TensorListener::current()) listener->gained(state_->slot, next);
}

void Tensor::backward(const std::optional<Tensor>& gradient, At at) const {
  const OriginScope scope("backward", at);
  const ops::FormulaScope formulas;
  STRATA_CHECK(requires_grad(), domain,
               "[backward] the tensor depends on no tensor that takes a gradient: call requires_grad(true) "
               "first. The result of a jit function has no history: call backward() inside of the function");
  const auto by = backpropagate(node(), seed(*this, gradient, "backward").detached());
  for (const auto& [n, dn] : by) {
    if (n->op != Ops::REQUIRES_GRAD) continue;
    const auto slot = std::static_pointer_cast<GradientSlot>(std::get<IdentityArg>(n->arg).owner.lock());
    if (slot == nullptr) continue;
    add_gradient(slot, Tensor(placed_like(dn.detached(), n->src[0]), device()));
  }
}

void set_in_place(const Tensor& x, const Tensor& value, const char* operation) {
  const std::shared_ptr<TensorState>& state = TensorAccess::state(x);
  STRATA_CHECK(state->slot == nullptr || NoGrad::is_active(), domain, "[", operation,
               "] a tensor that takes gradients, of shape ", render(x.shape()),
               ", cannot be changed in place: use no_grad or assign()");
  std::optional<LazyOp> after;
  if (state->slot == nullptr && !NoGrad::is_active())
    after = placed_like(value.node(), x.node());
  else if (state->slot == nullptr && x.requires_grad())
    after = ops::with_gradient(
        value.node(), std::array{ops::Value(x.node())},
        [](const ops::Value& dy, const ops::Saved&) { return std::vector{dy}; }, ops::Saved({}));
  x.assign(value);
  if (after) state->set_node(*after);
}

namespace {

using GradientsByNode = std::unordered_map<const LazyNode*, LazyOp>;

/// True iff `n` is a node of the parameter with this slot. A parameter may have several nodes in a graph, because it
/// was realized or assigned to between uses.
bool is_node_of(const LazyNode& n, const std::shared_ptr<GradientSlot>& slot) {
  return n.op == Ops::REQUIRES_GRAD && std::get<IdentityArg>(n.arg).owner.lock() == slot;
}

/// True iff y was computed from x, also if only through ops whose gradient is 0.
bool is_made_of(const Tensor& y, const Tensor& x) {
  const auto& slot = TensorAccess::state(x)->slot;
  std::unordered_set<const LazyNode*> seen;
  std::vector<const LazyNode*> open = {y.node().node()};
  while (!open.empty()) {
    const LazyNode& n = *open.back();
    open.pop_back();
    if (&n == x.node().node() || (slot != nullptr && is_node_of(n, slot))) return true;
    for (const LazyOp& s : n.src)
      if (s.is_tracked() && seen.insert(s.node()).second) open.push_back(s.node());
  }
  return false;
}

/// The gradient by x: the sum of those by all nodes of x.
std::optional<LazyOp> gradient_by(const GradientsByNode& by, const Tensor& x) {
  const auto& slot = TensorAccess::state(x)->slot;
  if (slot == nullptr) {
    const auto at = by.find(x.node().node());
    return at == by.end() ? std::nullopt : std::optional(at->second);
  }
  std::map<std::uint64_t, LazyOp> parts;  // by creation number, so that the order of the sum is fixed
  for (const auto& [n, dn] : by)
    if (is_node_of(*n, slot)) parts.emplace(std::get<IdentityArg>(n->arg).id, dn);
  std::optional<LazyOp> out;
  for (const auto& [id, part] : parts) out = out ? *out + part : part;
  return out;
}

}  // namespace

std::vector<Tensor> gradients(const Tensor& y, std::span<const Tensor> xs, const std::optional<Tensor>& dy,
                              Unused unused, At at) {
  const OriginScope scope("gradients", at);
  const ops::FormulaScope formulas;
  for (std::size_t k = 0; k < xs.size(); ++k)
    STRATA_CHECK(xs[k].requires_grad(), domain, "[gradients] tensor ", k, " of shape ", render(xs[k].shape()),
                 " takes no gradient: call requires_grad(true) before y is computed, or use grad(f)(x)");
  const auto by = backpropagate(y.node(), seed(y, dy, "gradients"));
  std::vector<Tensor> out;
  for (std::size_t k = 0; k < xs.size(); ++k) {
    const auto by_x = gradient_by(by, xs[k]);
    STRATA_CHECK(by_x || unused == Unused::zeros || is_made_of(y, xs[k]), domain,
                 "[gradients] y does not depend on tensor ", k, " of shape ", render(xs[k].shape()),
                 ": allow unused tensors to get zeros");
    out.push_back(by_x ? TensorAccess::of(*by_x, xs[k]) : xs[k].zeros_like());
  }
  return out;
}

std::pair<Tensor, Tensor> value_and_grad(const TensorFunction& f, const Tensor& x) {
  STRATA_CHECK(x.dtype().is_float(), domain, "[value_and_grad] a tensor of dtype ", x.dtype().name(),
               " has no gradient");
  const Tensor inner = TensorAccess::of(x.node().tracked({}), x);
  const Tensor given = TensorAccess::of(inner.node(), x);  // a tensor of its own, which f may change in place
  const Tensor y = f(given);
  const std::vector<Tensor> by = gradients(y, {&inner, 1}, {}, Unused::zeros);
  return {y, by[0]};
}

TensorFunction grad(TensorFunction f) {
  return [f = std::move(f)](const Tensor& x) { return value_and_grad(f, x).second; };
}

}  // namespace strata
