// The functions and methods of the text form of kernels: elementwise functions, movement and reductions, as LazyOps.
// kernel_text.h documents their meaning. Internal to ops/.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata::kernel_words {

/// A tensor, or a number whose dtype is not decided yet (held as i64, f64 or bool). Value() is the number false.
struct TextOperand {
  std::optional<LazyOp> tensor;
  Scalar number;

  TextOperand() = default;
  TextOperand(LazyOp x) : tensor(std::move(x)) {}
  TextOperand(const Scalar& n) : number(n) {}
  std::size_t rank() const { return tensor ? tensor->shape().size() : 0; }
};
using Operands = std::span<const TextOperand>;

/// An item in the brackets of a method: a size, axis or step in `first`; or a pair `first:second`, either of which may
/// be absent, e.g. in `shrink(0:2, 1:, :)`. An absent bound of shrink() is 0 or the size; the other methods refuse
/// absent parts.
struct SizeItem {
  std::optional<Int> first, second;
  bool is_pair = false;
};
using SizeItems = std::vector<SizeItem>;

/// The number of operands that a function takes: from `least` to `most`, e.g. {2, 2} for add; {2, SIZE_MAX} for max.
struct Arity {
  std::size_t least, most;
};
/// The arity of the function `name`; nothing where there is no such function.
std::optional<Arity> function_arity(std::string_view name);
/// Applies the function `name`. Operands broadcast, and dtypes are promoted as those of Tensors (ops::promoted_dtype).
/// Of numbers alone the result is a number, computed at once in i64, f64 or bool.
/// @pre the number of operands is within function_arity(name)
/// @throws Error as the operation of that name in ops/; (shape) where shapes do not broadcast, (domain) where tensors
///   have an integer or bool dtype that does not hold a number exactly, e.g. 0.5, or 300 for u8
TextOperand apply_function(std::string_view name, Operands operands);

/// True iff `name` is a movement or a reduction: a function of a tensor and sizes.
bool is_method(std::string_view name);
/// Applies the movement or reduction `name` to `x`. Negative axes count from the end. Reduced axes stay with size 1;
/// without items all axes are reduced. sum() and prod() keep the dtype of integers, unlike those of Tensors. @pre
/// is_method(name)
/// @throws Error (parse) for items that the method does not take, (shape) for an axis out of range; as LazyOp's
/// functions
LazyOp apply_method(std::string_view name, const LazyOp& x, const SizeItems& items);

/// The items as sizes. @throws Error (parse), naming the method `name`, for a pair or an absent size
Ints to_sizes(std::string_view name, const SizeItems& items);

/// `x` as a tensor: a number becomes a scalar tensor of bool, f32, or i32 (i64 where i32 cannot hold it).
LazyOp as_tensor(const TextOperand& x);
/// `x` broadcast to `shape`, aligned at the right, e.g. (3, 1) to (2, 3, 4). @throws Error (shape) naming `operation`
LazyOp broadcast(std::string_view operation, const LazyOp& x, const Ints& shape);
/// `x` in this dtype and shape, as the value stored to a buffer or the value of full(). @throws Error (shape) as
/// broadcast(); (domain) for a tensor of another dtype, or a number that an integer or bool `dtype` does not hold
/// exactly
LazyOp fitted(std::string_view operation, const TextOperand& x, DType dtype, const Ints& shape);
/// The value of a variable as a scalar tensor: i32 where the bounds fit, else i64.
LazyOp value_of(const Variable& v);

}  // namespace strata::kernel_words
