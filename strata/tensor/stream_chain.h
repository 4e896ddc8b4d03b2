// What the plan of a stream (stream_plan.h) asks of the two graphs: names, axes that grow, and the movement ops above a
// value as a View. Internal to tensor/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata::stream {

/// The quotient, rounded down.
std::int64_t floor_of(std::int64_t a, std::int64_t b);
/// Size `k`. @throws Error (domain) for a symbolic one
std::int64_t number_at(const Ints& shape, std::size_t k);
/// The operation and source line of a node, or its op.
std::string place_name(const LazyOp& n);
/// The axis whose size differs; nothing where all sizes are equal.
/// @throws Error (domain) where several differ, or the rank
std::optional<std::size_t> growing_axis(const LazyOp& at, const Ints& a, const Ints& b);

/// The movement ops above a base, the top one first.
struct Chain {
  std::vector<LazyOp> moves;
  LazyOp base;
};
/// Nodes, and the values that are read in their place.
using Replacements = std::unordered_map<const LazyNode*, LazyOp>;
Chain chain_below(const LazyOp& top, bool through_pads, const Replacements& replaced);
/// The View of the chain over `st`, the View of its base.
ShapeTracker tracker_of(const Chain& chain, ShapeTracker st);
/// The only View. @throws Error (domain) naming `at` where there are several, or a mask
const View& single_view(const LazyOp& at, const ShapeTracker& st);

}  // namespace strata::stream
