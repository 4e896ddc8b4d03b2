// The order in which SUM and PROD of floats combine their elements. The order is a function of the sizes of the reduced
// axes alone, so that all devices, thread counts and loop transformations give the same bits. The interpreters and the
// kernel compiler follow it.
//
// The index along each reduced axis is split into digits (index // stride % count). A sum is a nest of sums, one for
// each digit, the outermost digit first; each of these sums starts at the identity and adds its terms in ascending
// order of the digit. Digits whose index is beyond the end of the axis are skipped. Axes of size 1 do not count. The
// trailing axes are the longest run of last axes, the first axis excluded, whose sizes have a product R <= 32 (a
// symbolic size ends the run); the main axis is the axis in front of them. With S = 32 // R and B = 128*S the digits
// are, outermost first:
//
//   axes in front of the main axis   ..., index // 64 % 8, index // 8 % 8, index % 8
//   main axis                        ..., index // 8B % 8, index // B % 8, index % 4, index // 4 % 4,
//                                    index // (16*S) % 8, index // 16 % S
//   trailing axes                    the index itself, added to the same accumulator as index // 16 % S of the main
//                                    axis
//
// A long row is therefore added up in 16 lanes (index % 16), while the elements of a small window are added to one
// accumulator. The longest chain of additions has at most 64 + log2(n) links for n elements, which bounds the error:
// (64 + log2(n)) * 2^-24 * sum(|x|) in f32. Where digits of 8 would make a longer chain (many axes or very many
// elements), the digits in front of `index % 4` are of 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/dtype/dtype.h"
#include "strata/ir/ops.h"
#include "strata/view/int.h"

namespace strata {

/// One digit of an index, index // stride % count: a level in the nest of sums.
struct SumDigit {
  std::size_t axis = 0;  ///< position among the reduced axes
  std::int64_t stride = 1;
  std::int64_t count = 1;  ///< at most ceil(size / stride)
  /// Adds its terms to the accumulator of the digit around it; false: starts a sum at the identity.
  bool continues = false;
  bool operator==(const SumDigit&) const = default;
};

/// Adjacent elements of the main axis that go to different sums: the two digits of 4.
constexpr std::int64_t kSumLanes = 16;
/// Most consecutive terms of one accumulator, R*S: trailing axes and index // 16 % S.
constexpr std::int64_t kSumRun = 32;

/// The digits for reduced axes of these sizes, outermost first; empty where each size is 1. Digits that would have one
/// value are left out. A symbolic size counts as its upper bound. {1000} gives index % 4, index // 4 % 4, index // 512
/// % 2, index // 16 % 32: 16 lanes with two sums each, of up to 32 elements that are 16 apart.
std::vector<SumDigit> sum_order(std::span<const Int> sizes);
/// The axis along which the `kSumLanes` lanes run in memory: the position in `sizes` of the main axis, if there are no
/// trailing axes behind it; else -1.
int lane_axis_of(std::span<const Int> sizes);
/// The lengths, descending, of parts into which `axis` can be split such that the sum over each part, computed as a
/// reduction of its own, has the order that it has inside of the whole sum. The last part may be shorter. Empty unless
/// `axis` is the first axis longer than 1 and its size is a number. E.g. {32768, 4096} for one axis of 100000, and none
/// for one of 1000: the first digit of that size is index % 4.
/// @post out[k] is a multiple of out[k+1]: the sum over a part of length out[k] adds the sums of out[k] / out[k+1]
///   consecutive parts of length out[k+1], starting at the identity
std::vector<std::int64_t> part_lengths(std::span<const Int> sizes, std::size_t axis);
/// The number of additions on the longest path from an element to the result; it bounds the rounding error.
std::int64_t longest_chain(std::span<const SumDigit> digits);

/// True iff `op` is a SUM or PROD of floats, whose order sum_order() defines.
bool is_ordered(Ops op, DType dtype);
/// The dtype in which a reduction accumulates: f32 for sums and products of 16-bit floats, which are rounded once, at
/// the end; else `dtype`.
DType accumulator_of(Ops op, DType dtype);

}  // namespace strata
