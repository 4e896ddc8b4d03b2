// Movement operations: reshape, permute, expand, flip and their relatives. Views: nothing is copied.

#include <algorithm>

#include "strata/ops/operand_promotion.h"

namespace strata::ops {

Value Value::reshape(const Ints& to) const {
  Ints sizes = to;
  const auto open = std::find(sizes.begin(), sizes.end(), Int(-1));
  if (open != sizes.end()) {
    STRATA_CHECK(std::find(open + 1, sizes.end(), Int(-1)) == sizes.end(), shape, "[reshape] two sizes of ", render(to),
                 " are -1");
    *open = 1;
    const Int others = product(sizes), all = numel();
    STRATA_CHECK(!(others == Int(0)) && known(is_multiple(all, others)), shape, "[reshape] ", render(shape()), ", ",
                 all.render(), " elements, does not fill ", render(to));
    *open = all.is_number() && others.is_number() ? Int(all.value() / others.value()) : Int(all.expr() / others.expr());
  }
  return Value(node().reshape(sizes));
}

Value Value::permute(const Axes& order) const {
  Axes axes;
  for (const std::int64_t a : order) axes.push_back(axis_of(a, ndim(), "permute"));
  return Value(node().permute(axes));
}

Value Value::view_as(const Value& other) const { return reshape(other.shape()); }
Value Value::reshape_as(const Value& other) const { return reshape(other.shape()); }
Value Value::expand_as(const Value& other) const { return expand(other.shape()); }

Value Value::expand(const Ints& to) const {
  STRATA_CHECK(to.size() >= shape().size(), shape, "[expand] ", render(shape()), " has more dimensions than ",
               render(to));
  const std::size_t first = to.size() - shape().size();
  Ints sizes = to;
  for (std::size_t k = 0; k < shape().size(); ++k)
    if (sizes[first + k] == Int(-1)) sizes[first + k] = shape()[k];
  for (std::size_t k = 0; k < shape().size(); ++k)
    STRATA_CHECK(shape()[k] == sizes[first + k] || shape()[k] == Int(1), shape, "[expand] ", render(shape()),
                 " does not become ", render(to), ": dimension ", k, " has size ", shape()[k].render());
  return Value(broadcast(node(), sizes));
}

Value Value::flip(const ListedAxes& axes) const {
  if (axes.axes.empty()) return Value(node());
  return Value(node().flip(AxesArg(axes.axes).of(ndim(), "flip")));
}

Value Value::shrink(const Mask& bounds) const { return Value(node().shrink(bounds)); }

Value Value::transpose(std::int64_t a, std::int64_t b) const {
  Axes order;
  for (std::int64_t k = 0; k < ndim(); ++k) order.push_back(k);
  if (ndim() == 0) return *this;
  std::swap(order[static_cast<std::size_t>(axis_of(a, ndim(), "transpose"))],
            order[static_cast<std::size_t>(axis_of(b, ndim(), "transpose"))]);
  return permute(order);
}

Value Value::squeeze() const {
  Ints sizes;
  for (const Int& size : shape())
    if (!(size == Int(1))) sizes.push_back(size);
  return reshape(sizes);
}
Value Value::squeeze(std::int64_t axis) const {
  const std::int64_t a = axis_of(axis, ndim(), "squeeze");
  if (ndim() == 0 || !(size(a) == Int(1))) return *this;
  Ints sizes;
  for (std::int64_t k = 0; k < ndim(); ++k)
    if (k != a) sizes.push_back(size(k));
  return reshape(sizes);
}
Value Value::unsqueeze(std::int64_t axis) const {
  const std::int64_t a = axis_of(axis, ndim() + 1, "unsqueeze");
  Ints sizes;
  for (std::int64_t k = 0; k < ndim(); ++k) {
    if (k == a) sizes.push_back(1);
    sizes.push_back(size(k));
  }
  if (a == ndim()) sizes.push_back(1);
  return reshape(sizes);
}
Value Value::flatten(std::int64_t first, std::int64_t last) const {
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

Value Value::broadcast_to(const Ints& shape) const { return expand(shape); }
Value Value::swapaxes(std::int64_t a, std::int64_t b) const { return transpose(a, b); }

std::vector<Value> Value::broadcast_tensors(std::span<const Value> tensors) {
  std::vector<Ints> shapes;
  for (const Value& x : tensors) shapes.push_back(x.shape());
  const Ints to = tensors.empty() ? Ints{} : broadcast_shape("broadcast_tensors", shapes);
  std::vector<Value> out;
  for (const Value& x : tensors) out.push_back(x.broadcast_to(to));
  return out;
}

}  // namespace strata::ops
