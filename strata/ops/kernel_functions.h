// What the words of a kernel's text make of their operands: functions between elements, movement, reductions. Internal to
// ops/; kernel_text.h says what each means.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata::kernel_words {

/// A tensor, or a number that has no dtype yet: i64, f64 or bool.
struct TextOperand {
  std::optional<LazyOp> tensor;
  Scalar number;

  TextOperand() = default;
  TextOperand(LazyOp x) : tensor(std::move(x)) {}
  TextOperand(const Scalar& n) : number(n) {}
  std::size_t rank() const { return tensor ? tensor->shape().size() : 0; }
};
using Operands = std::span<const TextOperand>;

/// A size, axis or step; or a pair `first:second`, of which either may be left out.
struct SizeItem {
  std::optional<Int> first, second;
  bool is_pair = false;
};
using SizeItems = std::vector<SizeItem>;

/// A function of values: how many it takes.
struct Arity {
  std::size_t least, most;
};
/// Nothing where there is no such function.
std::optional<Arity> function_arity(std::string_view name);
/// @pre function_arity(name) holds the number of operands  @throws what LazyOp's functions throw; (shape) where shapes do
///   not broadcast, (domain) where a number is none of the other operand's dtype
TextOperand apply_function(std::string_view name, Operands operands);

/// True iff `name` is a movement or a reduction: a function of a tensor and sizes.
bool is_method(std::string_view name);
/// @pre is_method(name)  @throws Error (parse) for items of another form, and what LazyOp's functions throw
LazyOp apply_method(std::string_view name, const LazyOp& x, const SizeItems& items);

/// The sizes of a shape. @throws Error (parse) for a pair
Ints to_sizes(std::string_view name, const SizeItems& items);

/// `x` as a tensor: a number becomes one without dimensions, of bool, i32 (i64 where it does not fit) or f32.
LazyOp as_tensor(const TextOperand& x);
/// `x` in this shape; sizes from the right, missing ones and 1 repeat.
/// @throws Error (shape) in the name of `operation`
LazyOp broadcast(std::string_view operation, const LazyOp& x, const Ints& shape);
/// `x` in this dtype and shape, as the value of a buffer or of full(). @throws as above; (domain) for a tensor of another dtype
LazyOp fitted(std::string_view operation, const TextOperand& x, DType dtype, const Ints& shape);
/// The value of a variable, i32 or i64, without dimensions.
LazyOp value_of(const Variable& v);

}  // namespace strata::kernel_words
