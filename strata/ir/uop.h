// UOps: the instructions of a kernel (micro-ops), and UOpGraph, the list that owns them. codegen/ lowers a kernel to a
// UOpGraph; render/ turns the list into source code or LLVM IR; interpret() runs it as the reference. parse_uops() and
// text() convert to text.
//
// op             sources                        argument        value
// DEFINE_GLOBAL  -                              Global          pointer to the buffer's elements
// DEFINE_LOCAL   -                              Local           pointer to `size` elements
// DEFINE_VAR     -                              Variable        its value, i32 or i64
// SPECIAL        -                              Special         i32 or i64 in [0, size)
// CONST          -                              Scalar          the constant; of a vector dtype: in each lane
// DEFINE_ACC     initial value                  -               the accumulator's current value
// LOOP           begin, end                     -               the counter, of their dtype; no iteration where begin
//                                                               >= end
// ENDLOOP        LOOP                           -               none
// IF             bool, scalar or vector         -               none; its UOps run where a lane of the bool is true
// ENDIF          IF                             -               none
// LOAD           pointer, index[, gate, other]  -               the element at index; `other` where gate is false
//                                                               (memory is not accessed). Of a vector dtype:
//                                                               consecutive elements from the scalar index on; gate is
//                                                               a scalar or has a lane per element
// STORE          pointer, index, value[, gate]  - or int        none; vectors as for LOAD. The int is the vector's size
//                                                               in bytes and asks for a streaming store past the caches
//                                                               where the pointer is a multiple of it; the index
//                                                               must be at such a multiple, too
// ALU            operands                       Ops             result_dtype; vectors lane by lane, never mixed with
//                                                               scalars
// CAST, BITCAST  value                          -               the dtype's scalar; lanes are kept
// VECTORIZE      scalars of one dtype           -               a vector of them, the first in lane 0
// GEP            vector                         int (lane)      the lane
// PHI            DEFINE_ACC, value              -               assigns value to the accumulator; the new value
// REDUCE         first, values..., LOOPs...     LoopReduction   `first` combined with the values of all iterations of
//                                                               the loops; only in the graph before linearization
// CARRY          first, LOOP                    -               an accumulator of the loop, `first` in the first
//                                                               iteration; each is one of its own (not interned); only
//                                                               in the graph before linearization
// CARRIED        CARRY, next                    -               the accumulator after its loop: each iteration makes it
//                                                               `next`; only in the graph before linearization
// BARRIER        -                              -               none
//
// In a list, sources come before their users, loops nest and are closed, and a value is used only inside of the loops
// in which it was made (except accumulators, which may be read after the loop). verify() checks a list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "strata/base/small_vec.h"
#include "strata/dtype/scalar.h"
#include "strata/expr/expr.h"
#include "strata/ir/ops.h"

namespace strata {

enum class UOps : std::uint8_t {
#define STRATA_UOP(name, least, most, value, text) name,
#include "strata/ir/uops.def"
};

/// The specification's name, e.g. "UOps.ALU".
std::string spec_name(UOps op);

/// The argument of DEFINE_GLOBAL; printed `('data0', dtypes.float)`, or `('out', dtypes.float, 0)` where the name is
/// not "data" and the slot. Names here and below are identifiers of C.
struct Global {
  int slot = 0;
  std::string name;  ///< "data0" for slot 0
  bool operator==(const Global&) const = default;
};
/// The argument of DEFINE_LOCAL: scratch memory; printed `('temp0', 512)`.
struct Local {
  std::string name;
  std::int64_t size = 0;  ///< elements
  bool operator==(const Local&) const = default;
};
/// The argument of SPECIAL: an index of the parallel launch; printed `('gidx0', 0, 64)`.
struct Special {
  std::string name;
  int axis = 0;           ///< 0 to 2: the dimension of the launch
  std::int64_t size = 0;  ///< the index is in [0, size)
  bool operator==(const Special&) const = default;
};
/// A reduction by `op` over the last `loops` sources of its REDUCE; printed `(ReduceOps.SUM, 1)`.
struct LoopReduction {
  Ops op = Ops::SUM;
  std::int64_t loops = 1;
  bool operator==(const LoopReduction&) const = default;
};

/// The argument of a UOp. Variables compare by name and bounds.
using UOpArg = std::variant<std::monostate, std::int64_t, Scalar, Ops, Global, Local, Special, Variable, LoopReduction>;

struct UOpNode;

/// A handle on a UOp: one pointer, valid while the UOpGraph that made it lives. Equality is identity.
class UOp {
 public:
  UOp() = default;
  UOps op() const;
  DType dtype() const;
  std::span<const UOp> src() const;
  UOp src(std::size_t k) const { return src()[k]; }
  const UOpArg& arg() const;
  std::size_t num() const;  ///< position in the graph's list

  /// The constant's value. @pre op() == UOps::CONST
  const Scalar& constant() const { return std::get<Scalar>(arg()); }
  /// The operation. @pre op() == UOps::ALU
  Ops alu() const { return std::get<Ops>(arg()); }
  /// The operation and the number of loops. @pre op() == UOps::REDUCE
  const LoopReduction& reduction() const { return std::get<LoopReduction>(arg()); }
  /// The loops that a REDUCE runs over, outermost first.
  std::span<const UOp> reduced_loops() const { return src().last(static_cast<std::size_t>(reduction().loops)); }
  /// The values that each iteration of a REDUCE combines.
  std::span<const UOp> reduced_values() const { return src().subspan(1, src().size() - 1 - reduced_loops().size()); }
  /// Whether UOpGraph::mark_seldom() was told of this UOp.
  bool is_seldom() const;
  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(UOp, UOp) = default;

 private:
  friend class UOpGraph;
  friend struct std::hash<UOp>;
  explicit UOp(const UOpNode* node) : node_(node) {}
  const UOpNode* node_ = nullptr;
};

/// The instruction behind a UOp handle; owned by the UOpGraph.
struct UOpNode {
  UOps op;
  DType dtype;
  std::uint32_t num;
  SmallVec<UOp, 4> src;
  UOpArg arg;
  bool is_seldom = false;
};

inline UOps UOp::op() const { return node_->op; }
inline DType UOp::dtype() const { return node_->dtype; }
inline std::span<const UOp> UOp::src() const { return {node_->src.data(), node_->src.size()}; }
inline const UOpArg& UOp::arg() const { return node_->arg; }
inline std::size_t UOp::num() const { return node_->num; }
inline bool UOp::is_seldom() const { return node_->is_seldom; }

/// The variables that bound the iterations of the parallel loop in one call: a thread runs [begin0, end0).
inline constexpr std::string_view kRangeBegin = "begin0", kRangeEnd = "end0";
inline bool is_range_bound(std::string_view name) { return name == kRangeBegin || name == kRangeEnd; }
[[deprecated("renamed to is_range_bound")]]
inline bool is_range_end(std::string_view name) {
  return is_range_bound(name);
}

/// The list of UOps, in the order in which they were added. Movable, not copyable; used by one thread at a time.
class UOpGraph {
 public:
  /// Adds a UOp. With `cachable`, returns an equal UOp (op, dtype, sources, argument) that was added with `cachable`
  /// before, if any. A UOp that must be executed again is not cachable: a second loop of the same bounds, a load after
  /// a store.
  /// @throws Error (domain) where a source is not of this graph, or where the number of sources, their dtypes or the
  ///   kind of the argument differ from the table in uop.h; verify() checks nesting and order
  UOp add(UOps op, DType dtype, std::span<const UOp> src = {}, UOpArg arg = {}, bool cachable = true);
  UOp add(UOps op, DType dtype, std::initializer_list<UOp> src, UOpArg arg = {}, bool cachable = true) {
    return add(op, dtype, std::span<const UOp>(src.begin(), src.size()), std::move(arg), cachable);
  }

  // The most common UOps.
  UOp constant(const Scalar& value) { return add(UOps::CONST, value.dtype(), {}, value); }
  UOp constant(DType dtype, std::int64_t value);  ///< of a vector dtype: in each lane
  /// `op` on `operands`; the dtype is result_dtype(). CAST and BITCAST have UOps of their own. @throws Error (domain)
  /// as result_dtype()
  UOp alu(Ops op, std::initializer_list<UOp> operands);
  UOp alu(Ops op, std::span<const UOp> operands);
  /// `value` converted to dtype `to`, with the lanes of `value`; `value` itself where it has that dtype.
  UOp cast(UOp value, DType to);
  UOp bitcast(UOp value, DType to);
  /// A vector with `scalar` in each of `lanes` lanes; `scalar` itself where lanes == 1.
  UOp broadcast(UOp scalar, int lanes);
  UOp lane(UOp vector,
           int k);  ///< lane k of a vector; a scalar itself. @throws Error (domain) for a lane out of range

  /// Says that the first choice of `where` is seldom taken: linearize() computes what only this choice needs in an IF.
  /// The value is the same. @pre `where` is a WHERE of this graph
  void mark_seldom(UOp where);

  std::size_t size() const { return nodes_.size(); }
  UOp operator[](std::size_t k) const { return UOp(nodes_[k].get()); }
  /// Iteration in list order. end() is fixed when it is called: a loop does not visit UOps that it adds.
  class Iterator;
  Iterator begin() const;
  Iterator end() const;

  /// The list as text, one UOp per line, in the specification's columns: number, op, dtype, sources, argument.
  ///    0 UOps.CONST          : dtypes.int                []                               0
  /// A NaN other than the default NaN shows its bits, e.g. nan:0x7fc00001.
  std::string text() const;
  /// Prints text() to standard output.
  void print() const;

  UOpGraph() = default;
  UOpGraph(UOpGraph&&) noexcept = default;
  UOpGraph& operator=(UOpGraph&&) noexcept = default;

 private:
  bool owns(UOp u) const;
  UOp find(std::uint64_t hash, UOps op, DType dtype, std::span<const UOp> src, const UOpArg& arg) const;

  std::vector<std::unique_ptr<UOpNode>> nodes_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> known_;  // by hash
};

/// A bidirectional iterator over a UOpGraph, in list order.
class UOpGraph::Iterator {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = UOp;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = UOp;

  Iterator() = default;
  Iterator(const UOpGraph& graph, std::size_t at) : graph_(&graph), at_(at) {}
  UOp operator*() const { return (*graph_)[at_]; }
  Iterator& operator++() { return ++at_, *this; }
  Iterator& operator--() { return --at_, *this; }
  Iterator operator++(int) { return {*graph_, at_++}; }
  Iterator operator--(int) { return {*graph_, at_--}; }
  friend bool operator==(Iterator a, Iterator b) { return a.at_ == b.at_; }

 private:
  const UOpGraph* graph_ = nullptr;
  std::size_t at_ = 0;
};
inline UOpGraph::Iterator UOpGraph::begin() const { return {*this, 0}; }
inline UOpGraph::Iterator UOpGraph::end() const { return {*this, size()}; }

/// Parses the format of UOpGraph::text(); columns may be separated by any blanks. Each line becomes a UOp of its own,
/// also where two lines are equal. @throws Error, with line and column in the message: (parse), or (domain) as add()
UOpGraph parse_uops(std::string_view text);

/// Checks that a list is a valid program: blocks nest and are closed, values are used in scope, there is no REDUCE, and
/// no name or slot is defined twice. Linear time. @throws Error (domain) naming the line of the UOp and the rule that
/// it breaks
void verify(const UOpGraph& list);

/// A buffer argument.
struct Memory {
  void* data = nullptr;
  std::int64_t size = 0;  ///< elements
};
/// Called for each element that a LOAD or STORE accesses, in order; for a vector once per lane.
using AccessObserver = std::function<void(UOp access, std::int64_t element)>;
/// Runs a list, one UOp after another, and checks each access: the reference meaning of lists. The instances of a
/// SPECIAL run one after another. @param buffers by slot  @param values of the DEFINE_VARs, by name
/// @throws Error (domain) as verify(), for an access outside of its buffer, a missing buffer or value, or a value
///   outside of its bounds; (budget) after `budget` UOps
void interpret(const UOpGraph& list, std::span<const Memory> buffers,
               std::span<const std::pair<std::string, std::int64_t>> values = {},
               std::uint64_t budget = std::uint64_t{1} << 32, const AccessObserver& observer = {});
/// `op` on scalars, as ops.def defines it; 16-bit floats are computed in f32 and rounded. Used by both interpreters.
/// @pre `op` is defined on the dtypes of `operands`; `to` is the target dtype of CAST and BITCAST
Scalar evaluate(Ops op, std::span<const Scalar> operands, DType to = dtypes::none);

}  // namespace strata

template <>
struct std::hash<strata::UOp> {
  std::size_t operator()(strata::UOp u) const noexcept { return std::hash<const void*>()(u.node_); }
};
