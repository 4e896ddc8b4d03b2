// Running totals along an axis, linear recurrences and digital filters: ASSOCIATIVE_SCANs and their gradients.

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
/// delayed() and advanced() by several elements.
Value shifted(Value x, std::int64_t axis, std::int64_t by) {
  for (; by > 0; --by) x = delayed(x, axis, 0);
  for (; by < 0; ++by) x = advanced(x, axis, 0);
  return x;
}

/// The suffix sums: result i is the sum of elements i, i + 1, ...
Value sums_from_each(const Value& x, std::int64_t axis) { return scan(Ops::SUM, x.flip(axis), axis).flip(axis); }

/// The recurrence from the end of the axis: result i is x[i] + a[0][i]*result[i + 1] + a[1][i]*result[i + 2] + ...
Value recurrence_from_each(const std::vector<Value>& a, const Value& x, std::int64_t axis) {
  std::vector<LazyOp> factors;
  for (const Value& factor : a) factors.push_back(factor.flip(axis).node());
  return Value(LazyOp::recurrence(factors, x.flip(axis).node(), axis)).flip(axis);
}

/// Of a recurrence: y[t-1-k] has gone into y[t] by a[k][t], so that the gradient of the term is a recurrence from the
/// end, by the factors of the elements behind.
std::vector<std::optional<LazyOp>> recurrence_gradients(const LazyOp& y, const Value& dy, std::int64_t axis) {
  const std::size_t factors = y.src().size() - 1;
  std::vector<Value> behind;
  for (std::size_t k = 0; k < factors; ++k)
    behind.push_back(shifted(Value(y.src(k)), axis, -1 - static_cast<std::int64_t>(k)));
  const Value by_term = recurrence_from_each(behind, dy, axis);
  std::vector<std::optional<LazyOp>> out;
  for (std::size_t k = 0; k < factors; ++k)
    out.emplace_back((by_term * shifted(Value(y), axis, 1 + static_cast<std::int64_t>(k))).node());
  out.emplace_back(by_term.node());
  return out;
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
  const Value by_y = dy.itemsize() == 2 ? dy.cast(dtypes::float32) : dy;  // the sums are rounded once
  const Value goes_on = advanced(records, axis, true).where(0, 1).cast(by_y.dtype());
  return records.where(recurrence_from_each({goes_on}, by_y, axis), 0).cast(dy.dtype());
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

// --- digital filters ---

/// The coefficients of a filter: of one dimension, whose size is a number.
std::int64_t count_of(const char* operation, const char* name, const Value& coefficients) {
  const Ints& shape = coefficients.shape();
  STRATA_CHECK(shape.size() == 1 && shape[0].is_number() && shape[0].value() > 0, shape, "[", operation, "] `", name,
               "` has shape ", render(shape), ": it is a row of coefficients, whose number is known and not 0");
  return shape[0].value();
}

/// lfilter() in one dtype of at least 32 bits.
Value filtered(const Value& x, const Value& b, const Value& a, std::int64_t axis) {
  const auto coefficient = [&](const Value& of, std::int64_t k) {
    return LazyOp(Value(of.select(0, k) / a.select(0, 0)).node());
  };
  const auto wide = [&](const Value& scalar) { return Value(broadcast(scalar.node(), x.shape())); };
  Value term = wide(coefficient(b, 0)) * x;
  for (std::int64_t k = 1; k < b.size(0).value(); ++k) term = term + wide(coefficient(b, k)) * shifted(x, axis, k);
  std::vector<LazyOp> factors;
  for (std::int64_t k = 1; k < a.size(0).value(); ++k) factors.push_back(wide(-Value(coefficient(a, k))).node());
  return factors.empty() ? term : Value(LazyOp::recurrence(factors, term.node(), axis));
}

Value filtered_along(const char* operation, const Value& x, const Value& b, const Value& a, std::int64_t axis) {
  const std::int64_t along = axis_of(axis, x.ndim(), operation);
  STRATA_CHECK(x.ndim() > 0, shape, "[", operation, "] x has no axis");
  count_of(operation, "b", b);
  const auto most = static_cast<std::int64_t>(LazyOp::kMostFactors) + 1;
  STRATA_CHECK(count_of(operation, "a", a) <= most, shape, "[", operation, "] `a` has ", a.size(0).value(),
               " coefficients, more than ", most, ": filters of a higher order are cascades (sosfilt)");
  const Value real = as_real(x), front = as_real(b, real), back = as_real(a, real);
  const Operand operands[] = {real, front, back};
  const DType dtype = promoted_dtype(std::array{&operands[0], &operands[1], &operands[2]});
  const DType wide = dtype.itemsize() == 2 ? dtypes::float32 : dtype;
  return filtered(real.cast(wide), front.cast(wide), back.cast(wide), along).cast(dtype);
}

}  // namespace

std::vector<std::optional<LazyOp>> scan_gradients(const LazyOp& y, const LazyOp& dy) {
  const auto [op, axis] = std::get<AxisArg>(y.arg());
  const Value by_y(dy), first(y.src(0));
  switch (op) {
    case Ops::SUM: return {sums_from_each(by_y, axis).node()};
    case Ops::PROD: return {product_gradient(first, by_y, axis).node()};
    case Ops::MULACC: return recurrence_gradients(y, by_y, axis);
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

Value Value::lfilter(const Value& b, const Value& a, std::int64_t axis) const {
  return filtered_along("lfilter", *this, b, a, axis);
}

Value Value::sosfilt(const Value& sections, std::int64_t axis) const {
  const Ints& shape = sections.shape();
  STRATA_CHECK(shape.size() == 2 && shape[0].is_number() && shape[1] == Int(6), shape, "[sosfilt] sections of shape ",
               render(shape), ": each is a row of six coefficients, b0 b1 b2 a0 a1 a2");
  STRATA_CHECK(ndim() > 0, shape, "[sosfilt] x has no axis");
  axis_of(axis, ndim(), "sosfilt");
  Value y = as_real(*this);
  for (std::int64_t k = 0; k < shape[0].value(); ++k) {
    const Value row = sections.select(0, k);
    y = filtered_along("sosfilt", y, row.shrink({{0, 3}}), row.shrink({{3, 6}}), axis);
  }
  return y;
}

}  // namespace strata::ops
