// Operand: the parameter type of operations on tensors that also accept a number, e.g. `x + 1` and `x + y`. An Operand
// also records the source line of the call, because operators have no parameter for one.
#pragma once

#include <source_location>
#include <type_traits>

#include "strata/ops/operand.h"

namespace strata {

class Tensor;

using At = std::source_location;

/// A tensor or a number, with the source line of the call. Points to the tensor: a parameter type, never stored.
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
