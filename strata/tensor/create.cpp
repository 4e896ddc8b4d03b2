// Tensors made from memory: vectors, buffers, and empty(). Creation from numbers (zeros, arange, ...) is in the table
// of operations.

#include <algorithm>

#include "strata/engine/buffer_storage.h"
#include "strata/ops/value.h"
#include "strata/tensor/access.h"

namespace strata {

Tensor Tensor::number(const Number& value) {
  return TensorAccess::of(ops::Value::full({}, value).node(), Device::default_device());
}

Tensor::Tensor(const Expr& value) : Tensor(TensorAccess::of(ops::Value::of(value).node(), Device::default_device())) {}

Tensor Tensor::from_elements(const Buffer& elements, const Ints& shape, At at) {
  const OriginScope scope("from", at);
  STRATA_CHECK(product(shape) == Int(elements.size()), shape, "[from] ", elements.size(),
               " elements do not fill shape ", render(shape));
  return TensorAccess::of(leaf_of(elements, shape).copied(), Device::default_device());
}

Tensor Tensor::from(const std::vector<bool>& elements, const Ints& shape, At at) {
  const Buffer buffer = Buffer::allocate(static_cast<std::int64_t>(elements.size()), dtypes::boolean);
  std::copy(elements.begin(), elements.end(), buffer.as<bool>().begin());
  return from_elements(buffer, shape, at);
}

Tensor Tensor::from_buffer(const Buffer& buffer, const Ints& shape, At at) {
  const OriginScope scope("from_buffer", at);
  return TensorAccess::of(leaf_of(buffer, shape), Device::default_device());
}

Tensor Tensor::empty(const Ints& shape, DType dtype, At at) {
  const OriginScope scope("empty", at);
  return TensorAccess::of(LazyOp::empty(dtype, shape), Device::default_device());
}

Tensor Tensor::new_empty(const Ints& shape, At at) const {
  const OriginScope scope("new_empty", at);
  return TensorAccess::of(LazyOp::empty(dtype(), shape), *this);
}

}  // namespace strata
