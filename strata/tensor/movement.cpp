// Tensors seen otherwise: nothing is copied.

#include <algorithm>

#include "strata/tensor/access.h"

namespace strata {

Tensor Tensor::reshape(const Ints& to, At at) const {
  const OriginScope scope("reshape", at);
  Ints sizes = to;
  const auto open = std::find(sizes.begin(), sizes.end(), Int(-1));
  if (open != sizes.end()) {
    STRATA_CHECK(std::find(open + 1, sizes.end(), Int(-1)) == sizes.end(), shape,
                 "[reshape] two sizes of ", render(to), " are -1");
    *open = 1;
    const Int others = product(sizes), all = numel();
    STRATA_CHECK(!(others == Int(0)) && known(is_multiple(all, others)), shape, "[reshape] ",
                 render(shape()), ", ", all.render(), " elements, does not fill ", render(to));
    *open = all.is_number() && others.is_number() ? Int(all.value() / others.value())
                                                  : Int(all.expr() / others.expr());
  }
  return TensorAccess::of(node().reshape(sizes), *this);
}

Tensor Tensor::permute(const Axes& order, At at) const {
  const OriginScope scope("permute", at);
  Axes axes;
  for (const std::int64_t a : order) axes.push_back(axis_of(a, ndim(), "permute"));
  return TensorAccess::of(node().permute(axes), *this);
}

Tensor Tensor::view_as(const Tensor& other, At at) const { return reshape(other.shape(), at); }
Tensor Tensor::reshape_as(const Tensor& other, At at) const { return reshape(other.shape(), at); }
Tensor Tensor::expand_as(const Tensor& other, At at) const { return expand(other.shape(), at); }

Tensor Tensor::expand(const Ints& to, At at) const {
  const OriginScope scope("expand", at);
  STRATA_CHECK(to.size() >= shape().size(), shape, "[expand] ", render(shape()),
               " has more dimensions than ", render(to));
  const std::size_t first = to.size() - shape().size();
  Ints sizes = to;
  for (std::size_t k = 0; k < shape().size(); ++k)
    if (sizes[first + k] == Int(-1)) sizes[first + k] = shape()[k];
  for (std::size_t k = 0; k < shape().size(); ++k)
    STRATA_CHECK(shape()[k] == sizes[first + k] || shape()[k] == Int(1), shape, "[expand] ",
                 render(shape()), " does not become ", render(to), ": dimension ", k, " has size ",
                 shape()[k].render());
  return TensorAccess::of(broadcast(node(), sizes), *this);
}

Tensor Tensor::flip(const ListedAxes& axes, At at) const {
  const OriginScope scope("flip", at);
  if (axes.axes.empty()) return TensorAccess::of(node(), *this);
  return TensorAccess::of(node().flip(AxesArg(axes.axes).of(ndim(), "flip")), *this);
}

Tensor Tensor::shrink(const Mask& bounds, At at) const {
  const OriginScope scope("shrink", at);
  return TensorAccess::of(node().shrink(bounds), *this);
}

Tensor Tensor::transpose(std::int64_t a, std::int64_t b, At at) const {
  const OriginScope scope("transpose", at);
  Axes order;
  for (std::int64_t k = 0; k < ndim(); ++k) order.push_back(k);
  if (ndim() == 0) return own(*this);
  std::swap(order[static_cast<std::size_t>(axis_of(a, ndim(), "transpose"))],
            order[static_cast<std::size_t>(axis_of(b, ndim(), "transpose"))]);
  return permute(order);
}

Tensor Tensor::squeeze(At at) const {
  const OriginScope scope("squeeze", at);
  Ints sizes;
  for (const Int& size : shape())
    if (!(size == Int(1))) sizes.push_back(size);
  return reshape(sizes);
}
Tensor Tensor::squeeze(std::int64_t axis, At at) const {
  const OriginScope scope("squeeze", at);
  const std::int64_t a = axis_of(axis, ndim(), "squeeze");
  if (ndim() == 0 || !(size(a) == Int(1))) return own(*this);
  Ints sizes;
  for (std::int64_t k = 0; k < ndim(); ++k)
    if (k != a) sizes.push_back(size(k));
  return reshape(sizes);
}
Tensor Tensor::unsqueeze(std::int64_t axis, At at) const {
  const OriginScope scope("unsqueeze", at);
  const std::int64_t a = axis_of(axis, ndim() + 1, "unsqueeze");
  Ints sizes;
  for (std::int64_t k = 0; k < ndim(); ++k) {
    if (k == a) sizes.push_back(1);
    sizes.push_back(size(k));
  }
  if (a == ndim()) sizes.push_back(1);
  return reshape(sizes);
}
Tensor Tensor::flatten(std::int64_t first, std::int64_t last, At at) const {
  const OriginScope scope("flatten", at);
  const std::int64_t from = axis_of(first, ndim(), "flatten"), to = axis_of(last, ndim(), "flatten");
  STRATA_CHECK(from <= to, shape, "[flatten] axis ", first, " is behind axis ", last);
  Ints sizes;
  Int middle = 1;
  for (std::int64_t k = 0; k < ndim(); ++k) {
    if (k >= from && k <= to) middle *= size(k);
    if (k < from || k > to) sizes.push_back(size(k));
    if (k == to) sizes.push_back(middle);
  }
  if (ndim() == 0) sizes.push_back(1);
  return reshape(sizes);
}

}  // namespace strata
