// LazyOp: what a kernel computes, as a graph of ops on whole tensors.
//
//   LazyOp a = LazyOp::load(1, dtypes::float32, ShapeTracker::from_shape({64, 64}));
//   LazyOp sum = LazyOp::reduce(Ops::SUM, a * a, {1});                      // shape (64, 1)
//   LazyOp kernel = LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape({64, 1}), sum)});
//
// A LazyOp has a shape and a dtype; shapes of operands are equal (nothing broadcasts by itself: EXPAND does). A kernel is
// a SINK of one or more STOREs. Nodes are immutable and hash-consed: written the same means the same node. All
// functions may be called from any thread; handles are values as those of Expr are.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "strata/dtype/scalar.h"
#include "strata/graph/index_range.h"
#include "strata/graph/origin.h"
#include "strata/graph/storage.h"
#include "strata/ir/ops.h"
#include "strata/view/shape_tracker.h"

namespace strata {

/// A buffer argument of a kernel, seen through a ShapeTracker whose addresses count its elements.
struct BufferArg {
  int slot = 0;  ///< which argument
  Int size;      ///< elements that the buffer has
  ShapeTracker st;
  bool operator==(const BufferArg&) const = default;
};
/// One value, or 0 where the ShapeTracker's index is invalid.
struct ConstArg {
  Scalar value;
  ShapeTracker st;
  bool operator==(const ConstArg&) const = default;
};
class GradientFunction;
/// The identity of a node that is another than each other one: memory (EMPTY), a value that gradients are taken by (REQUIRES_GRAD),
/// or one whose gradient the user gives (CUSTOM_GRAD). `owner` is who wants to be told of the gradient; `backward` computes the
/// user's gradient.
struct IdentityArg {
  std::uint64_t id = 0;
  std::weak_ptr<void> owner;
  std::shared_ptr<const GradientFunction> backward;
  bool operator==(const IdentityArg& o) const { return id == o.id; }
};
/// RESHAPE and EXPAND: a shape; PERMUTE and reductions: axes; STRIDE: steps; IN_RANGE: the range.
using LazyArg = std::variant<std::monostate, BufferArg, ConstArg, ShapeTracker, DType, Ints, Axes,
                             Padding, Mask, IdentityArg, IndexRange>;

struct LazyNode;
class LazyOp;

/// The gradient of a function that the user wrote.
class GradientFunction {
 public:
  GradientFunction() = default;
  GradientFunction(const GradientFunction&) = delete;
  GradientFunction& operator=(const GradientFunction&) = delete;
  virtual ~GradientFunction() = default;
  /// The gradients by the inputs, in order, of something whose gradient by the result is `dy`. @post of the inputs' shapes
  virtual std::vector<LazyOp> gradients(const LazyOp& dy) const = 0;
};

/// A handle on a node of the graph. Nodes are immutable, and one where they are equal.
class LazyOp {
 public:
  // --- leaves ---
  /// The elements of a buffer. `size` defaults to what the ShapeTracker reaches.
  /// @throws Error (domain) for a negative slot or a dtype that is no scalar
  static LazyOp load(int slot, DType dtype, ShapeTracker st);
  static LazyOp load(int slot, DType dtype, ShapeTracker st, Int size);
  /// `value` everywhere. @throws Error (shape) as ShapeTracker::from_shape
  static LazyOp constant(const Scalar& value, const Ints& shape);
  static LazyOp constant(const Scalar& value, ShapeTracker st);
  /// The address of each index, in `dtype`: what a load of 0, 1, 2, ... gives.
  static LazyOp iota(DType dtype, ShapeTracker st);

  /// Memory, row-major: each call gives another node. What it holds is set by realize_as. A node of graphs, not of kernels.
  static LazyOp empty(DType dtype, const Ints& shape);

  // --- elements ---
  /// @throws Error (shape) where shapes differ, (domain) as result_dtype
  static LazyOp alu(Ops op, std::span<const LazyOp> operands);
  static LazyOp alu(Ops op, std::initializer_list<LazyOp> operands) {
    return alu(op, std::span<const LazyOp>(operands.begin(), operands.size()));
  }
  LazyOp cast(DType to) const;
  LazyOp bitcast(DType to) const;

  // --- reductions: the shape keeps the axes, of size 1 ---
  /// @throws Error (shape) for an axis outside of the rank or twice, (domain) where `op` is no reduction
  static LazyOp reduce(Ops op, const LazyOp& x, const Axes& axes);

  // --- elements at indices that are computed ---
  /// values[..., index[...]]: the element of the last axis that `index` says, 0 where it says none (below 0, beyond the end).
  /// @throws Error (shape) unless values have one dimension more than the index, of a size that is a number, and else its
  ///   shape; (domain) for an index that is no integer
  static LazyOp gather(const LazyOp& values, const LazyOp& index);

  // --- movement: as View's; each throws what View's does. Where nothing moves, the operand itself ---
  LazyOp reshape(const Ints& shape) const;
  LazyOp permute(const Axes& order) const;
  LazyOp expand(const Ints& shape) const;
  LazyOp pad(const Padding& padding) const;
  LazyOp shrink(const Mask& bounds) const;
  LazyOp stride(const Ints& steps) const;
  LazyOp flip(const Axes& axes) const;

  // --- graphs ---
  /// The same values, in memory of their own in row-major order.
  LazyOp contiguous() const;
  /// The same values on another device: whoever realizes it knows from which and to which.
  LazyOp copied() const;
  /// The same values as a node of its own, by which gradients are taken; `owner` is told of them.
  LazyOp tracked(std::weak_ptr<void> owner) const;
  /// The same values, which no gradient passes.
  LazyOp detached() const;
  /// The same values, whose gradients by `inputs` are what `backward` says. Computing it computes no input.
  LazyOp with_gradient(std::span<const LazyOp> inputs,
                       std::shared_ptr<const GradientFunction> backward) const;
  /// The same integers, of which a program that asks (the flag CHECK_INDEX) is told where one is outside. @throws Error (domain) unless
  /// integers
  LazyOp in_range(const IndexRange& range) const;
  /// All `parts`, one after another, in row-major order as one dimension, in memory of their own: each is computed into its place.
  /// @throws Error (shape) where there is none, (domain) where dtypes differ
  static LazyOp concatenated(std::span<const LazyOp> parts);
  /// True iff a gradient can be taken by something below: a tracked() that no detached() hides.
  bool is_tracked() const;
  /// True iff no other handle and no node has it.
  bool is_sole_owner() const { return node_.use_count() == 1; }
  /// Where the user wrote it first.
  const Origin& origin() const;
  /// What the node is in memory, null where it is not. It may be set once by any thread: what comes later is dropped, and what
  /// there is then is given. It is no part of the node's identity.
  std::shared_ptr<Storage> realized() const;
  std::shared_ptr<Storage> realize_as(std::shared_ptr<Storage> storage) const;

  // --- kernels ---
  /// Puts `value` into a buffer of its dtype, at the addresses of `st`. @throws Error (shape) unless the shapes are equal,
  /// (domain) for a negative slot, or where two elements would go to one place
  static LazyOp store(int slot, ShapeTracker st, const LazyOp& value);
  static LazyOp store(int slot, ShapeTracker st, const LazyOp& value, Int size);
  /// @throws Error (domain) unless there is a store at least and all are stores; where a buffer has two dtypes
  static LazyOp sink(std::span<const LazyOp> stores);
  static LazyOp sink(std::initializer_list<LazyOp> stores) {
    return sink(std::span<const LazyOp>(stores.begin(), stores.size()));
  }

  /// The same op of other sources. @pre as many, of the same shapes and dtypes (of an annotation the first will do)
  LazyOp with_sources(std::span<const LazyOp> sources) const;

  Ops op() const;
  std::span<const LazyOp> src() const;
  const LazyOp& src(std::size_t k) const { return src()[k]; }
  const LazyArg& arg() const;
  DType dtype() const;  ///< none for STORE and SINK
  const Ints& shape() const;

  /// One line a node, sources first: number, op, dtype, shape, sources, argument.
  std::string text() const;
  /// Structural: the same in every process.
  std::uint64_t hash() const;
  /// Identity, which is equality of what is written.
  friend bool operator==(const LazyOp& a, const LazyOp& b) { return a.node_ == b.node_; }
  const LazyNode* node() const { return node_.get(); }

 private:
  using Sources = std::span<const LazyOp>;
  explicit LazyOp(std::shared_ptr<const LazyNode> node) : node_(std::move(node)) {}
  static LazyOp make(Ops op, Sources src, LazyArg arg, DType dtype, Ints shape);
  LazyOp moved(Ops op, LazyArg arg, Ints to) const;

  std::shared_ptr<const LazyNode> node_;
};

// NOTE: of the const node, as the table asks for that: libstdc++ turns a weak_ptr into one of another type by holding
// the node for a moment, and the hold may be the last, under the table's lock.
/// What a LazyOp is a handle on.
struct LazyNode : std::enable_shared_from_this<const LazyNode> {
  Ops op;
  DType dtype;
  Ints shape;
  std::vector<LazyOp> src;
  LazyArg arg;
  std::uint64_t hash;
  bool is_tracked = false;
  bool is_closed = false;  ///< constants and what kernels make of them alone
  bool is_known = false;   ///< whether the table of nodes has it
  Origin origin;           ///< no part of what the node is
  mutable std::atomic<Storage*> realized{nullptr};  ///< as a quick answer; see LazyOp::realized
  mutable std::shared_ptr<Storage> storage;

  LazyNode() = default;
  LazyNode(const LazyNode&) = delete;
  LazyNode& operator=(const LazyNode&) = delete;
  ~LazyNode();  // hands its sources to a worklist: depth is no matter
};

inline Ops LazyOp::op() const { return node_->op; }
inline std::span<const LazyOp> LazyOp::src() const { return node_->src; }
inline const LazyArg& LazyOp::arg() const { return node_->arg; }
inline DType LazyOp::dtype() const { return node_->dtype; }
inline const Ints& LazyOp::shape() const { return node_->shape; }
inline bool LazyOp::is_tracked() const { return node_->is_tracked; }
inline const Origin& LazyOp::origin() const { return node_->origin; }
inline std::uint64_t LazyOp::hash() const { return node_->hash; }

inline LazyOp operator+(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::ADD, {a, b}); }
inline LazyOp operator-(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::SUB, {a, b}); }
inline LazyOp operator*(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::MUL, {a, b}); }
inline LazyOp operator/(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::DIV, {a, b}); }

/// The sources that computing `n` needs: of an annotation the first, as the others are there for its gradient.
inline std::span<const LazyOp> needed(const LazyNode& n) {
  return {n.src.data(), is_annotation(n.op) ? 1 : n.src.size()};
}
/// The k-th of them, null where there are no more: for detail::walk().
inline const LazyOp* needed_source(const LazyOp* n, std::size_t k) {
  const std::span<const LazyOp> sources = needed(*n->node());
  return k < sources.size() ? &sources[k] : nullptr;
}
inline bool is_realized(const LazyNode& n) {
  return n.realized.load(std::memory_order_acquire) != nullptr;
}

/// `root` with bound variables replaced by plain ones everywhere; the values that were bound are added to `values`.
/// @throws Error (domain) where one variable is bound to two values
LazyOp unbind(const LazyOp& root, Values& values);

/// The nodes below `roots`, roots included, sources before users, each once. No recursion.
std::vector<const LazyNode*> postorder(std::span<const LazyOp> roots);
inline std::vector<const LazyNode*> postorder(const LazyOp& root) { return postorder({&root, 1}); }

/// `x` moved as the movement op `n` moves its operand: a LazyOp, a ShapeTracker. @pre is_movement(n.op)
template <class X>
X moved_as(const LazyNode& n, const X& x) {
  switch (n.op) {
    case Ops::RESHAPE: return x.reshape(std::get<Ints>(n.arg));
    case Ops::PERMUTE: return x.permute(std::get<Axes>(n.arg));
    case Ops::EXPAND: return x.expand(std::get<Ints>(n.arg));
    case Ops::PAD: return x.pad(std::get<Padding>(n.arg));
    case Ops::SHRINK: return x.shrink(std::get<Mask>(n.arg));
    case Ops::STRIDE: return x.stride(std::get<Ints>(n.arg));
    default: throw InternalError(detail::message("[moved_as] ", spec_name(n.op), " moves nothing"));
  }
}
/// A movement op as the ShapeTracker that takes its indices to those of its operand. @pre is_movement(n.op)
inline ShapeTracker movement_of(const LazyNode& n) {
  return moved_as(n, ShapeTracker::from_shape(n.src[0].shape()));
}
/// What the node has beside its sources, as text() says it.
std::string arg_text(const LazyNode& n);
/// What a reduction of nothing gives: 0, 1, the least or the greatest value of `dtype`. @pre is_reduce(op)
Scalar identity_of(Ops op, DType dtype);

/// What a kernel has to do at least, its variables at the upper ends of their bounds: each op between numbers once an element of
/// its shape, each buffer read or written once.
struct KernelCost {
  double operations = 0;
  double bytes = 0;
};
KernelCost cost_of(const LazyOp& kernel);

/// The buffers of a kernel by slot; slots between that nothing uses have dtype none.
struct BufferUse {
  DType dtype;
  Int size;
  bool read = false, written = false;
};
/// The size is the largest that any use states. @throws Error (domain) where one slot is used with two dtypes
std::vector<BufferUse> buffers_of(const LazyOp& kernel);

}  // namespace strata

template <>
struct std::hash<strata::LazyOp> {
  std::size_t operator()(const strata::LazyOp& op) const noexcept {
    return std::hash<const void*>()(op.node());
  }
};
