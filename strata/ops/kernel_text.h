// The text form of kernels: parse_kernel() reads a small language, with the operators and functions of Tensors, into a
// kernel (a SINK of LazyOps). The command-line tools, Python and the tests use it.
//
//   n: 1..100
//   a: f32[n,512]; b: f32[512,64]
//   scale: f32
//   c = relu(a @ b) * scale
// Statements end at `;` orat the end of a line (outside of brackets).
//   n: 1..100             a variable with inclusive bounds; in expressions its value, i32 or i64
//   a: f32[n+1, 512]      an input: dtype and sizes, which are expressions over variables declared earlier; without
//                         [...] a scalar
//   c = EXPRESSION        names a tensor. A name that no other statement uses is an output. If `c` is an input, the
//                         value is stored to the buffer of `c`, and later statements read the new value
// Buffers: outputs are slots 0, 1, ... in order of assignment; inputs follow in order of declaration.
//
// Operators, from lowest to highest precedence, as in NumPy:
//   < <= > >= == !=                 do not chain
//   |   ^   &   << >>               of integers and bools
//   + -   * / // % @                / of integers gives f32; // and % round down; @ is matmul
//   - + ~                           prefix
//   **                              right-associative; powers with a small whole number are products
//   x.method(...)  f(...)  (...)  1  0x1F  2.5e-3  True False inf nan
//
// Shapes broadcast, aligned at the right. Dtypes are promoted as those of Tensors: a number takes the dtype of the
// other operand, but a float beside integers gives f32, and an integer beside bools i64. An integer that the other
// operand's integer dtype does not hold is refused. Numbers alone are bool, i32 or f32.
//
//   functions   each elementwise row of the table of operations, under all of its names: exp(a) hypot(a,b) sigmoid(a)
//               ...; each elementwise op of ir/ops.def in lower case: recip(a) mulacc(a,b,c) ...; where(c,a,b)
//               max(a,b,...) min(a,b,...) gelu(a) matmul(a,b); gather(table,i): table[...,i[...]], 0 where i is
//               outside; f16(x), x.cast(f16), x.bitcast(i32); iota(n), full(shape, value)
//   movement    reshape(2,3) permute(1,0) expand(4,3) pad(1:0,0:2) shrink(0:2,:) flip(0) stride(2,-1); x.T, the
//               transpose of a matrix
//   reductions  sum prod max min mean: (axes), or () for all axes; reduced axes stay with size 1; negative axes count
//               from the end. softmax(axis)
// A function may also be written as a method of its first operand: exp(x) is x.exp(), sum(x, 1) is x.sum(1). NOTE:
// max(a, b) is the elementwise maximum, a.max(1) is the reduction. Functions and operators build the same nodes as
// those of Tensors: e.g. `%` of floats is exact and has the sign of the divisor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// The most bytes that a text may have.
inline constexpr std::size_t kMostKernelText = std::size_t{1} << 20;

/// A parsed text: the kernel and the names in the text.
struct KernelText {
  LazyOp kernel;                    ///< a SINK
  std::vector<std::string> names;   ///< of the buffers, by slot
  std::vector<Variable> variables;  ///< in order of declaration
};

/// Parses `text` into a kernel. Does not recurse; any byte string may be passed.
/// @throws Error with the column in `text`: (parse) naming what was expected; (shape, domain, overflow) naming the
///   operation; (budget) for a text longer than kMostKernelText, too many variables or buffers, too deep nesting, or
///   too many operations on shapes of many dimensions
KernelText parse_kernel(std::string_view text);

}  // namespace strata
