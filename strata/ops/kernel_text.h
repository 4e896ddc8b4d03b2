// The text form of kernels:
//
//   n: 1..100
//   a: f32[n,512]; b: f32[512,64]
//   scale: f32
//   c = relu(a @ b) * scale
//
// Statements end at `;` or at the end of a line (outside of brackets).
//   n: 1..100             a variable and its inclusive bounds; in expressions its value, i32 or i64
//   a: f32[n+1, 512]      an input: dtype and sizes, which are expressions over the variables before; without [...] one value
//   c = EXPRESSION        a name for a tensor. A name that no other statement uses is an output. Where `c` is an input, the
//                         value is stored into it, and is what `c` stands for in what follows
// Buffers: outputs are slots 0, 1, ... in order of assignment; inputs follow in order of declaration.
//
// Expressions, from loose to tight, as NumPy has them:
//   < <= > >= == !=                 do not chain
//   |   ^   &   << >>               of integers and bools
//   + -   * / // % @                / of integers is in f32; // and % floor; @ is matmul
//   - + ~                           prefix
//   **                              right to left; small whole powers of numbers are products
//   x.method(...)  f(...)  (...)  1  0x1F  2.5e-3  True False inf nan
//
// Shapes broadcast from the right (EXPAND); dtypes are promoted as `promote` says; a number takes the dtype of the other operand, and
// is bool, i32 or f32 where there is none.
//   functions   each row of the table of operations that works element by element, under all of its names: exp(a) hypot(a,b) sigmoid(a)
//               ...; each op between elements of ir/ops.def in lower case: recip(a) mulacc(a,b,c) ...; where(c,a,b) max(a,b,...)
//               min(a,b,...) gelu(a) matmul(a,b); gather(table,i): table[...,i[...]], 0 where i is outside; f16(x), x.cast(f16),
//               x.bitcast(i32); iota(n), full(shape, value)
//   movement    reshape(2,3) permute(1,0) expand(4,3) pad(1:0,0:2) shrink(0:2,:) flip(0) stride(2,-1)
//   reductions  sum prod max min mean: (axes), or () for all; axes are kept, of size 1; below 0 from the end. softmax(axis)
// Each may follow its first operand: exp(x) is x.exp(), sum(x, 1) is x.sum(1); but max(a, b) is no reduction, and a.max(1) is one.
// Functions and operators are those of Tensors, node for node: `%` of floats is exact and has the sign of the divisor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// Bytes of a kernel's text.
inline constexpr std::size_t kMostKernelText = std::size_t{1} << 20;

/// What a text says: a kernel, with the names in it.
struct KernelText {
  LazyOp kernel;                    ///< a SINK
  std::vector<std::string> names;   ///< of the buffers, by slot
  std::vector<Variable> variables;  ///< in order of declaration
};

/// The kernel that `text` says. No recursion; any byte string is legal input.
/// @throws Error with the column in `text`: (parse) with what was expected; (shape, domain, overflow) naming the operation;
///   (budget) for a text or nesting that is too large, or shapes with too many dimensions for it
KernelText parse_kernel(std::string_view text);

}  // namespace strata
