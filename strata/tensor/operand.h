// What an operation of tensors takes beside a tensor: a tensor or a number, and where the operation was written.
#pragma once

#include <source_location>
#include <type_traits>

#include "strata/ops/operand.h"

namespace strata {

class Tensor;

using At = std::source_location;

/// What stands beside a tensor in an operation, a tensor or a number, and where it was written. A parameter, never kept.
class Operand {
 public:
  Operand(const Tensor& tensor, At at = At::current()) : tensor_(&tensor), number_(0), at_(at) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T number, At at = At::current()) : number_(number), at_(at) {}
  Operand(const Number& number, At at = At::current()) : number_(number), at_(at) {}

  const Tensor* tensor() const { return tensor_; }  ///< null for a number
  const Number& number() const { return number_; }
  const At& at() const { return at_; }

 private:
  const Tensor* tensor_ = nullptr;
  Number number_;
  At at_;
};

}  // namespace strata
