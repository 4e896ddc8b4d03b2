// The nodes of graphs that kernels do not contain: memory, copies, tracked values, custom gradients.

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "strata/base/fork.h"
#include "strata/graph/lazy_op.h"

namespace strata {

namespace {

IdentityArg new_identity() {
  static std::atomic<std::uint64_t> next{0};
  return {next.fetch_add(1, std::memory_order_relaxed), {}, {}, false, {}};
}

std::mutex& storage_mutex() {
  static std::mutex& mutex = *new std::mutex;  // never destroyed: handles may outlive every static
  return mutex;
}

const ForkHook storage_hook(ForkOrder::graph, [] { storage_mutex().lock(); }, [] { storage_mutex().unlock(); });

constinit std::atomic<std::uint64_t> realized_nodes{0};  // written under the mutex

}  // namespace

thread_local constinit std::uint64_t RealizedAsOf::last_ = ~std::uint64_t{0};

std::uint64_t RealizedAsOf::count() { return std::min(last_, realized_nodes.load(std::memory_order_acquire)); }

LazyOp LazyOp::empty(DType dtype, const Ints& shape, bool is_placeholder) {
  STRATA_CHECK(!dtype.is_none() && dtype == dtype.scalar(), domain, "[empty] ", dtype.name(),
               " is not the dtype of an element");
  const ShapeTracker st = ShapeTracker::from_shape(shape);  // for its checks
  IdentityArg identity = new_identity();
  identity.is_placeholder = is_placeholder;
  return make(Ops::EMPTY, {}, std::move(identity), dtype, st.shape());
}

LazyOp LazyOp::empty(DType dtype, const Ints& shape, std::shared_ptr<const NodePlacement> placement) {
  IdentityArg identity = new_identity();
  identity.placement = std::move(placement);
  return make(Ops::EMPTY, {}, std::move(identity), dtype, shape);
}

LazyOp LazyOp::placed(std::shared_ptr<const NodePlacement> placement) const {
  return make(Ops::CONTIGUOUS, {this, 1}, PlacementArg{std::move(placement)}, dtype(), shape());
}

LazyOp LazyOp::contiguous() const {
  constexpr std::array materialized = {Ops::CONTIGUOUS, Ops::EMPTY, Ops::FROM, Ops::CONCAT, Ops::SCAN, Ops::ORDER};
  // NOTE: a SCATTER of constants is a node of its kernel, too, which must not become memory.
  const bool is_there = std::find(materialized.begin(), materialized.end(), op()) != materialized.end() ||
                        (op() == Ops::SCATTER && !node()->is_closed);
  return is_there ? *this : make(Ops::CONTIGUOUS, {this, 1}, {}, dtype(), shape());
}

LazyOp LazyOp::copied() const { return make(Ops::FROM, {this, 1}, {}, dtype(), shape()); }

LazyOp LazyOp::copied_behind(const LazyOp& other) const {
  return make(Ops::FROM, std::array{*this, other}, {}, dtype(), shape());
}

LazyOp LazyOp::tracked(std::weak_ptr<void> owner) const {
  IdentityArg identity = new_identity();
  identity.owner = std::move(owner);
  return make(Ops::REQUIRES_GRAD, {this, 1}, std::move(identity), dtype(), shape());
}

LazyOp LazyOp::detached() const { return is_tracked() ? make(Ops::DETACH, {this, 1}, {}, dtype(), shape()) : *this; }

LazyOp LazyOp::with_gradient(Sources inputs, std::shared_ptr<const GradientFunction> backward) const {
  if (std::none_of(inputs.begin(), inputs.end(), [](const LazyOp& x) { return x.is_tracked(); })) return detached();
  std::vector<LazyOp> sources = {detached()};
  sources.insert(sources.end(), inputs.begin(), inputs.end());
  IdentityArg identity = new_identity();
  identity.backward = std::move(backward);
  return make(Ops::CUSTOM_GRAD, sources, std::move(identity), dtype(), shape());
}

LazyOp LazyOp::in_range(const IndexRange& range) const {
  STRATA_CHECK(dtype().is_int(), domain, "[", range.operation, "] the integers to check have dtype ", dtype().name(),
               ", which is not an integer dtype");
  return make(Ops::IN_RANGE, {this, 1}, range, dtype(), shape());
}

LazyOp LazyOp::concatenated(Sources parts) {
  STRATA_CHECK(!parts.empty(), shape, "[concatenated] no parts are given");
  Int size = 0;
  for (const LazyOp& part : parts) {
    STRATA_CHECK(part.dtype() == parts[0].dtype(), domain, "[concatenated] the parts have dtypes ",
                 parts[0].dtype().name(), " and ", part.dtype().name());
    size += product(part.shape());
  }
  return make(Ops::CONCAT, parts, {}, parts[0].dtype(), {size});
}

LazyOp LazyOp::concatenated(Sources parts, std::int64_t axis) {
  STRATA_CHECK(!parts.empty(), shape, "[concatenated] no parts are given");
  Ints out = parts[0].shape();
  STRATA_CHECK(axis >= 0 && axis < std::ssize(out), shape, "[concatenated] axis ", axis, " of parts of shape ",
               render(out));
  const auto a = static_cast<std::size_t>(axis);
  for (const LazyOp& part : parts.subspan(1)) {
    STRATA_CHECK(part.dtype() == parts[0].dtype(), domain, "[concatenated] the parts have dtypes ",
                 parts[0].dtype().name(), " and ", part.dtype().name());
    Ints expected = part.shape();
    if (expected.size() == out.size()) expected[a] = out[a];
    STRATA_CHECK(expected == out, shape, "[concatenated] shapes ", render(parts[0].shape()), " and ",
                 render(part.shape()), " differ not in axis ", axis, " alone");
    out[a] += part.shape()[a];
  }
  return make(Ops::CONCAT, parts, Axes{axis}, parts[0].dtype(), std::move(out));
}

std::shared_ptr<Storage> LazyOp::realized() const {
  return is_realized(*node_) ? node_->storage : nullptr;  // storage is set once, before is_realized() becomes true
}
std::shared_ptr<Storage> LazyOp::realize_as(std::shared_ptr<Storage> storage) const {
  const std::lock_guard lock(storage_mutex());
  if (node_->storage == nullptr) {
    node_->storage = std::move(storage);
    node_->realized_at = realized_nodes.load(std::memory_order_relaxed) + 1;
    node_->realized.store(node_->storage.get(), std::memory_order_release);
    realized_nodes.store(node_->realized_at, std::memory_order_release);  // last: who sees the count sees the node
  }
  return node_->storage;
}

}  // namespace strata
