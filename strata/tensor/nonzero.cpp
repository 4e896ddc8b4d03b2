// Operations whose result size depends on elements: on the number of true elements of a mask, or on the largest class.
#include "strata/tensor/nonzero.h"

#include <algorithm>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"
#include "strata/tensor/front.h"

namespace strata {

using front::on_values, front::Value;

/// NOTE: the mask is read as bytes, because memory written by other libraries may contain values other than 0 and 1.
Tensor nonzero_indices(const Tensor& mask) {
  const std::int64_t n = ops::number_of(mask.numel(), "mask");
  const Buffer elements = mask.buffer();
  const auto* const holds = static_cast<const unsigned char*>(elements.data());
  std::int64_t count = 0;
  for (std::int64_t k = 0; k < n; ++k) count += holds[k] != 0 ? 1 : 0;
  const Buffer places = Buffer::allocate(count, dtypes::int64);
  auto* const to = static_cast<std::int64_t*>(places.data());
  // Each index is written, and the next one over it unless the element is true: no branch depends on the elements.
  for (std::int64_t k = 0, found = 0; found < count; ++k) {
    to[found] = k;
    found += holds[k] != 0 ? 1 : 0;
  }
  return Tensor::from_buffer(places, {count}).to(mask.device());
}

Tensor Tensor::nonzero(At at) const {
  const OriginScope scope("nonzero", at);
  const Tensor places = nonzero_indices(ne(0));
  Tensor rest = places;
  std::vector<Tensor> columns;
  for (std::int64_t k = ndim(); k-- > 0;) {
    const std::int64_t n = std::max<std::int64_t>(ops::number_of(size(k), "nonzero"), 1);
    columns.push_back(rest.remainder(n));
    rest = rest.floor_divide(n);
  }
  std::reverse(columns.begin(), columns.end());
  if (columns.empty()) return places.unsqueeze(1).narrow(1, 0, 0);
  return stack(columns, 1);
}

Tensor Tensor::masked_select(const Tensor& mask, At at) const {
  const OriginScope scope("masked_select", at);
  STRATA_CHECK(mask.dtype().is_bool(), domain, "[masked_select] the mask has dtype ", mask.dtype().name(),
               ", not bool");
  const Ints shapes[] = {shape(), mask.shape()};
  const Ints to = ops::broadcast_shape("masked_select", shapes);
  const Tensor places = nonzero_indices(mask.broadcast_to(to));
  return on_values(
      "masked_select", at,
      [&](const Value& x, const Value& where) { return ops::picked(x.broadcast_to(to).flatten(), where); }, *this,
      places);
}

Tensor Tensor::one_hot(std::int64_t classes, At at) const { return one_hot(Int(classes), at); }

Tensor Tensor::one_hot(const Int& classes, At at) const {
  const OriginScope scope("one_hot", at);
  STRATA_CHECK(dtype().is_int(), domain, "[one_hot] classes are integers, not ", dtype().name());
  if (!(classes == Int(-1))) {
    STRATA_CHECK(known(is_at_most(0, classes)), shape, "[one_hot] the number of classes is ", classes.render(),
                 "; -1 or more is expected");
    return on_values("one_hot", at, ops::one_hot, *this, classes);
  }
  const std::int64_t count = max().item<std::int64_t>() + 1;
  STRATA_CHECK(count >= 0, domain, "[one_hot] the largest class is ", count - 1, ", which is below 0");
  return on_values("one_hot", at, ops::one_hot, *this, Int(count));
}

}  // namespace strata
