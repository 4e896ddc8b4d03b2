// put_in_place(): x[subscripts] = value, in the memory of x where nobody else sees it.
#pragma once

#include <span>

#include "strata/tensor/tensor.h"

namespace strata {

/// Sets the elements of `x` that the subscripts select to `value`, which broadcasts, as `x.assign(x.index_put(...))`
/// does. Other tensors, also views of x and results that were computed from it, keep the old elements. Where the
/// subscripts are integers, slices, an ellipsis or new axes, the write happens at once and compiles nothing: `x` and
/// `value` are computed, and the elements are copied into the memory of x; where others see that memory, x gets a copy
/// of it first. What a capture (jit.h) calls, tensors that take part in gradients, and bools in memory of other
/// libraries are written by a graph. One thread at a time writes a tensor.
/// @throws Error as index_put(), and (domain) for a parameter outside of NoGrad
void put_in_place(const Tensor& x, std::span<const Subscript> subscripts, const Operand& value);
/// Computes what put_in_place() would compute before it writes at once. A caller that holds a lock which others need
/// meanwhile calls it without the lock.
void compute_before_write(const Tensor& x, std::span<const Subscript> subscripts, const Operand& value);
inline void put_in_place(const Tensor& x, std::initializer_list<Subscript> subscripts, const Operand& value) {
  put_in_place(x, {subscripts.begin(), subscripts.size()}, value);
}

}  // namespace strata
