// Decisions about stacks of Views: equality, injectivity, contiguity, fingerprints, tables of addresses.
//
// For numbers every answer is exact within a work budget; where the budget ends, the answer is `Answer::unknown` or an
// Error (budget). For symbolic sizes, `yes` and `no` hold for every value of the variables; anything not shown is
// `unknown`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/view/shape_tracker.h"

namespace strata {

/// An answer about a stack of Views.
struct StackProof {
  Answer answer = Answer::unknown;
  std::optional<Index> witness;  ///< an index that shows a `no`, where one exists
};

/// The work limit for the comparison of two stacks of numbers, in the unit of Pieces (piecewise.h).
inline constexpr std::uint64_t kEqualBudget = std::uint64_t{1} << 23;

/// Do `a` and `b` have the same shape and the same index function? The witness of a `no` is an index at which address
/// or validity differ; there is none when the shapes differ.
StackProof equal(const ShapeTracker& a, const ShapeTracker& b, std::uint64_t budget = kEqualBudget);

/// A hash of the meaning: equal functions have equal fingerprints, whatever their spelling. Different ones of the same
/// shape collide with probability below (sum of sizes + 1) / 2^61 over `seed`. The value is, modulo 2^61 - 1,
///   sum over valid i of (u * address(i) + 1) * prod over j of x_j^i_j   with u and all x_j drawn from `seed`.
/// Addresses are thus compared modulo 2^61 - 1. The shape itself is not hashed.
/// @throws Error (undefined) for symbolic sizes; (budget).
std::uint64_t fingerprint(const ShapeTracker& st, std::uint64_t seed = 0);

/// Do different valid indices have different addresses? The witness of a `no` is one of two indices that share an
/// address.
StackProof is_injective(const ShapeTracker& st);
/// Is every index valid and its address its row-major number, however the stack is written? The witness of a `no` is an
/// index for which this is false.
StackProof is_contiguous(const ShapeTracker& st);

/// The addresses of all indices in row-major order, `invalid` in place of an invalid index.
/// @throws Error (budget) above `most` indices; (undefined) for symbolic sizes.
std::vector<std::int64_t> addresses(const ShapeTracker& st, std::int64_t most = std::int64_t{1} << 24,
                                    std::int64_t invalid = -1);

}  // namespace strata
