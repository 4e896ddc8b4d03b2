// What can be decided about stacks of Views: equality, fingerprints, injectivity.
//
// All are exact for numbers, within a work budget: `Answer::unknown` (or Error (budget)) where it ends. For symbolic
// sizes an answer holds for every value, and is unknown where that is not shown.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/view/shape_tracker.h"

namespace strata {

/// An answer about a stack of Views.
struct StackProof {
  Answer answer = Answer::unknown;
  std::optional<Index> witness;  ///< what `no` rests on, where it is an index
};

/// Steps of work that comparing two stacks of numbers may take before it ends in `unknown`.
inline constexpr std::uint64_t kEqualBudget = std::uint64_t{1} << 23;

/// Do `a` and `b` have the same shape and the same index function? Witness: an index where address or validity differ
/// (none where the shapes do).
StackProof equal(const ShapeTracker& a, const ShapeTracker& b, std::uint64_t budget = kEqualBudget);

/// A number that stacks of one meaning share whatever their spelling, and that others share with probability below
/// (sum of sizes + 1) / 2^61 over `seed`: sum over valid i of (u * address(i) + 1) * prod x_j^i_j, modulo 2^61 - 1.
/// (Addresses that differ by a multiple of 2^61 - 1 count as one.) It does not depend on the shape alone.
/// @throws Error (undefined) for symbolic sizes, (budget)
std::uint64_t fingerprint(const ShapeTracker& st, std::uint64_t seed = 0);

/// Do different valid indices have different addresses?  Witness: one of two indices with one address.
StackProof is_injective(const ShapeTracker& st);
/// Is the address of each index its row-major number, and every index valid (however the stack is written)? Witness: an
/// index where it is not.
StackProof is_contiguous(const ShapeTracker& st);

/// The addresses in row-major order of indices, `invalid` for an invalid one.
/// @throws Error (budget) above `most` indices, (undefined) for symbolic sizes
std::vector<std::int64_t> addresses(const ShapeTracker& st, std::int64_t most = std::int64_t{1} << 24,
                                    std::int64_t invalid = -1);

}  // namespace strata
