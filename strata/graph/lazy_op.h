// LazyOp: what a kernel computes, as a graph of ops on whole tensors.
//
//   LazyOp a = LazyOp::load(1, dtypes::float32, ShapeTracker::from_shape({64, 64}));
//   LazyOp sum = LazyOp::reduce(Ops::SUM, a * a, {1});                      // shape (64, 1)
//   LazyOp kernel = LazyOp::sink({LazyOp::store(0, dtypes::float32, ShapeTracker::from_shape({64, 1}), sum)});
//
// A LazyOp has a shape and a dtype; shapes of operands are equal (nothing broadcasts by itself: EXPAND does). A kernel is
// a SINK of one or more STOREs. Nodes are immutable and hash-consed: written the same means the same node. All
// functions may be called from any thread; handles are values as those of Expr are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "strata/dtype/scalar.h"
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
/// RESHAPE and EXPAND: a shape; PERMUTE and reductions: axes; STRIDE: steps.
using LazyArg =
    std::variant<std::monostate, BufferArg, ConstArg, ShapeTracker, DType, Ints, Axes, Padding, Mask>;

struct LazyNode;

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

  // --- movement: as View's; each throws what View's does. Where nothing moves, the operand itself ---
  LazyOp reshape(const Ints& shape) const;
  LazyOp permute(const Axes& order) const;
  LazyOp expand(const Ints& shape) const;
  LazyOp pad(const Padding& padding) const;
  LazyOp shrink(const Mask& bounds) const;
  LazyOp stride(const Ints& steps) const;
  LazyOp flip(const Axes& axes) const;

  // --- kernels ---
  /// Puts `value` into a buffer, at the addresses of `st`. @throws Error (shape) unless the shapes are equal, (domain) for
  /// another dtype than the value's
  static LazyOp store(int slot, ShapeTracker st, const LazyOp& value);
  static LazyOp store(int slot, ShapeTracker st, const LazyOp& value, Int size);
  /// @throws Error (domain) unless there is a store at least and all are stores; where a buffer has two dtypes
  static LazyOp sink(std::span<const LazyOp> stores);
  static LazyOp sink(std::initializer_list<LazyOp> stores) {
    return sink(std::span<const LazyOp>(stores.begin(), stores.size()));
  }

  /// The same op of other sources. @pre as many, of the same shapes and dtypes
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
  LazyOp moved(Ops op, LazyArg arg, const View& moved_view) const;

  std::shared_ptr<const LazyNode> node_;
};

struct LazyNode {
  Ops op;
  DType dtype;
  Ints shape;
  std::vector<LazyOp> src;
  LazyArg arg;
  std::uint64_t hash;

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
inline std::uint64_t LazyOp::hash() const { return node_->hash; }

inline LazyOp operator+(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::ADD, {a, b}); }
inline LazyOp operator-(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::SUB, {a, b}); }
inline LazyOp operator*(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::MUL, {a, b}); }
inline LazyOp operator/(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::DIV, {a, b}); }

/// The nodes below `roots`, roots included, sources before users, each once. No recursion.
std::vector<const LazyNode*> postorder(std::span<const LazyOp> roots);
inline std::vector<const LazyNode*> postorder(const LazyOp& root) { return postorder({&root, 1}); }

/// A movement op as the ShapeTracker that takes its indices to those of its operand. @pre is_movement(n.op)
ShapeTracker movement_of(const LazyNode& n);
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
