// Cumulative reductions (scans) along an axis.
//
// Short rows are one masked reduction: result i reduces the elements up to i. Longer rows are split into blocks: each
// block is scanned by itself, the totals of the blocks are scanned recursively, and each block is combined with the
// total in front of it.

#include <array>
#include <limits>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

constexpr std::int64_t kMostScanAtOnce = 512, kScanBlock = 256;

/// The operation of a scan.
struct Combination {
  Value (*among)(const Value& x);  ///< the scan of a short last axis: result i reduces elements 0 to i
  Value (*of_two)(const Value& a, const Value& b);
  Number (*nothing)(DType dtype);  ///< the identity
};

/// (..., n) becomes (..., n, n): row i has the elements up to i, then `filler`.
Value up_to_each(const Value& x, const Number& filler) {
  const Value j = counting(x.size(-1)), i = j.unsqueeze(1);
  return j.le(i).where(x.unsqueeze(-2), filler);
}
template <Ops op>
Value among(const Value& x) {
  const Value rows = up_to_each(x, Number(identity_of(op, x.dtype())));
  return Value(LazyOp::reduce(op, rows.node(), {rows.ndim() - 1})).squeeze(-1);
}
template <Ops op>
Number nothing(DType dtype) {
  return Number(identity_of(op, dtype));
}

const Combination kSum = {among<Ops::SUM>, [](const Value& a, const Value& b) { return a + b; }, nothing<Ops::SUM>};
const Combination kProduct = {among<Ops::PROD>, [](const Value& a, const Value& b) { return a * b; },
                              nothing<Ops::PROD>};
const Combination kMax = {among<Ops::REDUCE_MAX>, [](const Value& a, const Value& b) { return a.maximum(b); },
                          nothing<Ops::REDUCE_MAX>};
const Combination kMin = {among<Ops::REDUCE_MIN>, [](const Value& a, const Value& b) { return a.minimum(b); },
                          nothing<Ops::REDUCE_MIN>};

/// The scan of log-sum-exp. The largest element so far is subtracted before exp(), unless it is infinite.
Value log_of_sums(const Value& x) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Value largest = among<Ops::REDUCE_MAX>(x).detach();
  const Value shift = largest.isinf().where(0, largest);
  const Value j = counting(x.size(-1)), i = j.unsqueeze(1);
  const Value terms = j.le(i).where(x.unsqueeze(-2) - shift.unsqueeze(-1), -infinity).exp();
  return terms.sum(-1).log() + shift;
}
const Combination kLogSumExp = {log_of_sums, [](const Value& a, const Value& b) { return a.logaddexp(b); },
                                [](DType) { return Number(-std::numeric_limits<double>::infinity()); }};

Value padded_last(const Value& x, const Int& before, const Int& after, const Number& value) {
  Padding padding(x.shape().size(), {0, 0});
  padding.back() = {before, after};
  return x.pad(padding, PadMode::constant, value);
}

/// The scan along the last axis, of size n. The depth is logarithmic in n.
Value scan(const Combination& c, const Value& x, std::int64_t n) {
  if (n <= kMostScanAtOnce) return c.among(x);
  const std::int64_t blocks = (n + kScanBlock - 1) / kScanBlock;
  const Number filler = c.nothing(x.dtype());
  const Value inside = c.among(padded_last(x, 0, blocks * kScanBlock - n, filler).unflatten(-1, {blocks, kScanBlock}));
  Mask last;
  for (const Int& size : inside.shape()) last.push_back({0, size});
  last.back() = {kScanBlock - 1, kScanBlock};
  const Value totals = scan(c, inside.shrink(last).squeeze(-1), blocks);
  const Value before = padded_last(totals, 1, -1, filler);  // the total in front of each block
  const Value out = c.of_two(before.unsqueeze(-1), inside).flatten(-2);
  return padded_last(out, 0, n - blocks * kScanBlock, 0);
}

Value scan_along(const char* operation, const Combination& c, const Value& x, std::int64_t axis) {
  const std::int64_t a = axis_of(axis, x.ndim(), operation);
  if (x.ndim() == 0 || x.numel() == Int(0)) return x;
  const std::int64_t n = number_of(x.size(a), operation);
  return scan(c, x.movedim({a}, {-1}), n).movedim({-1}, {a});
}

/// The suffix sums along the last axis: result i is the sum of elements i, i + 1, ...
Value sums_from_each(const Value& x) { return scan_along("cumprod", kSum, x.flip(-1), -1).flip(-1); }

/// The gradient of cumprod: suffix_sum(dy * y) / x, with zeros of x handled apart. From the first 0 on all products are
/// 0. For elements in front of it the formula holds; for that 0 itself the products without it are used; elements
/// behind it have the gradient 0.
Value product_gradient_value(const Value& x, const Value& dy) {
  const Value is_zero = x.eq(0), zeros = scan_along("cumprod", kSum, is_zero.cast(dtypes::int32), -1);
  const Value is_first = is_zero & zeros.eq(1);
  const Value y = scan_along("cumprod", kProduct, is_first.where(1, x), -1);
  const Value before = sums_from_each(zeros.eq(0).where(dy * y, 0)) / is_zero.where(1, x);
  const Value at = sums_from_each(dy * y);
  return zeros.eq(0).where(before, is_first.where(at, 0));
}

/// The same gradient in a quadratic form that can itself be differentiated at zeros: for element k, the product of the
/// elements in front of k, times the sum over places j >= k of dy[j] times the product of the elements between k and j.
Value product_gradient_by_pairs(const Value& x, const Value& dy) {
  const Value j = counting(x.size(-1)), k = j.unsqueeze(1);
  const Value before = padded_last(x, 1, -1, 1).cumprod(-1);
  const Value behind = j.gt(k).where(x.unsqueeze(-2), 1).cumprod(-1);
  return before * j.ge(k).where(dy.unsqueeze(-2) * behind, 0).sum(-1);
}

/// The value by product_gradient_value(), with the gradients of product_gradient_by_pairs().
Value product_gradient(const Value& x, const Value& dy) {
  Value value = product_gradient_value(x.detach(), dy.detach());
  if (!x.is_tracked() && !dy.is_tracked()) return value;
  const std::array inputs = {x, dy};
  const auto backward = [](const Value& v, const Saved& saved) {
    const Value &a = saved[0], &b = saved[1];
    const std::array inner = {Value(a.node().tracked({})), Value(b.node().tracked({}))};
    return gradients(product_gradient_by_pairs(inner[0], inner[1]), inner, v);
  };
  return with_gradient(value, inputs, backward, Saved({x, dy}));
}

/// cummax and cummin: the values, and their indices (the last of equal elements). The gradient goes to the element at
/// the index.
std::pair<Value, Value> extremes(const char* operation, const Combination& c, const Value& x, std::int64_t axis) {
  const std::int64_t a = axis_of(axis, x.ndim(), operation);
  if (x.ndim() == 0) return {x, x.full_like(0).cast(dtypes::int64)};
  if (x.numel() == Int(0)) return {x, x.cast(dtypes::int64)};
  const std::int64_t n = number_of(x.size(a), operation);
  const Value rows = x.movedim({a}, {-1});
  const Value plain = rows.detach();
  const Value values = scan(c, plain, n);
  const Value is_record = plain.eq(values) | plain.isnan();
  const Value indices = scan(kMax, is_record.where(counting(n), 0), n);
  const Value out = rows.is_tracked() ? rows.gather(-1, indices) : values;
  return {out.movedim({-1}, {a}), indices.movedim({-1}, {a})};
}

Value products_along(const Value& x, std::int64_t axis) {
  Value y = scan_along("cumprod", kProduct, x, axis);
  if (!x.is_tracked() || x.ndim() == 0 || x.numel() == Int(0)) return y;
  const auto backward = [](const Value& dy, const Saved& saved) {
    const std::int64_t along = saved.number(0);
    const Value by_rows = product_gradient(saved[0].movedim({along}, {-1}), dy.movedim({along}, {-1}));
    return std::vector{by_rows.movedim({-1}, {along})};
  };
  return with_gradient(y, {&x, 1}, backward, Saved({x}, {axis}));
}

}  // namespace

Value Value::cumsum(std::int64_t axis) const {
  return rounded_once(as_summable(*this), [&](const Value& x) { return scan_along("cumsum", kSum, x, axis); });
}
Value Value::cumprod(std::int64_t axis) const {
  const std::int64_t a = axis_of(axis, ndim(), "cumprod");
  return rounded_once(as_summable(*this), [a](const Value& x) { return products_along(x, a); });
}
std::pair<Value, Value> Value::cummax(std::int64_t axis) const { return extremes("cummax", kMax, *this, axis); }
std::pair<Value, Value> Value::cummin(std::int64_t axis) const { return extremes("cummin", kMin, *this, axis); }
Value Value::logcumsumexp(std::int64_t axis) const {
  return rounded_once(as_real(*this), [&](const Value& x) { return scan_along("logcumsumexp", kLogSumExp, x, axis); });
}

}  // namespace strata::ops
