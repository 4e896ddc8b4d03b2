#include "strata/graph/moved_shape.h"

#include <limits>
#include <utility>

#include "strata/base/int_math.h"
#include "strata/view/shape_tracker.h"

namespace strata {

namespace {

/// The product of numeric sizes above 0, if it fits in 64 bits; else 0.
std::int64_t plain_product(const Ints& sizes) {
  std::int64_t out = 1;
  for (const Int& size : sizes)
    if (!size.is_number() || size.value() <= 0 || !try_mul(out, size.value(), out)) return 0;
  return out;
}

/// `out`, if the arguments and the result are plain numbers; else the shape of view(View of the old shape), which
/// checks everything.
template <class F>
Ints plain_or(bool is_plain, Ints&& out, const Ints& shape, const F& view) {
  if (is_plain && plain_product(out) != 0) return std::move(out);
  return view(View::create(shape)).shape();
}

/// True iff `axes` are in [0, rank), without repetition.
bool are_axes(const Axes& axes, std::size_t rank) {
  std::uint64_t seen = 0;
  if (rank > 64) return false;
  for (const std::int64_t a : axes) {
    if (a < 0 || std::cmp_greater_equal(a, rank) || ((seen >> a) & 1) != 0) return false;
    seen |= std::uint64_t{1} << a;
  }
  return true;
}

}  // namespace

Ints reshaped(const Ints& shape, const Ints& to) {
  const std::int64_t elements = plain_product(shape);
  if (elements != 0 && plain_product(to) == elements) return to;
  return ShapeTracker::from_shape(shape).reshape(to).shape();
}

Ints permuted(const Ints& shape, const Axes& order) {
  if (order.size() != shape.size() || !are_axes(order, shape.size())) return View::create(shape).permute(order).shape();
  Ints out;
  for (const std::int64_t axis : order) out.push_back(shape[static_cast<std::size_t>(axis)]);
  return out;
}

Ints expanded(const Ints& shape, const Ints& to) {
  bool is_plain = to.size() == shape.size() && plain_product(to) != 0;
  for (std::size_t k = 0; k < shape.size() && is_plain; ++k) is_plain = shape[k] == to[k] || shape[k] == Int(1);
  return is_plain ? to : View::create(shape).expand(to).shape();
}

Ints padded(const Ints& shape, const Padding& padding) {
  Ints out;
  bool is_plain = padding.size() == shape.size() && plain_product(shape) != 0;
  for (std::size_t k = 0; k < shape.size() && is_plain; ++k) {
    const auto& [before, after] = padding[k];
    std::int64_t size = shape[k].value();
    is_plain = before.is_number() && after.is_number() && before.value() >= 0 && after.value() >= 0 &&
               try_add(size, before.value(), size) && try_add(size, after.value(), size);
    out.push_back(size);
  }
  return plain_or(is_plain, std::move(out), shape, [&](const View& v) { return v.pad(padding); });
}

Ints shrunk(const Ints& shape, const Mask& bounds) {
  Ints out;
  bool is_plain = bounds.size() == shape.size() && plain_product(shape) != 0;
  for (std::size_t k = 0; k < shape.size() && is_plain; ++k) {
    const auto& [begin, end] = bounds[k];
    is_plain = begin.is_number() && end.is_number() && 0 <= begin.value() && begin.value() < end.value() &&
               end.value() <= shape[k].value();
    if (is_plain) out.push_back(end.value() - begin.value());
  }
  return plain_or(is_plain, std::move(out), shape, [&](const View& v) { return v.shrink(bounds); });
}

Ints strided(const Ints& shape, const Ints& steps) {
  Ints out;
  bool is_plain = steps.size() == shape.size() && plain_product(shape) != 0;
  for (std::size_t k = 0; k < shape.size() && is_plain; ++k) {
    const std::int64_t step = steps[k].is_number() ? steps[k].value() : 0;
    is_plain = step != 0 && step != std::numeric_limits<std::int64_t>::min();
    if (is_plain) out.push_back((shape[k].value() - 1) / (step < 0 ? -step : step) + 1);
  }
  return plain_or(is_plain, std::move(out), shape, [&](const View& v) { return v.stride(steps); });
}

void check_flip(const Ints& shape, const Axes& axes) {
  if (!are_axes(axes, shape.size())) View::create(shape).flip(axes);
}

}  // namespace strata
