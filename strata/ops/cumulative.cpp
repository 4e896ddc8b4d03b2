// Running totals along an axis, and linear recurrences: ASSOCIATIVE_SCANs and their gradients.

#include <array>
#include <limits>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

Value scan(Ops op, const Value& x, std::int64_t axis) { return Value(LazyOp::scan(op, x.node(), axis)); }
Value recurrence(const Value& a, const Value& b, std::int64_t axis) {
  return Value(LazyOp::recurrence(a.node(), b.node(), axis));
}

/// The scan along the last axis, or along any: `x` itself where it has no dimension.
Value scan_along(const char* operation, Ops op, const Value& x, std::int64_t axis) {
  const std::int64_t a = axis_of(axis, x.ndim(), operation);
  return x.ndim() == 0 ? x : scan(op, x, a);
}

/// `x` with `filler` in front of the axis, and without the last element.
Value delayed(const Value& x, std::int64_t axis, const Number& filler) {
  if (x.size(axis) == Int(0)) return x;
  Padding padding(x.shape().size(), {0, 0});
  padding[static_cast<std::size_t>(axis)] = {1, -1};
  return x.pad(padding, PadMode::constant, filler);
}
/// `x` without the first element, and with `filler` behind the axis.
Value advanced(const Value& x, std::int64_t axis, const Number& filler) {
  if (x.size(axis) == Int(0)) return x;
  Padding padding(x.shape().size(), {0, 0});
  padding[static_cast<std::size_t>(axis)] = {-1, 1};
  return x.pad(padding, PadMode::constant, filler);
}

/// The suffix sums: result i is the sum of elements i, i + 1, ...
Value sums_from_each(const Value& x, std::int64_t axis) { return scan(Ops::SUM, x.flip(axis), axis).flip(axis); }

/// The recurrence from the end of the axis: result i is x[i] + a[i]*result[i + 1].
Value recurrence_from_each(const Value& a, const Value& x, std::int64_t axis) {
  return recurrence(a.flip(axis), x.flip(axis), axis).flip(axis);
}

/// Whether an element is the largest (smallest) up to its place, or NaN: one from which a running extreme comes. Of
/// equal elements each is one.
Value are_records(const Value& x, const Value& extremes) { return x.eq(extremes) | x.isnan(); }

/// The gradient of cumprod: suffix_sum(dy * y) / x, with zeros of x handled apart. From the first 0 on all products are
/// 0. For elements in front of it the formula holds; for that 0 itself the products without it are used; elements
/// behind it have the gradient 0.
Value product_gradient_value(const Value& x, const Value& dy, std::int64_t axis) {
  const Value is_zero = x.eq(0), zeros = scan(Ops::SUM, is_zero.cast(dtypes::int32), axis);
  const Value is_first = is_zero & zeros.eq(1);
  const Value y = scan(Ops::PROD, is_first.where(1, x), axis);
  const Value before = sums_from_each(zeros.eq(0).where(dy * y, 0), axis) / is_zero.where(1, x);
  const Value at = sums_from_each(dy * y, axis);
  return zeros.eq(0).where(before, is_first.where(at, 0));
}

/// The same gradient in a quadratic form that can itself be differentiated at zeros: for element k, the product of the
/// elements in front of k, times the sum over places j >= k of dy[j] times the product of the elements between k and j.
Value product_gradient_by_pairs(const Value& x, const Value& dy) {
  const Value j = counting(x.size(-1)), k = j.unsqueeze(1);
  const Value before = delayed(x, x.ndim() - 1, 1).cumprod(-1);
  const Value behind = j.gt(k).where(x.unsqueeze(-2), 1).cumprod(-1);
  return before * j.ge(k).where(dy.unsqueeze(-2) * behind, 0).sum(-1);
}

/// The value by product_gradient_value(), with the gradients of product_gradient_by_pairs().
Value product_gradient(const Value& x, const Value& dy, std::int64_t axis) {
  Value value = product_gradient_value(x.detach(), dy.detach(), axis);
  if (!x.is_tracked() && !dy.is_tracked()) return value;
  const std::array inputs = {x, dy};
  const auto backward = [](const Value& v, const Saved& saved) {
    const std::int64_t along = saved.number(0);
    const std::array inner = {Value(saved[0].node().tracked({})), Value(saved[1].node().tracked({}))};
    const Value by_rows = product_gradient_by_pairs(with_last(inner[0], along), with_last(inner[1], along));
    return gradients(by_rows.movedim({-1}, {along}), inner, v);
  };
  return with_gradient(value, inputs, backward, Saved({x, dy}, {axis}));
}

/// Of a running extreme: each dy goes to the element that is the extreme at its place, the last record up to it. The
/// gradient of a record is the sum of dy up to the next record: a recurrence that records interrupt.
Value extreme_gradient(const Value& x, const Value& y, const Value& dy, std::int64_t axis) {
  const Value records = are_records(x.detach(), y.detach());
  const Value goes_on = advanced(records, axis, true).where(0, 1).cast(dy.dtype());
  return records.where(recurrence_from_each(goes_on, dy, axis), 0);
}

/// cummax and cummin: the values, and their indices (the last of equal elements).
std::pair<Value, Value> extremes(const char* operation, Ops op, const Value& x, std::int64_t axis) {
  const std::int64_t a = axis_of(axis, x.ndim(), operation);
  if (x.ndim() == 0) return {x, x.full_like(0).cast(dtypes::int64)};
  const Value values = scan(op, x, a);
  Ints places(x.shape().size(), 1);
  places[static_cast<std::size_t>(a)] = x.size(a);
  const Value at = counting(x.size(a)).reshape(places);
  return {values, scan(Ops::REDUCE_MAX, are_records(x.detach(), values.detach()).where(at, 0), a)};
}

/// log-sum-exp of the elements up to each. A recurrence sums exp(x - largest so far): where the largest element
/// changes, the sum so far is scaled.
Value log_of_sums(const Value& x, std::int64_t axis) {
  const std::int64_t a = axis_of(axis, x.ndim(), "logcumsumexp");
  if (x.ndim() == 0) return x;
  const Value largest = scan(Ops::REDUCE_MAX, x.detach(), a);
  const Value shift = largest.isinf().where(0, largest), before = delayed(shift, a, 0);
  const Value none = delayed(largest, a, -std::numeric_limits<double>::infinity());
  const Value scale = none.eq(-std::numeric_limits<double>::infinity()).where(0, (before - shift).exp());
  return recurrence(scale, (x - shift).exp(), a).log() + shift;
}

}  // namespace

std::vector<std::optional<LazyOp>> scan_gradients(const LazyOp& y, const LazyOp& dy) {
  const auto [op, axis] = std::get<AxisArg>(y.arg());
  const Value by_y(dy), first(y.src(0));
  switch (op) {
    case Ops::SUM: return {sums_from_each(by_y, axis).node()};
    case Ops::PROD: return {product_gradient(first, by_y, axis).node()};
    case Ops::MULACC: {
      const Value by_b = recurrence_from_each(advanced(first, axis, 0), by_y, axis);
      return {(by_b * delayed(Value(y), axis, 0)).node(), by_b.node()};
    }
    default: return {extreme_gradient(first, Value(y), by_y, axis).node()};
  }
}

Value Value::cumsum(std::int64_t axis) const {
  return rounded_once(as_summable(*this), [&](const Value& x) { return scan_along("cumsum", Ops::SUM, x, axis); });
}
Value Value::cumprod(std::int64_t axis) const {
  return rounded_once(as_summable(*this), [&](const Value& x) { return scan_along("cumprod", Ops::PROD, x, axis); });
}
std::pair<Value, Value> Value::cummax(std::int64_t axis) const {
  return extremes("cummax", Ops::REDUCE_MAX, *this, axis);
}
std::pair<Value, Value> Value::cummin(std::int64_t axis) const {
  return extremes("cummin", Ops::REDUCE_MIN, *this, axis);
}
Value Value::logcumsumexp(std::int64_t axis) const {
  return rounded_once(as_real(*this), [&](const Value& x) { return log_of_sums(x, axis); });
}
Value Value::linear_recurrence(const Operand& factor, std::int64_t axis) const {
  const Operand own = *this;
  const auto [scale, term] = promote_operands("linear_recurrence", {&factor, &own});
  const DType dtype = term.dtype();
  STRATA_CHECK(!dtype.is_bool(), domain, "[linear_recurrence] takes numbers, not bools");
  const std::int64_t along = axis_of(axis, Value(term).ndim(), "linear_recurrence");
  if (term.shape().empty()) return term;
  const bool is_narrow = dtype.is_float() && dtype.itemsize() == 2;
  const DType wide = is_narrow ? dtypes::float32 : dtype;
  return recurrence(Value(scale.cast(wide)), Value(term.cast(wide)), along).cast(dtype);
}

}  // namespace strata::ops
