// Elements that a mask names, and places in an order.

#include <algorithm>
#include <vector>

#include "strata/tensor/access.h"
#include "strata/tensor/indexed.h"

namespace strata {

/// NOTE: how many there are is known when the mask has been computed: it is read here, element by element, and as bytes, since what
/// others wrote may be neither 0 nor 1.
Tensor places_of(const Tensor& mask) {
  const std::int64_t n = number_of(mask.numel(), "mask");
  const Buffer elements = mask.buffer();
  const auto* const holds = static_cast<const unsigned char*>(elements.data());
  std::vector<std::int64_t> places;
  for (std::int64_t k = 0; k < n; ++k)
    if (holds[k] != 0) places.push_back(k);
  const auto count = static_cast<std::int64_t>(places.size());
  return Tensor::from(places, {count}).to(mask.device());
}

namespace {

Tensor mask_beside(const Tensor& self, const Tensor& mask, const Ints& shape, const char* operation) {
  STRATA_CHECK(mask.dtype().is_bool(), domain, "[", operation, "] the mask is of ",
               mask.dtype().name(), ", not bool");
  STRATA_CHECK(&mask.device() == &self.device(), domain, "[", operation, "] tensors on ",
               self.device().name(), " and on ", mask.device().name(), ": move one with to()");
  return mask.broadcast_to(shape);
}

}  // namespace

Tensor Tensor::nonzero(At at) const {
  const OriginScope scope("nonzero", at);
  const Tensor places = places_of(ne(0));
  Tensor rest = places;
  std::vector<Tensor> columns;
  for (std::int64_t k = ndim(); k-- > 0;) {
    const std::int64_t n = std::max<std::int64_t>(number_of(size(k), "nonzero"), 1);
    columns.push_back(rest.remainder(n));
    rest = rest.floor_divide(n);
  }
  std::reverse(columns.begin(), columns.end());
  if (columns.empty()) return places.unsqueeze(1).narrow(1, 0, 0);
  return stack(columns, 1);
}

Tensor Tensor::masked_select(const Tensor& mask, At at) const {
  const OriginScope scope("masked_select", at);
  const Ints shapes[] = {shape(), mask.shape()};
  const Ints to = broadcast_shape("masked_select", shapes);
  const Tensor places = places_of(mask_beside(*this, mask, to, "masked_select"));
  return picked(broadcast_to(to).flatten(), places);
}

Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& source, At at) const {
  const OriginScope scope("masked_scatter", at);
  STRATA_CHECK(source.dtype() == dtype(), domain, "[masked_scatter] values of ",
               source.dtype().name(), " into a tensor of ", dtype().name());
  const Tensor holds = mask_beside(*this, mask, shape(), "masked_scatter");
  const Tensor order = holds.flatten().cast(dtypes::int64).cumsum(0) - 1;
  return holds.where(picked(source.flatten(), order).reshape(shape()), *this);
}

Tensor Tensor::one_hot(std::int64_t classes, At at) const {
  const OriginScope scope("one_hot", at);
  STRATA_CHECK(dtype().is_int(), domain, "[one_hot] classes are integers, not ", dtype().name());
  STRATA_CHECK(classes >= -1, shape, "[one_hot] ", classes, " classes");
  const std::int64_t count = classes >= 0 ? classes : max().item<std::int64_t>() + 1;
  STRATA_CHECK(count >= 0, domain, "[one_hot] the largest class is ", count - 1);
  const Tensor given = in_range(*this, {"one_hot", "class", count});
  return given.unsqueeze(-1).eq(counting(count, *this)).cast(dtypes::int64);
}

/// NOTE: no comparison with a NaN holds. What is behind all numbers is behind the NaNs, too, and a NaN is behind all.
Tensor Tensor::searchsorted(const Tensor& values, bool right, At at) const {
  const OriginScope scope("searchsorted", at);
  STRATA_CHECK(ndim() > 0, shape, "[searchsorted] into a scalar");
  const Ints& sizes = values.shape();
  STRATA_CHECK(ndim() == 1 || (sizes.size() == shape().size() &&
                               std::equal(sizes.begin(), sizes.end() - 1, shape().begin())),
               shape, "[searchsorted] values of shape ", render(sizes), " into shape ",
               render(shape()));
  const Tensor sorted = ndim() == 1 ? *this : unsqueeze(-2), v = values.unsqueeze(-1);
  Tensor before = (right ? sorted.le(v) : sorted.lt(v)).sum(-1);
  if (!dtype().is_float() && !v.dtype().is_float()) return before;
  const Tensor is_behind = right ? sorted.gt(v) : sorted.ge(v);
  return is_behind.any(-1).where(before, is_behind.logical_not().sum(-1));
}

}  // namespace strata
