// The number of the current column is an element in memory (Counter), not a constant in the graph. All steps therefore
// have equal graphs and share their compiled kernels.
#include "strata/ops/eliminate.h"

#include <algorithm>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops::linalg {

namespace {

/// A counter in memory: begin, begin + step, ...
class Counter {
 public:
  Counter(std::int64_t begin, std::int64_t step)
      : at_(Value::from(std::vector<std::int64_t>{begin}, Ints{})), step_(step) {}
  const Value& at() const { return at_; }
  void advance() { at_ = (at_ + step_).contiguous(); }

 private:
  Value at_;
  std::int64_t step_;
};

/// The row and column numbers of a matrix.
struct Numbered {
  explicit Numbered(const Value& a)
      : rows(counting(a.size(-2))), columns(counting(a.size(-1))), down(rows.unsqueeze(1)) {}
  Value rows, columns;  ///< (m), (n)
  Value down;           ///< (m, 1)
};

// column(x, c): (..., m), column c of the matrices x; row(x, c): (..., n), row c. The number c has the shape () or
// (...).
Value column(const Value& x, const Value& c) { return picked(x, c.ndim() == 0 ? c : c.unsqueeze(-1)); }
Value row(const Value& x, const Value& c) { return column(x.transpose(-2, -1), c); }
/// (...): element c of a row or column.
Value element(const Value& x, const Value& c) { return picked(x, c); }
// A vector as a matrix of one column, or of one row.
Value upright(const Value& x) { return x.unsqueeze(-1); }
Value level(const Value& x) { return x.unsqueeze(-2); }

/// x with zeros replaced by 1: a divisor that makes no NaN of 0 / 0.
Value ones_of(const Value& x) { return x.eq(0).where(1, x); }

}  // namespace

Eliminated eliminated(const Value& a) {
  const std::int64_t m = a.size(-2).value(), n = a.size(-1).value();
  const Numbered at(a);
  Ints front = a.shape();
  front.pop_back(), front.pop_back();
  Ints with_rows = front;
  with_rows.push_back(m);
  Value x = a.contiguous(), rows = at.rows.broadcast_to(with_rows).contiguous(),
        sign = a.new_full(front, 1).contiguous();
  Counter counter(0, 1);
  for (std::int64_t k = 0; k < std::min(m, n); ++k, counter.advance()) {
    const Value& c = counter.at();
    const Value size = at.rows.ge(c).where(column(x, c).abs(), -1);
    const Value p = size.argmax(-1).contiguous(), up = upright(p);  // (...), (..., 1)
    const Value from = at.rows.eq(c).where(up, at.rows.eq(up).where(c, at.rows)).contiguous();
    const Value moved = picked(level(x.transpose(-2, -1)), level(from)).transpose(-2, -1);
    const Value top = row(x, p);
    const Value factor = picked(level(column(x, c)), from) / upright(ones_of(element(top, c)));
    const Value below = at.down.gt(c), behind = at.columns.gt(c);
    const Value rest =
        behind.where(moved - upright(factor) * level(top), at.columns.eq(c).where(upright(factor), moved));
    x = below.where(rest, moved).contiguous();
    rows = picked(level(rows), from).contiguous();
    sign = (p.eq(c).where(1, -1).cast(a.dtype()) * sign).contiguous();
  }
  return {x, rows, sign};
}

Value forward_substituted(const Value& a, const Value& b, bool unit) {
  const Numbered at(a);
  const Value l = a.contiguous();
  Value x = b.contiguous();
  Counter counter(0, 1);
  for (std::int64_t k = 0; k < a.size(-1).value(); ++k, counter.advance()) {
    const Value& c = counter.at();
    const Value factors = column(l, c);  // (..., n)
    const Value given = row(x, c);       // (..., k)
    const Value value = (unit ? given : given / upright(element(factors, c))).contiguous();
    x = at.down.eq(c).where(level(value), at.down.gt(c).where(x - upright(factors) * level(value), x)).contiguous();
  }
  return x;
}

Value cholesky_columns(const Value& a) {
  const Numbered at(a);
  Value x = a.contiguous();
  Counter counter(0, 1);
  for (std::int64_t k = 0; k < a.size(-1).value(); ++k, counter.advance()) {
    const Value& c = counter.at();
    const Value given = column(x, c);
    const Value scaled = (given / upright(element(given, c).sqrt())).contiguous();  // (..., n)
    const Value is_below = at.down.ge(c), rest = x - upright(scaled) * level(scaled);
    x = (is_below & at.columns.eq(c)).where(upright(scaled), (is_below & at.columns.gt(c)).where(rest, x)).contiguous();
  }
  return x;
}

namespace {

/// The Householder reflection 1 - factor * v v.T.
struct Reflection {
  Value v, factor;  ///< (..., m), (...)
};

/// The reflection that maps the elements of a column below row c to 0. Where they are 0 already it is the identity, as
/// in LAPACK.
Reflection reflection(const Value& given, const Value& rows, const Value& c) {
  const Value x = rows.ge(c).where(given, 0), first = element(given, c);
  // Scaled, so that squares neither overflow nor underflow.
  const Value largest = x.abs().max(-1), scale = ones_of(largest);
  const Value length = (x / upright(scale)).square().sum(-1).sqrt() * scale;
  const Value is_zero = rows.gt(c).where(given, 0).abs().max(-1).eq(0);
  const Value end = first.ge(0).where(-length, length);
  const Value v = rows.eq(c).where(upright(first - end), x) / upright(scale);
  const Value factor = is_zero.where(0, 2 / ones_of(v.square().sum(-1)));
  return {v.contiguous(), factor.contiguous()};
}

/// The reflection `r` applied to the columns of x.
Value reflected(const Value& x, const Reflection& r) {
  const Value products = (upright(r.v) * x).sum(-2).contiguous();  // (..., n)
  return (x - upright(r.v) * level(products * upright(r.factor))).contiguous();
}

}  // namespace

std::pair<Value, Value> householder(const Value& a, bool reduced) {
  const std::int64_t m = a.size(-2).value(), n = a.size(-1).value(), k = std::min(m, n);
  const Numbered at(a);
  std::vector<Reflection> all;
  Value r = a.contiguous();
  Counter counter(0, 1);
  for (std::int64_t i = 0; i < k; ++i, counter.advance()) {
    all.push_back(reflection(column(r, counter.at()), at.rows, counter.at()));
    r = reflected(r, all.back());
  }
  const std::int64_t width = reduced ? k : m;
  Ints shape = a.shape();
  shape.back() = width;
  Value q = Value::eye(m, width, a.dtype()).broadcast_to(shape).contiguous();
  for (auto it = all.rbegin(); it != all.rend(); ++it) q = reflected(q, *it);
  return {q, (reduced ? r.narrow(-2, 0, k) : r).triu()};
}

}  // namespace strata::ops::linalg
