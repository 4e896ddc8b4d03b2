// Differences of neighbours, and integrals by the trapezoidal rule.

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

/// The pairs of neighbours along an axis: {all elements but the last, all but the first}.
std::pair<Value, Value> neighbours(const Value& x, std::int64_t axis) {
  const Int& n = x.size(axis);
  if (n == Int(0)) return {x, x};
  STRATA_CHECK(known(is_less(0, n)), shape, "[diff] axis ", axis, " of the symbolic size ", n.render(),
               " may have too few elements for a difference");
  return {x.narrow(axis, 0, n - 1), x.narrow(axis, 1, n - 1)};
}

/// The area of each trapezoid along an axis.
Value areas(const char* operation, const Value& y, const Operand& spacing, std::int64_t axis) {
  STRATA_CHECK(y.ndim() > 0, shape, "[", operation, "] the tensor is a scalar: at least one dimension is needed");
  const auto [before, after] = neighbours(y, axis);
  const Value heights = as_real(before + after) * 0.5;
  if (spacing.value() == nullptr) return heights * spacing.number();
  const Value& x = *spacing.value();
  if (x.ndim() == 0) return heights * x;
  Ints sizes(y.shape().size(), 1);
  sizes[static_cast<std::size_t>(axis)] = x.size(x.ndim() == 1 ? 0 : axis - y.ndim());
  STRATA_CHECK(x.ndim() == 1 ? x.size(0) == y.size(axis) : x.ndim() == y.ndim(), shape, "[", operation,
               "] values of shape ", render(y.shape()), " do not match places of shape ", render(x.shape()));
  const Value places = x.ndim() == 1 ? x.reshape(sizes) : x;
  const auto [from, to] = neighbours(places, axis);
  return heights * (to - from);
}

/// sum(areas(...)), with 16-bit floats rounded once.
Value sum_of_areas(const char* operation, const Value& y, const Operand& spacing, std::int64_t axis,
                   Value (*sum)(const Value& areas, std::int64_t axis)) {
  if (spacing.value() == nullptr)
    return rounded_once(y, [&](const Value& wide) { return sum(areas(operation, wide, spacing, axis), axis); });
  return rounded_once_of([&](const Value& wide, const Value& x) { return sum(areas(operation, wide, x, axis), axis); },
                         y, *spacing.value());
}

}  // namespace

Value Value::diff(std::int64_t times, std::int64_t axis, const std::optional<Value>& prepend,
                  const std::optional<Value>& append) const {
  STRATA_CHECK(ndim() > 0, shape, "[diff] the tensor is a scalar: at least one dimension is needed");
  STRATA_CHECK(times >= 0, domain, "[diff] the number of times is ", times, "; 0 or more is expected");
  const std::int64_t a = axis_of(axis, ndim(), "diff");
  if (times == 0) return *this;
  std::vector<Value> parts;
  if (prepend) parts.push_back(*prepend);
  parts.push_back(*this);
  if (append) parts.push_back(*append);
  return rounded_once(cat(parts, a), [&](const Value& x) {
    Value out = x;
    const Int& n = x.size(a);
    const std::int64_t most = n.is_number() ? n.value() : times;  // after so many differences nothing is left
    for (std::int64_t k = 0; k < std::min(times, most); ++k) {
      const auto [before, after] = neighbours(out, a);
      out = dtype().is_bool() ? after.logical_xor(before) : after - before;
    }
    return out;
  });
}

Value Value::trapezoid(const Operand& spacing, std::int64_t axis) const {
  const std::int64_t a = axis_of(axis, ndim(), "trapezoid");
  return sum_of_areas("trapezoid", *this, spacing, a, [](const Value& x, std::int64_t along) { return x.sum(along); });
}
Value Value::cumulative_trapezoid(const Operand& spacing, std::int64_t axis) const {
  const std::int64_t a = axis_of(axis, ndim(), "cumulative_trapezoid");
  return sum_of_areas("cumulative_trapezoid", *this, spacing, a,
                      [](const Value& x, std::int64_t along) { return x.cumsum(along); });
}

}  // namespace strata::ops
