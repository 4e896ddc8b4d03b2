// Value: a graph node with the operations of the table as methods. All formulas of operations are written with Values.
//
//   Value softsign(const Value& x) { return x / (1 + x.abs()); }
//
// A Value is a LazyOp whose methods promote dtypes, broadcast shapes and accept numbers, as the methods of a Tensor do.
// A Value has no memory and no device, and nothing runs. Tensors (tensor/) and the text form of kernels (kernel_text.h)
// call these formulas with their nodes. Names, broadcasting, dtypes and edge cases are PyTorch's. Negative axes count
// from the end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/graph/lazy_op.h"
#include "strata/ops/operand.h"
#include "strata/ops/options.h"
#include "strata/ops/parameters.h"

namespace strata::ops {

class Value;

/// A Value or a number: the parameter type of operations that accept both. Points to the Value; never stored.
class Operand {
 public:
  Operand(const Value& value) : value_(&value), number_(0) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T number) : number_(number) {}
  Operand(const Number& number) : number_(number) {}

  const Value* value() const { return value_; }  ///< null for a number
  const Number& number() const { return number_; }

 private:
  const Value* value_ = nullptr;
  Number number_;
};

// The binary operations as functions, so that the first operand may be a number, too: sub(1, x).
#define STRATA_BINARY(name, ...) Value name(const Operand& a, const Operand& b);
#include "strata/ops/operations.def"

#define STRATA_ARRAY Value
#define STRATA_OPERAND Operand

/// A node of a graph with the operations of the table as methods.
class Value {
 public:
  Value(LazyOp node) : node_(std::move(node)) {}  // NOTE: implicit, a formula may end in a LazyOp
  const LazyOp& node() const { return node_; }
  operator const LazyOp&() const { return node_; }

  const Ints& shape() const { return node_.shape(); }
  std::int64_t ndim() const { return static_cast<std::int64_t>(shape().size()); }
  /// @throws Error (shape) for an axis outside of [-ndim(), ndim())
  const Int& size(std::int64_t axis) const;
  Int numel() const { return product(shape()); }
  DType dtype() const { return node_.dtype(); }
  std::size_t itemsize() const { return dtype().itemsize(); }
  /// True iff gradients can be taken through the Value: see LazyOp::is_tracked().
  bool is_tracked() const { return node_.is_tracked(); }
  /// The same elements, blocking gradients.
  Value detach() const { return node_.detached(); }
  /// The same elements, materialized: row-major in memory of their own.
  Value contiguous() const { return node_.contiguous(); }
  /// A constant table in host memory, row-major, copied from `elements`.
  static Value from(std::span<const std::int64_t> elements, const Ints& shape);
  static Value from(std::span<const double> elements, const Ints& shape);
  /// An integer as an i64 scalar of shape ().
  static Value of(const Expr& integer);

#define STRATA_UNARY(name, ...) Value name() const;
#define STRATA_BINARY(name, ...) \
  Value name(const Operand& other) const { return ops::name(*this, other); }
#define STRATA_METHOD(result, name, parameters, ...) STRATA_RESULT(result) name(STRATA_DECLARED(parameters)) const;
#define STRATA_STATIC(result, name, parameters, ...) static STRATA_RESULT(result) name(STRATA_DECLARED(parameters));
#include "strata/ops/operations.def"

 private:
  LazyOp node_;
};

#define STRATA_OPERATOR(symbol, name) \
  inline Value operator symbol(const Operand& a, const Operand& b) { return name(a, b); }
#include "strata/ops/operations.def"
inline Value operator-(const Value& a) { return a.neg(); }
inline Value operator~(const Value& a) { return a.bitwise_not(); }

#undef STRATA_ARRAY
#undef STRATA_OPERAND

}  // namespace strata::ops
