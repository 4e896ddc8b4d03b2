// LazyOp: the graph of ops on whole tensors. Tensors and formulas (ops/) build it, the scheduler cuts it into kernels,
// and the kernel compiler (codegen/) lowers each kernel, which is a LazyOp graph of its own.
//
//   LazyOp a = LazyOp::load(1, dtypes::float32, ShapeTracker::from_shape({64, 64}));
//   LazyOp sum = LazyOp::reduce(Ops::SUM, a * a, {1});                      // shape (64, 1)
//   LazyOp kernel = LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape({64, 1}), sum)});
//
// A LazyOp has a shape and a dtype. Operands of an elementwise op have equal shapes: there is no implicit broadcasting,
// EXPAND is an op. A kernel is a SINK of one or more STOREs. Nodes are immutable and hash-consed: equal op, sources,
// argument, dtype and shape mean one node, so that comparing handles compares graphs. All functions may be called from
// any thread.
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
#include "strata/graph/placement.h"
#include "strata/graph/storage.h"
#include "strata/ir/ops.h"
#include "strata/view/shape_tracker.h"

namespace strata {

/// The argument of LOAD and STORE: a buffer of the kernel, and the ShapeTracker from an index to the element of the
/// buffer.
struct BufferArg {
  int slot = 0;  ///< number of the kernel's buffer argument
  Int size;      ///< elements in the buffer
  ShapeTracker st;
  bool operator==(const BufferArg&) const = default;
};
/// The argument of CONST: `value` at each index, 0 where the index is invalid for the ShapeTracker (masked out by a
/// pad).
struct ConstArg {
  Scalar value;
  ShapeTracker st;
  bool operator==(const ConstArg&) const = default;
};
/// The argument of ASSOCIATIVE_SCAN and SCATTER. `op`: SUM, PROD, REDUCE_MAX or REDUCE_MIN; of scans also MULACC, for
/// linear recurrences, whose sources are the factors and the term; of scatters also NOOP, the value itself.
struct AxisArg {
  Ops op = Ops::SUM;
  std::int64_t axis = 0;
  bool operator==(const AxisArg&) const = default;
};
/// The argument of ORDER: what of sorted rows the node has. The number of ranks is the size of the node's axis.
struct OrderArg {
  bool of_places = false;  ///< the places of the elements in the row, i64; else the elements
  bool is_descending = false;
  std::int64_t axis = 0;
  Int first = 0;  ///< the first rank
  bool operator==(const OrderArg&) const = default;
};
class LazyOp;
/// An elementwise function of one operand, which is one node (FORMULA) in graphs of tensors.
struct Formula {
  /// The nodes of the function of `x`, as kernels have them.
  LazyOp (*expand)(const Formula& formula, const LazyOp& x) = nullptr;
  DType result;
  std::size_t nodes = 0;  ///< of expand()
  int cost = 0;           ///< of an element: the sum of their op_cost()
};
struct StepGraph;
/// The argument of SCAN (graph/step_graph.h). Two loops are equal only if they share the step.
struct StepArg {
  std::shared_ptr<const StepGraph> step;
  bool of_saved = false;  ///< whether the node has the results that only gradients read
  bool operator==(const StepArg&) const = default;
};
/// The argument of FORMULA. The Formula lives as long as the program.
struct FormulaArg {
  const Formula* formula = nullptr;
  bool operator==(const FormulaArg&) const = default;
};
/// The argument of a CONTIGUOUS whose memory is placed.
struct PlacementArg {
  std::shared_ptr<const NodePlacement> placement;
  bool operator==(const PlacementArg&) const = default;
};
class GradientFunction;
/// The argument of nodes that are equal to no other node: memory (EMPTY), tracked() values (REQUIRES_GRAD), and
/// with_gradient() values (CUSTOM_GRAD).
struct IdentityArg {
  std::uint64_t id = 0;                                 ///< unique in the process
  std::weak_ptr<void> owner;                            ///< of tracked(): where the gradient goes
  std::shared_ptr<const GradientFunction> backward;     ///< of with_gradient()
  bool is_placeholder = false;                          ///< of EMPTY: a formal input of a StepGraph, never realized
  std::shared_ptr<const NodePlacement> placement = {};  ///< of EMPTY: where its memory is; null: in one memory
  bool operator==(const IdentityArg& o) const { return id == o.id; }
};
/// The argument of a node, by op. LOAD and STORE: BufferArg. CONST: ConstArg. IOTA: ShapeTracker. CAST and BITCAST:
/// DType. RESHAPE and EXPAND: the new shape. STRIDE: the steps. PERMUTE and reductions: Axes; CONCAT: the axis, or
/// nothing where the parts are one behind the other. PAD: Padding. SHRINK: Mask. EMPTY, REQUIRES_GRAD and CUSTOM_GRAD:
/// IdentityArg. IN_RANGE: IndexRange. ASSOCIATIVE_SCAN and SCATTER: AxisArg. ORDER: OrderArg. FORMULA: FormulaArg.
/// SCAN: StepArg. CONTIGUOUS: PlacementArg or nothing. Others: nothing.
using LazyArg = std::variant<std::monostate, BufferArg, ConstArg, ShapeTracker, DType, Ints, Axes, Padding, Mask,
                             IdentityArg, IndexRange, AxisArg, FormulaArg, StepArg, OrderArg, PlacementArg>;

struct LazyNode;

/// A custom gradient: the `backward` of with_gradient().
class GradientFunction {
 public:
  GradientFunction() = default;
  GradientFunction(const GradientFunction&) = delete;
  GradientFunction& operator=(const GradientFunction&) = delete;
  virtual ~GradientFunction() = default;
  /// Returns the gradients by the inputs, in order, given `dy`, the gradient by the result. @post result k has the
  /// shape of input k
  virtual std::vector<LazyOp> gradients(const LazyOp& dy) const = 0;
};

/// A handle (shared pointer) on an immutable node of the graph. Two handles are equal iff they hold the same node.
class LazyOp {
 public:
  // --- leaves ---
  /// The elements of buffer `slot` at the addresses of `st`. `size`: elements in the buffer; default: st.real_size().
  /// @throws Error (domain) for a negative slot or a dtype that is not a scalar's
  static LazyOp load(int slot, DType dtype, ShapeTracker st);
  static LazyOp load(int slot, DType dtype, ShapeTracker st, Int size);
  /// `value` at each index; through a ShapeTracker 0 where the index is invalid. @throws Error (shape) as
  /// ShapeTracker::from_shape
  static LazyOp constant(const Scalar& value, const Ints& shape);
  static LazyOp constant(const Scalar& value, ShapeTracker st);
  /// The address of each index in `dtype`, as if loaded from a buffer of 0, 1, 2, ...; 0 where the index is invalid.
  static LazyOp iota(DType dtype, ShapeTracker st);

  /// Row-major memory. Each call returns a different node; realize_as() sets the memory. Part of graphs, not of
  /// kernels.
  static LazyOp empty(DType dtype, const Ints& shape, bool is_placeholder = false);
  /// Memory that is placed.
  static LazyOp empty(DType dtype, const Ints& shape, std::shared_ptr<const NodePlacement> placement);

  // --- elementwise ---
  /// `op` element by element; CAST and BITCAST have functions of their own.
  /// @throws Error (shape) where the operands' shapes differ, (domain) where `op` is not elementwise, for a wrong
  /// number of operands, and as result_dtype
  static LazyOp alu(Ops op, std::span<const LazyOp> operands);
  static LazyOp alu(Ops op, std::initializer_list<LazyOp> operands) {
    return alu(op, std::span<const LazyOp>(operands.begin(), operands.size()));
  }
  LazyOp cast(DType to) const;
  LazyOp bitcast(DType to) const;

  // --- reductions: reduced axes stay in the shape with size 1 ---
  /// Reduces `axes` of `x`, e.g. SUM of (2, 3) over {1}: (2, 1). Returns `x` where `axes` is empty.
  /// @throws Error (shape) for an axis out of range or given twice, (domain) where `op` is not a reduction
  static LazyOp reduce(Ops op, const LazyOp& x, const Axes& axes);

  // --- scans ---
  /// The running totals of `x` along `axis` by `op`: result i combines the elements up to i, e.g. SUM of {1, 2, 4}: {1,
  /// 3, 7}. In the order of ir/scan_order.h.
  /// @throws Error (shape) for an axis out of range, (domain) where `op` is no reduction, and for sums and products of
  /// 16-bit floats, whose running totals would be rounded at each element: cast to f32
  static LazyOp scan(Ops op, const LazyOp& x, std::int64_t axis);
  /// scan(), where the totals in front of the blocks of ir/scan_order.h are known: `fronts`, of the shape of `x`, has
  /// the total in front of a block at the first place of the block. Kernels have it whose blocks threads share.
  /// @throws Error as scan(), and (shape) where the shapes differ, (domain) where the dtypes do
  static LazyOp scan_behind(Ops op, const LazyOp& fronts, const LazyOp& x, std::int64_t axis);
  /// The linear recurrence y[t] = b[t] + a[0][t]*y[t-1] + a[1][t]*y[t-2] + ... along `axis`, with 0 in front of the
  /// first element. In the order of ir/scan_order.h.
  /// @throws Error as scan(), and (shape) where the shapes of a and b differ, (domain) where the dtypes do, and where
  ///   `a` has no or more than kMostFactors elements
  static LazyOp recurrence(std::span<const LazyOp> a, const LazyOp& b, std::int64_t axis);
  /// The recurrence of one factor: y[t] = b[t] + a[t]*y[t-1].
  static LazyOp recurrence(const LazyOp& a, const LazyOp& b, std::int64_t axis) { return recurrence({&a, 1}, b, axis); }
  /// The most factors of a recurrence.
  static constexpr std::size_t kMostFactors = 16;

  // --- loops ---
  /// The results of `dtype` of the loop, in the order of bundle_of(): one dimension, materialized. Part of graphs, not
  /// of kernels. @pre as result_of_loop() (graph/step_graph.h)
  static LazyOp loop(const std::shared_ptr<const StepGraph>& step, std::span<const LazyOp> sources, DType dtype,
                     bool of_saved = false);

  // --- formulas ---
  /// The elements of `formula` of this node's elements. @pre `formula` lives as long as the program
  LazyOp formula(const Formula& formula) const;
  /// What kernels have in place of the FORMULA: its nodes, of `x`. @pre op() is FORMULA
  LazyOp formula_of(const LazyOp& x) const;

  // --- gather ---
  /// result[i...] = values[i..., index[i...]], and 0 where the index is outside of the last axis. Shape of `index`,
  /// dtype of `values`.
  /// @throws Error (shape) unless values.shape() is index.shape() and one more last dimension, whose size is a number;
  ///   (domain) for an index that is not of integers
  static LazyOp gather(const LazyOp& values, const LazyOp& index);

  /// `target`, in which for each element k of `values` along `axis`, in ascending order, the element index[k] is
  /// replaced by op(element, values[k]); by values[k] for NOOP. An index outside of the axis goes nowhere.
  /// Materialized.
  /// @throws Error (shape) unless index and values have one shape, that of `target` but for `axis`, and the size of
  ///   `axis` in target is a number; (domain) for an index that is not of integers, other values than of target's
  ///   dtype, an op that is no reduction and not NOOP, and for sums and products of 16-bit floats: cast to f32
  static LazyOp scatter(Ops op, const LazyOp& target, const LazyOp& index, const LazyOp& values, std::int64_t axis);

  // --- order ---
  /// The elements of `x` of the ranks [arg.first, arg.first + count) along arg.axis, or their places: of {3, 1, 2} the
  /// elements {1, 2, 3} at {1, 2, 0}. Equal elements have the order of their places, in either direction. -0 equals
  /// 0, and NaN is the largest. Materialized; blocks gradients.
  /// @throws Error (shape) for an axis out of range, and for ranks that are not all within the axis
  static LazyOp order(const LazyOp& x, const OrderArg& arg, const Int& count);

  // --- movement: meaning and Errors as the functions of View with these names. A movement without effect returns the
  // operand ---
  LazyOp reshape(const Ints& shape) const;
  LazyOp permute(const Axes& order) const;
  LazyOp expand(const Ints& shape) const;
  LazyOp pad(const Padding& padding) const;
  LazyOp shrink(const Mask& bounds) const;
  LazyOp stride(const Ints& steps) const;
  LazyOp flip(const Axes& axes) const;

  // --- graphs ---
  /// The same elements, materialized: row-major in memory of their own.
  LazyOp contiguous() const;
  /// The same elements, materialized where `placement` says.
  LazyOp placed(std::shared_ptr<const NodePlacement> placement) const;
  /// A placement that this node or one below it states; null where there is none.
  const NodePlacement* placement_below() const;
  /// The same elements on another device. The node names no device: the code that realizes it knows both.
  LazyOp copied() const;
  /// copied(), once `other` is computed: what is made of the new node is made behind `other`.
  LazyOp copied_behind(const LazyOp& other) const;
  /// The same elements as a new node by which gradients are taken; the gradient goes to `owner`.
  LazyOp tracked(std::weak_ptr<void> owner) const;
  /// The same elements, blocking gradients.
  LazyOp detached() const;
  /// The same elements with the custom gradients `backward` by `inputs`; detached() where no input is tracked.
  /// Computing the node does not compute the inputs.
  LazyOp with_gradient(std::span<const LazyOp> inputs, std::shared_ptr<const GradientFunction> backward) const;
  /// The same integers. While the flag CHECK_INDEX is set, realizing the node throws where an integer is outside of
  /// `range`.
  /// @throws Error (domain) unless the dtype is an integer
  LazyOp in_range(const IndexRange& range) const;
  /// The elements of all `parts`, each in row-major order, one part behind the other: one dimension, materialized. Each
  /// part is computed directly into its place. @throws Error (shape) without parts, (domain) where dtypes differ
  static LazyOp concatenated(std::span<const LazyOp> parts);
  /// The parts side by side along `axis`, materialized. Each part is computed directly into its place.
  /// @throws Error (shape) without parts, for an axis out of range, where shapes differ in another axis, (domain) where
  ///   dtypes differ
  static LazyOp concatenated(std::span<const LazyOp> parts, std::int64_t axis);
  /// True iff the node is, or was computed from, a node made by tracked() or with_gradient() that no detached() cuts
  /// off.
  bool is_tracked() const;
  /// True iff no other handle and no other node holds this node.
  bool is_sole_owner() const { return owners() == 1; }
  /// The number of handles and nodes that hold this node; another thread may be changing it.
  long owners() const { return node_.use_count(); }
  /// The operation and source line that first made the node.
  const Origin& origin() const;
  /// The memory of the node's elements; null where the node is not realized. No part of the node's identity.
  std::shared_ptr<Storage> realized() const;
  /// Sets the memory, once: where a thread has set it already, `storage` is dropped. Returns the memory that the node
  /// has afterwards.
  std::shared_ptr<Storage> realize_as(std::shared_ptr<Storage> storage) const;

  // --- kernels ---
  /// Stores `value` to buffer `slot`, of value's dtype, at the addresses of `st`. @throws Error (shape) unless `st` and
  /// `value` have equal shapes, (domain) for a negative slot, or where two elements would go to one address
  static LazyOp store(int slot, ShapeTracker st, const LazyOp& value);
  static LazyOp store(int slot, ShapeTracker st, const LazyOp& value, Int size);
  /// A kernel. @throws Error (domain) for no stores, a source that is not a STORE, or a buffer that is used with two
  /// dtypes
  static LazyOp sink(std::span<const LazyOp> stores);
  static LazyOp sink(std::initializer_list<LazyOp> stores) {
    return sink(std::span<const LazyOp>(stores.begin(), stores.size()));
  }

  /// The same op and argument on other sources. An annotation takes its first source, and becomes DETACH unless it is
  /// IN_RANGE.
  /// @pre source k has the shape and dtype of src(k)
  LazyOp with_sources(std::span<const LazyOp> sources) const;

  Ops op() const;
  std::span<const LazyOp> src() const;
  const LazyOp& src(std::size_t k) const { return src()[k]; }
  const LazyArg& arg() const;
  DType dtype() const;  ///< none for STORE and SINK
  const Ints& shape() const;

  /// The graph as text, one line per node, sources first: number, op, dtype, shape, sources, argument.
  std::string text() const;
  /// A structural hash: of kernels the same in every process.
  std::uint64_t hash() const;
  /// Identity of nodes; by hash-consing also structural equality.
  friend bool operator==(const LazyOp& a, const LazyOp& b) { return a.node_ == b.node_; }
  const LazyNode* node() const { return node_.get(); }

 private:
  using Sources = std::span<const LazyOp>;
  explicit LazyOp(std::shared_ptr<const LazyNode> node) : node_(std::move(node)) {}
  static LazyOp make(Ops op, Sources src, LazyArg arg, DType dtype, Ints shape);
  LazyOp moved(Ops op, LazyArg arg, Ints to) const;

  std::shared_ptr<const LazyNode> node_;
};

// NOTE: enable_shared_from_this of the const node, because the table holds weak pointers to const nodes: libstdc++
// converts a weak_ptr to another type by locking it, and that temporary owner may be the last one and destroy the node
// under the table's lock.
/// A node of the graph.
struct LazyNode : std::enable_shared_from_this<const LazyNode> {
  Ops op;
  DType dtype;
  Ints shape;
  std::vector<LazyOp> src;
  LazyArg arg;
  std::uint64_t hash;
  bool is_tracked = false;
  const NodePlacement* placement = nullptr;         ///< one that this node or one below it states
  bool is_closed = false;                           ///< computed from constants alone: no memory below
  bool is_known = false;                            ///< whether the table of nodes has it
  Origin origin;                                    ///< no part of the node's identity
  mutable std::atomic<Storage*> realized{nullptr};  ///< storage.get(), readable without a lock
  mutable std::uint64_t realized_at = 0;            ///< the number of the node among those that were realized, from 1
  mutable std::shared_ptr<Storage> storage;

  LazyNode() = default;
  LazyNode(const LazyNode&) = delete;
  LazyNode& operator=(const LazyNode&) = delete;
  ~LazyNode();  // moves its sources to a worklist, so that deep graphs do not recurse
};

inline Ops LazyOp::op() const { return node_->op; }
inline std::span<const LazyOp> LazyOp::src() const { return node_->src; }
inline const LazyArg& LazyOp::arg() const { return node_->arg; }
inline DType LazyOp::dtype() const { return node_->dtype; }
inline const Ints& LazyOp::shape() const { return node_->shape; }
inline bool LazyOp::is_tracked() const { return node_->is_tracked; }
inline const NodePlacement* LazyOp::placement_below() const { return node_->placement; }
inline const Origin& LazyOp::origin() const { return node_->origin; }
inline std::uint64_t LazyOp::hash() const { return node_->hash; }

inline LazyOp operator+(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::ADD, {a, b}); }
inline LazyOp operator-(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::SUB, {a, b}); }
inline LazyOp operator*(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::MUL, {a, b}); }
inline LazyOp operator/(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::DIV, {a, b}); }

/// The sources that computing `n` needs. An annotation needs only its first source; the others serve its gradient.
inline std::span<const LazyOp> needed(const LazyNode& n) {
  return {n.src.data(), is_annotation(n.op) ? 1 : n.src.size()};
}
/// needed(n)[k], null beyond the last one: the successor function for detail::walk().
inline const LazyOp* needed_source(const LazyOp* n, std::size_t k) {
  const std::span<const LazyOp> sources = needed(*n->node());
  return k < sources.size() ? &sources[k] : nullptr;
}
bool is_realized(const LazyNode& n);

/// While an object lives, its thread sees no node as realized that was realized after the object was made. So an
/// algorithm that looks at a node several times sees one graph, whatever other threads compute meanwhile.
class RealizedAsOf {
 public:
  RealizedAsOf() : RealizedAsOf(count()) {}
  /// As of an earlier one, by its count().
  explicit RealizedAsOf(std::uint64_t count) : outer_(last_) { last_ = count; }
  ~RealizedAsOf() { last_ = outer_; }
  RealizedAsOf(const RealizedAsOf&) = delete;
  RealizedAsOf& operator=(const RealizedAsOf&) = delete;

  /// How many nodes this thread sees as realized.
  static std::uint64_t count();

 private:
  friend bool is_realized(const LazyNode& n);
  static thread_local constinit std::uint64_t last_;

  std::uint64_t outer_;
};
inline bool is_realized(const LazyNode& n) {
  return n.realized.load(std::memory_order_acquire) != nullptr && n.realized_at <= RealizedAsOf::last_;
}

/// Replaces each bound variable in the graph below `root` by its plain variable and appends the bound values to
/// `values`, so that one compiled kernel serves all values. @throws Error (domain) where one variable is bound to two
/// values
LazyOp unbind(const LazyOp& root, Values& values);

/// A hash of op, dtype, shape and, `with_arg`, the argument of a node, without its sources. Identities count as equal.
std::uint64_t hash_of_own(const LazyNode& n, bool with_arg);

/// All nodes reachable from `roots`, roots included, each once, sources before users. Linear time, no recursion.
std::vector<const LazyNode*> postorder(std::span<const LazyOp> roots);
inline std::vector<const LazyNode*> postorder(const LazyOp& root) { return postorder({&root, 1}); }

/// Applies the movement op `n` to `x`, a LazyOp or a ShapeTracker. @pre is_movement(n.op)
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
/// The ShapeTracker that maps an index of `n` to the flat index of its operand. @pre is_movement(n.op)
inline ShapeTracker movement_of(const LazyNode& n) { return moved_as(n, ShapeTracker::from_shape(n.src[0].shape())); }
/// The argument of `n` in the form of LazyOp::text(); "None" without one.
std::string arg_text(const LazyNode& n);
/// The result of a reduction without elements: SUM 0, PROD 1, REDUCE_MAX the least and REDUCE_MIN the greatest value of
/// `dtype`.
/// @pre is_reduce(op)
Scalar identity_of(Ops op, DType dtype);

/// The least work of a kernel, with each variable at its upper bound.
struct KernelCost {
  /// Each arithmetic op once per element (MULACC 2, DOT4 8, DOT2 4; conversions, WHERE and movement 0).
  double operations = 0;
  double bytes = 0;  ///< each buffer read once and written once, as far as the kernel does either
};
KernelCost cost_of(const LazyOp& kernel);

/// How a kernel uses one buffer.
struct BufferUse {
  DType dtype;  ///< none for a slot that the kernel does not use
  Int size;     ///< elements: the largest size that a LOAD or STORE states
  bool read = false, written = false;
};
/// The buffers of `kernel` by slot. @throws Error (domain) where one slot is used with two dtypes, or exceeds 4095
std::vector<BufferUse> buffers_of(const LazyOp& kernel);

}  // namespace strata

template <>
struct std::hash<strata::LazyOp> {
  std::size_t operator()(const strata::LazyOp& op) const noexcept { return std::hash<const void*>()(op.node()); }
};
