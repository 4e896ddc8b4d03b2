// Datum: a value that flows through an ONNX model. Most are tensors; texts (ONNX's string tensors), sequences and an
// empty optional live in the memory of the host.
//
//   Datum x = Tensor::ones({2, 3});
//   Datum names = Texts{{2}, {"a", "b"}};
//   Datum list = Sequence{x, x};
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "strata/tensor/tensor.h"

namespace strata::onnx {

class Datum;

/// An array of texts in row-major order. @pre product(shape) == elements.size()
struct Texts {
  std::vector<std::int64_t> shape;
  std::vector<std::string> elements;
};

/// A list of tensors or texts.
using Sequence = std::vector<Datum>;

/// An optional without a value. An optional with a value is the value itself.
struct EmptyOptional {};

/// A value between the nodes of a model: a tensor, texts, a sequence, an empty optional, or nothing.
class Datum {
 public:
  Datum() = default;  ///< absent: an input or output that is left out
  Datum(Tensor tensor) : value_(std::move(tensor)) {}
  Datum(Texts texts) : value_(std::make_shared<const Texts>(std::move(texts))) {}
  /// @throws Error (domain) if an element is neither a tensor nor texts
  Datum(Sequence sequence);
  Datum(EmptyOptional empty) : value_(empty) {}
  /// A tensor of integers whose elements are known as expressions of bound variables: sizes, and what follows from
  /// them. @pre expressions has an Int for each element, in row-major order
  Datum(Tensor tensor, std::vector<Int> expressions)
      : value_(std::move(tensor)), expressions_(std::make_shared<const std::vector<Int>>(std::move(expressions))) {}

  /// Exactly one of these is true.
  bool is_absent() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(value_); }
  bool is_texts() const { return std::holds_alternative<std::shared_ptr<const Texts>>(value_); }
  bool is_sequence() const { return std::holds_alternative<std::shared_ptr<const Sequence>>(value_); }
  bool is_empty_optional() const { return std::holds_alternative<EmptyOptional>(value_); }
  /// Where the elements of a tensor are known as expressions: these; else null.
  const std::vector<Int>* expressions() const { return expressions_.get(); }
  /// @throws Error (domain) naming what the value is instead
  const Tensor& tensor() const;
  const Texts& texts() const;
  const Sequence& sequence() const;
  /// The shape of a tensor or of texts, as numbers. @throws Error (domain) for other values
  std::vector<std::int64_t> shape() const;
  /// "f32[2, 3]", "texts[2]", "sequence of 3", "nothing".
  std::string type_text() const;

 private:
  std::variant<std::monostate, Tensor, std::shared_ptr<const Texts>, std::shared_ptr<const Sequence>, EmptyOptional>
      value_;
  std::shared_ptr<const std::vector<Int>> expressions_;
};

/// ONNX's number of the type of texts.
inline constexpr std::int64_t kTextElements = 8;
/// The dtype of ONNX's number of a type of elements. @throws Error (undefined) naming `what` for one that Strata lacks
DType dtype_of_element(std::int64_t number, const std::string& what);
/// "[2, 3]".
std::string sizes_text(const std::vector<std::int64_t>& sizes);
/// The shape as numbers. @throws Error (shape) if a size is symbolic
std::vector<std::int64_t> sizes_of(const Tensor& x);
/// A size as it is in this call: the value of an expression whose variables are bound.
std::int64_t present(const Int& size);
Ints to_shape(const std::vector<std::int64_t>& sizes);

}  // namespace strata::onnx
