// PACK: copies the elements of a buffer that a kernel loads to memory of their own, in the order of their use. A kernel
// that runs first packs them; where the buffer does not change, e.g. the weights of a network, the packed elements can
// be kept for later runs (engine/recording.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// The kernels that replace a kernel with a packed buffer.
struct PackedKernels {
  LazyOp first;   ///< the kernel that packs
  LazyOp rest;    ///< the kernel, which loads the packed elements
  int temporary;  ///< the slot of the packed elements, behind all slots of the kernel
};

/// Packs buffer opt.slot in blocks of opt.amount elements along output axis opt.axis. A block has all elements that a
/// tile of as many outputs reads: the packed dimensions are, outermost first, the other output axes along which the
/// load moves, the blocks, the reduce axes, and the elements of a block. What the last block has beyond the axis is 0.
/// E.g. the matrix w[k][n] of a product with PACK 1 32 becomes w[n / 32][k][n % 32].
/// @throws Error (domain) naming the Opt and the reason where pack_refusal() has one, and unless
///   2 <= opt.amount <= 2^30; (overflow)
/// @param temporary the slot of the packed elements; -1: the one behind the kernel's
PackedKernels pack_buffer(const LazyOp& kernel, const Opt& opt, const Target& target, int temporary = -1);

/// A kernel without those that run first, and its axes.
struct RestKernel {
  LazyOp kernel;
  KernelAxes axes;
};
/// The kernel that PACKs and TRIMs, which are in front of the others in `opts`, leave.
/// @throws as pack_buffer(), trim() and KernelAxes::apply()
RestKernel rest_of(const LazyOp& kernel, std::span<const Opt> opts, const Target& target);

/// The reason why buffer `slot` cannot be packed along output axis `axis`; empty where it can. It can where the kernel
/// only reads it, by one LOAD that is linear in all axes and has neither conditions nor a symbolic size, which moves
/// along `axis`, and which reads no element twice.
std::string pack_refusal(const LazyOp& kernel, std::size_t axis, int slot, const Target& target);
/// The output axes along which pack_refusal() has no reason.
std::vector<std::size_t> pack_axes(const LazyOp& kernel, int slot, const Target& target);

}  // namespace strata
