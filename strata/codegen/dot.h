// DOT: products of bytes or bf16 that are added up, several at a time: by the op DOT4, on words of int32 that hold four
// bytes of the reduction each, or by DOT2, on words of two bf16. Kernels that run first make the words; those of a
// buffer that does not change, e.g. the weights of a network, can be kept for later runs, as packed elements (pack.h)
// are.
//
// DOT4 multiplies unsigned bytes by signed ones. Bytes a that are of the wrong kind become a ^ 128, which is a + 128
// for signed a, and a - 128 for unsigned a, read as the other kind:
//   sum(a * b) = sum((a + 128) * b) - 128 * sum(b)
// The sums of b are computed first, too. All is exact: integers modulo 2^32.
//
// Products of two bf16 are exact in f32, and DOT2 adds them in f32, within the error bound of ir/sum_order.h. But the
// instruction of processors (VDPBF16PS) takes and gives subnormal numbers as 0. Kernels that run first therefore find
// the least exponents e, f of the elements of either buffer that are not 0. No element being subnormal, elements are
// multiples of 2^(e-7) and 2^(f-7), so products are multiples of u = 2^(e+f-14), and so are all sums of them, since
// rounding in f32 keeps multiples of a power of two. What is a multiple of u and not 0 is at least u: with u >= 2^-126
// the instruction meets no subnormal number, and infinities and NaN are treated as by other instructions. The kernel
// that runs in all other cases computes DOT2 from its products; the one with the instruction is Kernel::of_normals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// The kernels that replace a kernel with products of bytes or bf16.
struct DotKernels {
  std::vector<LazyOp> of_weights;  ///< kernels to run first, which read buffer opt.amount alone
  LazyOp of_values;                ///< a kernel to run first, which reads the other buffer
  LazyOp rest;                     ///< the kernel, on words
  int words = 0;                   ///< the slot of the words of buffer opt.amount
  std::vector<int> temporaries;    ///< all slots that the kernels pass on, behind all slots of the kernel, in order
  /// For bf16, if the target has DOT2 of normal numbers: the least magnitudes of either buffer for are_normal(). They
  /// are to be stored behind all other temporaries, whose slots do not depend on the target then.
  std::vector<LazyOp> least;
};

/// Rewrites the sum of products over reduce axis opt.axis. Words hold four bytes or two bf16 along that axis, the first
/// in the lowest bits; what the last word has beyond the axis is 0. Words of buffer opt.amount lie
/// in memory as its elements do: w[k][n] becomes words[k / 4][n], and w[n][k] words[n][k / 4]; the others lie in the
/// order of the axes.
/// @throws Error (domain) naming the Opt and the reason where dot_refusal() has one
DotKernels dot_products(const LazyOp& kernel, const Opt& opt, const Target& target);

/// The reason why DOT cannot be applied to reduce axis `axis` with the sums of buffer `slot`; empty where it can. It
/// can where the only reduction of the kernel is a SUM of products of an element of buffer `slot` and one of another
/// buffer, in int32 and both of int8 or uint8, or in f32 and both of bf16, where PACK (pack.h) could pack both (of
/// bytes also where windows read an element several times), and both move along all reduce axes longer than 1. Sums of
/// f32 need a target that reassociates.
std::string dot_refusal(const LazyOp& kernel, std::size_t axis, int slot, const Target& target);

/// The DOT that pays, if the target has the op: along a long axis, where each element is used often, or is kept
/// (`kept`, as of heuristic_opts()).
std::optional<Opt> worthwhile_dot(const LazyOp& kernel, const Target& target, std::span<const int> kept);

/// True iff no element of two buffers of bf16, no product of one of each, and no sum of such products is subnormal
/// (above). `a` and `b` are the least of bits % 2^15 - 1 of their elements, modulo 2^16.
bool are_normal(std::uint16_t a, std::uint16_t b);

}  // namespace strata
