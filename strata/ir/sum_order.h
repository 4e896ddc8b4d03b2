// The order in which SUM and PROD of floats add up: a function of the sizes of the reduced axes alone.
//
// An index of each reduced axis is cut into digits, and a sum is a nest of sums over digits, each from the identity on, one value
// after another. An index that an axis does not have is left out. With R the product of the last axes that are together no longer
// than 32 (the first axis is never one of them; a symbolic size is longer), and the axis in front of them the main one:
//
//   axis in front of the main one   ..., index // 64 % 8, index // 8 % 8, index % 8, outermost first
//   main axis                       ..., index // 8B % 8, index // B % 8; then, of what is left, index % 4, index // 4 % 4,
//                                   index // (16*S) % 8, index // 16 % S, where S is 32 // R and B is 128*S
//   last axes                       the index itself, into the same sum as index // 16 % S of the main axis
//
// So a row is added up in sixteen lanes, and a product or a window by one accumulator after another. The longest chain of additions
// is at most 64 + log2(n) long, and with it the error: (64 + log2(n)) * 2^-24 * sum(|x|) in f32. Where digits of 8 would make it
// longer (very many axes, or elements), those in front of `index % 4` are binary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/dtype/dtype.h"
#include "strata/ir/ops.h"
#include "strata/view/int.h"

namespace strata {

/// A digit of an index, index // stride % count, and where its sum goes.
struct SumDigit {
  std::size_t axis = 0;  ///< among the reduced ones
  std::int64_t stride = 1;
  std::int64_t count = 1;  ///< not more than the axis has
  bool continues = false;  ///< into the sum of the digit around it; else its sum begins at the identity
  bool operator==(const SumDigit&) const = default;
};

constexpr std::int64_t kSumLanes =
    16;  ///< elements of the main axis that are next to one another go into as many sums
constexpr std::int64_t kSumRun = 32;  ///< elements at most that go into one accumulator, one after another

/// The digits for reduced axes of these sizes, outermost first; none where each size is 1. A symbolic size counts as the largest
/// that it may be.
std::vector<SumDigit> sum_order(std::span<const Int> sizes);
/// The axis that `kSumLanes` lanes may run along: the last one, where it is the main axis; nothing else has its elements there.
/// Sizes of 1 aside; -1 where there is none.
int lane_axis_of(std::span<const Int> sizes);
/// What the sum over axis `axis` is made of: lengths, descending, of parts of the axis such that each part is added up in the order
/// that it has alone. The last part may be shorter. Empty unless `axis` is the first one that is longer than 1, of a size that is a
/// number.
/// @post the sums of the parts are added up digit by digit: as many as `out[k] / out[k+1]` for the next length, each from the
///   identity on
std::vector<std::int64_t> part_lengths(std::span<const Int> sizes, std::size_t axis);
/// The longest chain of additions that an element goes through.
std::int64_t longest_chain(std::span<const SumDigit> digits);

/// True iff `op` adds up or multiplies floats: what sum_order() is for.
bool is_ordered(Ops op, DType dtype);
/// What a reduction is accumulated in: f32 for sums and products of 16-bit floats, which are rounded once, at the end.
DType accumulator_of(Ops op, DType dtype);

}  // namespace strata
