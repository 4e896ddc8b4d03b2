// DOT: products of bytes that are added up, four at a time: by the op DOT4, on words of int32 that hold four bytes of
// the reduction each. Kernels that run first make the words; those of a buffer that does not change, e.g. the weights
// of a network, can be kept for later runs, as packed elements (pack.h) are.
//
// DOT4 multiplies unsigned bytes by signed ones. Bytes a that are of the wrong kind become a ^ 128, which is a + 128
// for signed a, and a - 128 for unsigned a, read as the other kind:
//   sum(a * b) = sum((a + 128) * b) - 128 * sum(b)
// The sums of b are computed first, too. All is exact: integers modulo 2^32.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// The kernels that replace a kernel with products of bytes.
struct DotKernels {
  std::vector<LazyOp> of_weights;  ///< kernels to run first, which read buffer opt.amount alone
  LazyOp of_values;                ///< a kernel to run first, which reads the other buffer
  LazyOp rest;                     ///< the kernel, on words
  int words = 0;                   ///< the slot of the words of buffer opt.amount
  std::vector<int> temporaries;    ///< all slots that the kernels pass on, behind all slots of the kernel, in order
};

/// Rewrites the sum of products over reduce axis opt.axis. Words hold four bytes along that axis, the first in the
/// lowest bits; what the last word has beyond the axis is 0. Words lie in the order of the axes; if the bytes of buffer
/// opt.amount are neighbours along another axis, that one is innermost: w[k][n] becomes words[k / 4][n], and w[n][k]
/// words[n][k / 4].
/// @throws Error (domain) naming the Opt and the reason where dot_refusal() has one
DotKernels dot_products(const LazyOp& kernel, const Opt& opt, const Target& target);

/// The reason why DOT cannot be applied to reduce axis `axis` with the sums of buffer `slot`; empty where it can. It
/// can where the only reduction of the kernel is a SUM in int32 of products of an element of buffer `slot` and one of
/// another buffer, both of int8 or uint8, where PACK (pack.h) could pack both, and both move along all reduce axes
/// longer than 1.
std::string dot_refusal(const LazyOp& kernel, std::size_t axis, int slot, const Target& target);

/// The DOT that pays, if the target has DOT4: along a long axis, where each byte is used often, or is kept (`kept`, as
/// of heuristic_opts()).
std::optional<Opt> worthwhile_dot(const LazyOp& kernel, const Target& target, std::span<const int> kept);

}  // namespace strata
