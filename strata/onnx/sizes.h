// Sizes that are known as expressions of bound variables: the integers of Shape, and what models compute of them. Such
// an integer is a tensor, too, so that every operator takes it; operators that compute shapes keep the expressions.
#pragma once

#include <optional>
#include <vector>

#include "strata/onnx/call.h"

namespace strata::onnx {

/// Integers in row-major order, each a number or an expression.
struct SizedIntegers {
  Sizes shape;
  std::vector<Int> elements;
  DType dtype;
};

/// A value of these integers: on the host where all are numbers, else a tensor on `device` with its expressions.
Datum integers_datum(const Device& device, const SizedIntegers& integers);

/// The results of an operator on integers that are known as expressions; nothing where the operator is none of those
/// that keep them, or an answer depends on the values: then it runs on the tensors.
std::optional<Results> on_sizes(const Call& call, const Definition& model);

/// The size of an axis. @throws Error (shape) naming the shape, for a symbolic one
std::int64_t number_of_size(const Tensor& x, std::int64_t axis);

}  // namespace strata::onnx
