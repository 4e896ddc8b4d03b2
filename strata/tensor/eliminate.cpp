// The number of the column is an element in memory that counts up, so that all steps are the same kernels.
#include "strata/tensor/eliminate.h"

#include <algorithm>

#include "strata/tensor/access.h"
#include "strata/tensor/indexed.h"

namespace strata::linalg {

namespace {

/// Counts in memory, from a number on.
class Counter {
 public:
  Counter(std::int64_t begin, std::int64_t step, const Tensor& like)
      : at_(Tensor::from(std::vector<std::int64_t>{begin}, Ints{}).to(like.device())), step_(step) {}
  const Tensor& at() const { return at_; }
  void advance() { at_ = (at_ + step_).contiguous(); }

 private:
  Tensor at_;
  std::int64_t step_;
};

struct Numbered {
  explicit Numbered(const Tensor& a)
      : rows(counting(a.size(-2), a)), columns(counting(a.size(-1), a)), down(rows.unsqueeze(1)) {}
  Tensor rows, columns;  ///< (m), (n)
  Tensor down;           ///< (m, 1)
};

/// (..., m): column `c`; (..., n): row `c`. `c` is () or (...).
Tensor column(const Tensor& x, const Tensor& c) {
  return picked(x, c.ndim() == 0 ? c : c.unsqueeze(-1));
}
Tensor row(const Tensor& x, const Tensor& c) { return column(x.transpose(-2, -1), c); }
/// (...): the element of a row or column.
Tensor element(const Tensor& x, const Tensor& c) { return picked(x, c); }
Tensor upright(const Tensor& x) { return x.unsqueeze(-1); }
Tensor level(const Tensor& x) { return x.unsqueeze(-2); }

Tensor ones_of(const Tensor& x) { return x.eq(0).where(1, x); }

}  // namespace

Eliminated eliminated(const Tensor& a) {
  const std::int64_t m = a.size(-2).value(), n = a.size(-1).value();
  const Numbered at(a);
  Ints front = a.shape();
  front.pop_back(), front.pop_back();
  Ints with_rows = front;
  with_rows.push_back(m);
  Tensor x = a.contiguous(), rows = at.rows.broadcast_to(with_rows).contiguous(),
         sign = a.new_full(front, 1).contiguous();
  Counter counter(0, 1, a);
  for (std::int64_t k = 0; k < std::min(m, n); ++k, counter.advance()) {
    const Tensor& c = counter.at();
    const Tensor size = at.rows.ge(c).where(column(x, c).abs(), -1);
    const Tensor p = size.argmax(-1).contiguous(), up = upright(p);  // (...), (..., 1)
    const Tensor from = at.rows.eq(c).where(up, at.rows.eq(up).where(c, at.rows)).contiguous();
    const Tensor moved = picked(level(x.transpose(-2, -1)), level(from)).transpose(-2, -1);
    const Tensor top = row(x, p);
    const Tensor factor = picked(level(column(x, c)), from) / upright(ones_of(element(top, c)));
    const Tensor below = at.down.gt(c), behind = at.columns.gt(c);
    const Tensor rest = behind.where(moved - upright(factor) * level(top),
                                     at.columns.eq(c).where(upright(factor), moved));
    x = below.where(rest, moved).contiguous();
    rows = picked(level(rows), from).contiguous();
    sign = (p.eq(c).where(1, -1).cast(a.dtype()) * sign).contiguous();
  }
  return {x, rows, sign};
}

Tensor forward_substituted(const Tensor& a, const Tensor& b, bool unit) {
  const Numbered at(a);
  const Tensor l = a.contiguous();
  Tensor x = b.contiguous();
  Counter counter(0, 1, a);
  for (std::int64_t k = 0; k < a.size(-1).value(); ++k, counter.advance()) {
    const Tensor& c = counter.at();
    const Tensor factors = column(l, c);  // (..., n)
    const Tensor given = row(x, c);       // (..., k)
    const Tensor value = (unit ? given : given / upright(element(factors, c))).contiguous();
    x = at.down.eq(c)
            .where(level(value), at.down.gt(c).where(x - upright(factors) * level(value), x))
            .contiguous();
  }
  return x;
}

Tensor cholesky_columns(const Tensor& a) {
  const Numbered at(a);
  Tensor x = a.contiguous();
  Counter counter(0, 1, a);
  for (std::int64_t k = 0; k < a.size(-1).value(); ++k, counter.advance()) {
    const Tensor& c = counter.at();
    const Tensor given = column(x, c);
    const Tensor scaled = (given / upright(element(given, c).sqrt())).contiguous();  // (..., n)
    const Tensor is_below = at.down.ge(c), rest = x - upright(scaled) * level(scaled);
    x = (is_below & at.columns.eq(c))
            .where(upright(scaled), (is_below & at.columns.gt(c)).where(rest, x))
            .contiguous();
  }
  return x;
}

namespace {

/// A reflection 1 - factor * v v.T, and what it makes of the column's first element.
struct Reflection {
  Tensor v, factor;  ///< (..., m), (...)
};

/// Takes what is below row c of a column to 0. Where it is 0, nothing is done, as LAPACK does.
Reflection reflection(const Tensor& given, const Tensor& rows, const Tensor& c) {
  const Tensor x = rows.ge(c).where(given, 0), first = element(given, c);
  // Scaled, so that squares neither overflow nor vanish.
  const Tensor largest = x.abs().max(-1), scale = ones_of(largest);
  const Tensor length = (x / upright(scale)).square().sum(-1).sqrt() * scale;
  const Tensor is_zero = rows.gt(c).where(given, 0).abs().max(-1).eq(0);
  const Tensor end = first.ge(0).where(-length, length);
  const Tensor v = rows.eq(c).where(upright(first - end), x) / upright(scale);
  const Tensor factor = is_zero.where(0, 2 / ones_of(v.square().sum(-1)));
  return {v.contiguous(), factor.contiguous()};
}

Tensor reflected(const Tensor& x, const Reflection& r) {
  const Tensor products = (upright(r.v) * x).sum(-2).contiguous();  // (..., n)
  return (x - upright(r.v) * level(products * upright(r.factor))).contiguous();
}

}  // namespace

std::pair<Tensor, Tensor> householder(const Tensor& a, bool reduced) {
  const std::int64_t m = a.size(-2).value(), n = a.size(-1).value(), k = std::min(m, n);
  const Numbered at(a);
  std::vector<Reflection> all;
  Tensor r = a.contiguous();
  Counter counter(0, 1, a);
  for (std::int64_t i = 0; i < k; ++i, counter.advance()) {
    all.push_back(reflection(column(r, counter.at()), at.rows, counter.at()));
    r = reflected(r, all.back());
  }
  const std::int64_t width = reduced ? k : m;
  Ints shape = a.shape();
  shape.back() = width;
  Tensor q = Tensor::eye(m, width, a.dtype()).to(a.device()).broadcast_to(shape).contiguous();
  for (auto it = all.rbegin(); it != all.rend(); ++it) q = reflected(q, *it);
  return {q, (reduced ? r.narrow(-2, 0, k) : r).triu()};
}

}  // namespace strata::linalg
