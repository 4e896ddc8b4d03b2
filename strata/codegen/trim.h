// TRIM: the loop of a reduction leaves out iterations whose terms are 0 because a PAD is 0 there, such as the rows of
// windows that reach beyond an image. A term is the product of an element below the PAD and one of another buffer. It
// is 0 only where the other factor is finite, so a kernel that runs first finds whether all elements of that buffer
// are; where one is not, all iterations run. Sums are bit by bit those of all iterations: a sum begins with +0, to
// which terms of +0 and -0 add nothing.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/axes.h"

namespace strata {

/// The reason why TRIM cannot leave out iterations of reduce axis `axis` by buffer `slot`; empty where it can. It can
/// where the only reduction of a kernel with one store is a SUM of floats, whose terms are products of an element of
/// the buffer and one of another buffer with a PAD, inside of which an iteration is by conditions on the axis and
/// output axes alone.
std::string trim_refusal(const LazyOp& kernel, std::size_t axis, int slot);

/// The iterations that the TRIM `opt` of `kernel` leaves, where buffer `finite` says that its buffer is finite.
/// @throws Error (domain) naming the Opt and the reason where trim_refusal() has one
Trim trim(const LazyOp& kernel, const Opt& opt, int finite);

/// A TRIM that leaves out iterations, wherever the loop over output axis `output` is around it.
struct TrimChoice {
  Opt opt;
  std::size_t output;
  double share;  ///< of the iterations that are left, in the mean over the output axis
  double bytes;  ///< of the elements that are to be finite
};
/// The TRIMs of `kernel` by buffers `slots` whose bounds depend on one output axis, of known size, and whose elements
/// are neighbours in memory.
/// @param axes those of the kernel after MERGEs, which `output` counts in
std::vector<TrimChoice> trims_of(const LazyOp& kernel, const KernelAxes& axes, std::span<const int> slots);

/// The kernel that stores in buffer `finite`, one int32, whether the elements are finite that the terms of `kernel`
/// have of the buffer of the TRIM `opt`: 1 or 0. @throws as trim()
LazyOp finite_kernel(const LazyOp& kernel, const Opt& opt, int finite);
/// The same for the elements of `load`, a LOAD of floats; with `is_moderate`, whether they are less than 1e12 in
/// magnitude, too.
LazyOp finite_kernel(const LazyOp& load, int finite, bool is_moderate = false);

}  // namespace strata
