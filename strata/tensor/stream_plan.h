// The plan of a stream (streaming.h): which positions of which values each value of a function reads, as the index
// algebra finds them.
//
// A function is traced twice, at the length of the example and at twice that length. Both graphs are walked in lock
// step. The axis of positions of a value is the one whose size differs. The movement ops between two values are one
// View; an address of that View is a linear function of the length, so that the two traces give each step of the View
// as `each * length + rest`: with that the View of any number of positions is known. An ASSOCIATIVE_SCAN along the
// positions is read as a loop (stream_scans.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "strata/graph/lazy_op.h"
#include "strata/graph/step_graph.h"

namespace strata::stream {

/// Marks a value that does not depend on the input of the stream.
inline constexpr std::size_t kFixed = static_cast<std::size_t>(-1);

/// A number of elements that grows with the number of positions: each * positions + rest.
struct Linear {
  std::int64_t each = 0, rest = 0;
};

/// How a value reads another one: index i of `shape` is the element offset + sum of steps[k] * i[k] of the base.
/// Position t along `axis` reads the positions rate * t + low to rate * t + high of the base.
struct Read {
  std::size_t base = kFixed;    ///< number of a Place, or kFixed
  std::optional<LazyOp> fixed;  ///< the base, where it does not depend on the input; of one element for each position
  Ints shape;                   ///< of the reading index; the size of `axis` is that of the example
  std::size_t axis = 0;
  bool grows = false;  ///< whether `shape` has an axis of positions
  std::vector<Linear> steps;
  Linear offset;
  std::int64_t rate = 1, low = 0, high = 0;
  std::int64_t count = 0, longer_count = 0;  ///< positions along `axis` for the example, and at twice its length
  std::int64_t cut = 0;                      ///< positions that the base has by then and that are not read: a delay
  std::int64_t masked = 0;  ///< where the base is fixed: how many positions in front have other elements than `fixed`
  std::optional<LazyOp> front = {};  ///< these positions
};

/// A value that depends on the input: of a node, of all outputs of a loop, or of joined parts.
struct Place {
  enum class Kind { input, node, pad, loop, parts, behind, result };
  Kind kind = Kind::node;
  LazyOp node;  ///< of the trace at the length of the example
  Ints shape;   ///< of the value, which is the node's memory in that shape
  std::size_t axis = 0;
  std::int64_t lead = 0;  ///< positions in front that the input has no part in: of pad and behind
  std::vector<Read> reads;
  std::string name;
  std::int64_t least = 0, most = 0;  ///< positions of the ring, the fewest and the most behind the start

  std::int64_t before() const;  ///< elements in front of the axis
  std::int64_t each() const;    ///< elements of one position behind the axis
};

/// The values of a function in the order of their computation: the input first, the result last.
struct Plan {
  std::vector<Place> places;

  /// By place: how many positions are known when `given` positions of the input are.
  std::vector<std::int64_t> known(std::int64_t given) const;
  /// By place: the first position that is still read when known() is `known`; at most known[k]. Positions below 0 are
  /// zeros.
  std::vector<std::int64_t> needed(const std::vector<std::int64_t>& known) const;
  /// The smallest block behind the start that leaves each ring as long as it was; blocks of multiples do, too.
  std::int64_t period() const;
};

/// Makes the plan. @param longer, longer_input: the result and the input of the second trace
/// @throws Error (domain) with the reason where the result cannot be computed block by block
Plan plan_of(const LazyOp& result, const LazyOp& input, const LazyOp& longer, const LazyOp& longer_input,
             std::size_t axis);

/// The elements that `read` describes for `count` positions from `from` on, of `buffer`: positions of the base from
/// `begin` on.
LazyOp elements_of(const Read& read, const Place* base, const LazyOp& buffer, std::int64_t begin, std::int64_t from,
                   std::int64_t count);

}  // namespace strata::stream
