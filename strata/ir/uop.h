// UOps: the instructions of a kernel, and the list or graph that owns them.
//
// op             sources                        argument        value
// DEFINE_GLOBAL  -                              Global          pointer to the buffer's elements
// DEFINE_LOCAL   -                              Local           pointer to `size` elements
// DEFINE_VAR     -                              Variable        its value, i32 or i64
// SPECIAL        -                              Special         i32 or i64 in [0, size)
// CONST          -                              Scalar          the constant; of a vector dtype: in each lane
// DEFINE_ACC     initial value                  -               the accumulator as it stands
// LOOP           begin, end                     -               the counter, of their dtype; no iteration where begin >= end
// ENDLOOP        LOOP                           -               none
// IF             condition, a bool              -               none
// ENDIF          IF                             -               none
// LOAD           pointer, index[, gate, other]  -               element at index; `other` where gate is false (memory is not
//                                                               touched). A vector dtype: consecutive elements from index on
//                                                               (index is a scalar), gate a scalar or of a lane each
// STORE          pointer, index, value[, gate]  - or int        a vector as with LOAD. The int, its bytes: it goes past the caches
//                                                               where the pointer is a multiple of it; the index is one
// ALU            operands                       Ops             result_dtype; vectors lane by lane, never mixed with scalars
// CAST, BITCAST  value                          -               the dtype's scalar; lanes are kept
// VECTORIZE      scalars of one dtype           -               a vector of them, the first in lane 0
// GEP            vector                         int (lane)      the lane
// PHI            DEFINE_ACC, value              -               assigns; its own value is the new one
// REDUCE         first, values..., LOOPs...     LoopReduction   `first` combined with what the values come to over all iterations
//                                                               of the loops; only in the graph before linearizing
// BARRIER        -                              -               none
//
// In a list sources come before their users, loops nest and are closed, and a value is used inside the loops in which it
// was made (accumulators apart: they may be read after the loop). `verify` says where a list is not so.
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

/// "UOps.ALU"
std::string spec_name(UOps op);

/// Which buffer argument; printed `('data0', dtypes.float)`, or `('out', dtypes.float, 0)` where the name does not say the
/// slot. Names here and below are C's identifiers.
struct Global {
  int slot = 0;
  std::string name;  ///< "data0" for slot 0
  bool operator==(const Global&) const = default;
};
/// Scratch memory; printed `('temp0', 512)`.
struct Local {
  std::string name;
  std::int64_t size = 0;  ///< elements
  bool operator==(const Local&) const = default;
};
/// A parallel index; printed `('gidx0', 0, 64)`.
struct Special {
  std::string name;
  int axis = 0;  ///< 0 to 2: the dimension of the launch
  std::int64_t size = 0;
  bool operator==(const Special&) const = default;
};
/// A reduction by `op` over the last `loops` sources of its REDUCE; printed `(ReduceOps.SUM, 1)`.
struct LoopReduction {
  Ops op = Ops::SUM;
  std::int64_t loops = 1;
  bool operator==(const LoopReduction&) const = default;
};

/// Variables compare by name and bounds.
using UOpArg =
    std::variant<std::monostate, std::int64_t, Scalar, Ops, Global, Local, Special, Variable, LoopReduction>;

struct UOpNode;

/// A handle on a UOp: one pointer, valid as long as the UOpGraph that made it. Equality is identity.
class UOp {
 public:
  UOp() = default;
  UOps op() const;
  DType dtype() const;
  std::span<const UOp> src() const;
  UOp src(std::size_t k) const { return src()[k]; }
  const UOpArg& arg() const;
  std::size_t num() const;  ///< its place in the graph's list

  /// The constant's value. @pre op() == UOps::CONST
  const Scalar& constant() const { return std::get<Scalar>(arg()); }
  /// The operation. @pre op() == UOps::ALU
  Ops alu() const { return std::get<Ops>(arg()); }
  /// The operation and the number of loops. @pre op() == UOps::REDUCE
  const LoopReduction& reduction() const { return std::get<LoopReduction>(arg()); }
  /// The loops that a REDUCE runs over, outermost first.
  std::span<const UOp> reduced_loops() const {
    return src().last(static_cast<std::size_t>(reduction().loops));
  }
  /// The values that each iteration of a REDUCE combines.
  std::span<const UOp> reduced_values() const {
    return src().subspan(1, src().size() - 1 - reduced_loops().size());
  }
  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(UOp, UOp) = default;

 private:
  friend class UOpGraph;
  friend struct std::hash<UOp>;
  explicit UOp(const UOpNode* node) : node_(node) {}
  const UOpNode* node_ = nullptr;
};

/// What a UOp is a handle on.
struct UOpNode {
  UOps op;
  DType dtype;
  std::uint32_t num;
  SmallVec<UOp, 4> src;
  UOpArg arg;
};

inline UOps UOp::op() const { return node_->op; }
inline DType UOp::dtype() const { return node_->dtype; }
inline std::span<const UOp> UOp::src() const { return {node_->src.data(), node_->src.size()}; }
inline const UOpArg& UOp::arg() const { return node_->arg; }
inline std::size_t UOp::num() const { return node_->num; }

/// The variables between which a call runs the iterations of the parallel loop: each is of one kernel alone.
inline constexpr std::string_view kRangeBegin = "begin0", kRangeEnd = "end0";
inline bool is_range_bound(std::string_view name) {
  return name == kRangeBegin || name == kRangeEnd;
}
[[deprecated("renamed to is_range_bound")]]
inline bool is_range_end(std::string_view name) {
  return is_range_bound(name);
}

/// Owns UOps, in the order in which they were added. Movable, not copyable; not for two threads at once.
class UOpGraph {
 public:
  /// A UOp; where `cachable`, one that was added so before with the same op, dtype, sources and argument. What has to
  /// happen again (a loop of the same bounds, a load after a store) is not cachable.
  /// @throws Error (domain) where the number of sources, their dtypes or the argument's kind are not what the table in
  ///         uop.h says. (Nesting and order are `verify`'s.)
  UOp add(UOps op, DType dtype, std::span<const UOp> src = {}, UOpArg arg = {}, bool cachable = true);
  UOp add(UOps op, DType dtype, std::initializer_list<UOp> src, UOpArg arg = {}, bool cachable = true) {
    return add(op, dtype, std::span<const UOp>(src.begin(), src.size()), std::move(arg), cachable);
  }

  // What is added most.
  UOp constant(const Scalar& value) { return add(UOps::CONST, value.dtype(), {}, value); }
  UOp constant(DType dtype, std::int64_t value);  ///< of a vector dtype: in each lane
  /// `op` on operands of fitting dtypes; the result's dtype is result_dtype. CAST and BITCAST have UOps of their own.
  UOp alu(Ops op, std::initializer_list<UOp> operands);
  UOp alu(Ops op, std::span<const UOp> operands);
  /// `value` in dtype `to` (its scalar; lanes are kept); the same UOp where it is of it.
  UOp cast(UOp value, DType to);
  UOp bitcast(UOp value, DType to);
  /// The scalar in each of `lanes` lanes; the same UOp where lanes == 1.
  UOp broadcast(UOp scalar, int lanes);
  UOp lane(UOp vector, int k);  ///< a scalar is its own lane

  std::size_t size() const { return nodes_.size(); }
  UOp operator[](std::size_t k) const { return UOp(nodes_[k].get()); }
  /// In order. end() stays where it was made: what is added in a loop over the list is not met.
  class Iterator;
  Iterator begin() const;
  Iterator end() const;

  /// The list in the specification's columns: number, op, dtype, sources, argument; a line each.
  ///    0 UOps.CONST          : dtypes.int                []                               0
  /// A NaN that is not the usual one shows its bits, nan:0x7fc00001.
  std::string text() const;
  /// text() to standard output.
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

/// Over the UOps, in the order of the list.
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

/// Reads what text() writes, with any blanks between the parts of a line. Lines that are alike are UOps of their own.
/// @throws Error with line and column in the message: (parse), or (domain) as add.
UOpGraph parse_uops(std::string_view text);

/// Nothing wrong with the list: order, nesting, scope, dtypes, no REDUCE, no name or slot twice. Linear time.
/// @throws Error (domain) naming the UOp's line and what is wrong with it; a LOOP or IF that is not closed among them.
void verify(const UOpGraph& list);

/// Memory that a list works on.
struct Memory {
  void* data = nullptr;
  std::int64_t size = 0;  ///< elements
};
/// Is told of each element that a LOAD or STORE touches, in order; a vector's one lane after another.
using AccessObserver = std::function<void(UOp access, std::int64_t element)>;
/// Runs a list, one UOp after another, with each access checked: the reference for what lists mean. SPECIAL is looped over.
/// `buffers` by slot; `values` of DEFINE_VAR by name.
/// @throws Error (domain) for what verify refuses, an access outside, a buffer or value that is missing or outside of its
///         bounds; (budget) after `budget` UOps.
void interpret(const UOpGraph& list, std::span<const Memory> buffers,
               std::span<const std::pair<std::string, std::int64_t>> values = {},
               std::uint64_t budget = std::uint64_t{1} << 32, const AccessObserver& observer = {});
/// `op` on scalars, as ops.def says; floats of 16 bits are computed in f32 and rounded. The table behind `interpret` and the INTERP device.
/// @pre the dtypes fit; `to` is the dtype of CAST and BITCAST
Scalar evaluate(Ops op, std::span<const Scalar> operands, DType to = dtypes::none);

}  // namespace strata

template <>
struct std::hash<strata::UOp> {
  std::size_t operator()(strata::UOp u) const noexcept { return std::hash<const void*>()(u.node_); }
};
