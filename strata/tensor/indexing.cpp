// The brackets of Tensors: reads masks and checked indices, and calls the formula (ops/indexing.cpp).

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "strata/base/int_math.h"
#include "strata/ops/subscript.h"
#include "strata/tensor/front.h"
#include "strata/tensor/nonzero.h"

namespace strata {

using front::CommonDevice, front::Value;

Subscript::Subscript(const Tensor& indices, Location at) : what_(std::make_shared<const Tensor>(indices)), at_(at) {}

Subscript Subscript::checked(const Tensor& indices, Location at) {
  Subscript out(indices, at);
  out.is_checked_ = true;
  return out;
}

namespace {

using Extremes = ops::Indices::Extremes;
template <class T>
Extremes extremes_of(const Tensor& x) {
  // An index beyond 63 bits is outside of every axis, as kPosInf is.
  const auto cut = [](T v) { return std::in_range<std::int64_t>(v) ? static_cast<std::int64_t>(v) : kPosInf; };
  const auto [least, most] = std::ranges::minmax(x.span<T>());
  return {cut(least), cut(most)};
}
/// The least and the largest element. Realizes x. @pre x has at least one integer
Extremes extremes(const Tensor& x) {
  const DType d = x.dtype();
  if (d == dtypes::int64) return extremes_of<std::int64_t>(x);
  if (d == dtypes::int32) return extremes_of<std::int32_t>(x);
  if (d == dtypes::int16) return extremes_of<std::int16_t>(x);
  if (d == dtypes::int8) return extremes_of<std::int8_t>(x);
  if (d == dtypes::uint64) return extremes_of<std::uint64_t>(x);
  if (d == dtypes::uint32) return extremes_of<std::uint32_t>(x);
  if (d == dtypes::uint16) return extremes_of<std::uint16_t>(x);
  return extremes_of<std::uint8_t>(x);
}

using TensorPointer = std::shared_ptr<const Tensor>;

/// Converts a subscript for the formula. Masks and checked indices are realized.
struct Lowering {
  CommonDevice& devices;
  bool is_checked;

  ops::Subscript operator()(const TensorPointer& tensor) const {
    const Value node = devices.node_of(*tensor);
    if (tensor->dtype().is_bool()) return ops::MaskPlaces{tensor->shape(), devices.node_of(nonzero_indices(*tensor))};
    const bool is_read = is_checked && tensor->dtype().is_int() && !(tensor->numel() == Int(0));
    return ops::Indices{node, is_read ? std::optional(extremes(*tensor)) : std::nullopt};
  }
  template <class T>
  ops::Subscript operator()(const T& what) const {
    return what;
  }
};
std::vector<ops::Subscript> lowered(std::span<const Subscript> subscripts, CommonDevice& devices) {
  std::vector<ops::Subscript> out;
  for (const Subscript& s : subscripts) out.push_back(std::visit(Lowering{devices, s.is_checked()}, s.what()));
  return out;
}

/// The mask if it is the only subscript; else null.
const Tensor* lone_mask(std::span<const Subscript> subscripts) {
  if (subscripts.size() != 1) return nullptr;
  const auto* tensor = std::get_if<TensorPointer>(&subscripts.front().what());
  return tensor != nullptr && (*tensor)->dtype().is_bool() ? tensor->get() : nullptr;
}

At place_of(std::span<const Subscript> subscripts) {
  return subscripts.empty() ? At::current() : subscripts.front().at();
}

}  // namespace

Tensor Tensor::index(std::span<const Subscript> subscripts, At at) const {
  const OriginScope scope("index", at);
  CommonDevice devices("index");
  const Value x = devices.node_of(*this);
  return front::raised(ops::index(x, lowered(subscripts, devices)), device());
}
Tensor Tensor::operator[](std::initializer_list<Subscript> subscripts) const {
  const std::span<const Subscript> all(subscripts.begin(), subscripts.size());
  return index(all, place_of(all));
}
Tensor Tensor::operator[](const Subscript& subscript) const { return index({&subscript, 1}, subscript.at()); }

namespace {

/// index_put() of either kind.
Tensor with_put(const Tensor& to, std::span<const Subscript> subscripts, const Operand& value,
                std::optional<Tensor::Reduce> reduce) {
  const OriginScope scope("index_put", value.at());
  CommonDevice devices("index_put");
  const Value x = devices.node_of(to);
  const Value v = value.tensor() != nullptr ? devices.node_of(*value.tensor()).cast(to.dtype())
                                            : Value::full({}, value.number(), to.dtype());
  const Tensor* const mask = lone_mask(subscripts);
  const bool adds = reduce == Tensor::Reduce::sum;
  if (mask != nullptr && (!reduce || adds)) {
    const Value holds = devices.node_of(*mask);
    if (ops::is_one_for_all(v, x, holds)) return front::raised(ops::with_one_value(x, holds, v, adds), to.device());
  }
  return front::raised(ops::index_put(x, lowered(subscripts, devices), v, reduce), to.device());
}

}  // namespace

Tensor Tensor::index_put(std::span<const Subscript> subscripts, const Operand& value, bool accumulate) const {
  return with_put(*this, subscripts, value, accumulate ? std::optional(Reduce::sum) : std::nullopt);
}
Tensor Tensor::index_put(std::span<const Subscript> subscripts, const Operand& value, Reduce reduce) const {
  return with_put(*this, subscripts, value, reduce);
}

}  // namespace strata
