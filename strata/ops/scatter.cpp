// Scattering: values combined into places that index tensors name. The general form compares each place of the result
// with each index (n * k comparisons); long sums use summed_by_index() instead (segments.cpp).

#include <limits>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

/// A reduction over the last axis, which is removed.
Value reduced(Ops op, const Value& x) { return Value(LazyOp::reduce(op, x.node(), {x.ndim() - 1})).squeeze(-1); }

/// The identity of the reduction `how`, a scalar in the dtype of `like`.
Value identity(Reduce how, const Value& like) {
  using enum Reduce;
  const Ops op = how == prod ? Ops::PROD : how == amax ? Ops::REDUCE_MAX : how == amin ? Ops::REDUCE_MIN : Ops::SUM;
  return Value(LazyOp::constant(identity_of(op, like.dtype()), Ints{}));
}

/// The operands of put_at(): target (..., n); goes (..., n, k), true where value k goes to place n; source (..., 1, k);
/// index (..., k).
struct Puts {
  Value target, goes, source, index;
  /// (..., n): whether any value goes to the place.
  Value hit() const { return reduced(Ops::REDUCE_MAX, goes); }
  /// What the values are combined with: the target; without include_self the identity at places that are hit.
  Value before(const Combine& combine) const {
    return combine.include_self ? target : hit().where(identity(*combine.how, target), target);
  }
};

/// Assignment: of several values for one place the last one wins. With a single value there is no order to find.
Value assigned(const Puts& p) {
  if (p.source.size(-1) == Int(1)) return p.hit().where(p.source.squeeze(-1), p.target);
  const Value order = counting(p.goes.size(-1));
  const Value last = reduced(Ops::REDUCE_MAX, p.goes.where(order, -1));
  return last.ge(0).where(picked(p.source, last), p.target);
}

Value summed(const Puts& p) {
  const std::int64_t last = p.target.ndim() - 1;
  Ints rows = p.target.shape();
  rows.pop_back();
  if (!is_sum_by_order(rows, p.index.shape(), p.target.size(last)))
    return reduced(Ops::SUM, p.goes.where(p.source, false));
  Ints values = p.source.squeeze(-2).shape();
  values.back() = p.index.size(-1);
  return summed_by_index(p.source.squeeze(-2).broadcast_to(values), p.index, p.target.size(last).value());
}

Value averaged(const Puts& p, const Combine& combine) {
  const Value count = reduced(Ops::SUM, p.goes.cast(dtypes::int64)) + (combine.include_self ? 1 : 0);
  const Value total = p.before(combine) + summed(p), safe = count.maximum(1);
  return p.target.dtype().is_float() ? total / safe.cast(total.dtype()) : total.floor_divide(safe).cast(total.dtype());
}

/// amax and amin. The old element is reduced as one more value, so that the gradient is shared equally among equal
/// values.
Value extreme(const Puts& p, const Combine& combine) {
  const bool is_most = *combine.how == Reduce::amax;
  const Value none = identity(*combine.how, p.target);
  const Value values = p.goes.where(p.source, none);
  const Value self = combine.include_self ? p.target : p.hit().where(none, p.target);
  const Value both[] = {values, self.unsqueeze(-1)};
  return reduced(is_most ? Ops::REDUCE_MAX : Ops::REDUCE_MIN, Value::cat(both, -1));
}

/// `value` in the dtype of `self`: a number as a scalar. @throws Error (domain) for a tensor of another dtype
Value source_of(const Value& self, const Operand& value, const char* operation) {
  if (value.value() == nullptr) {
    const Scalar number = scalar_of(value.number(), self.dtype());
    return Value(LazyOp::constant(number, Ints{}));
  }
  STRATA_CHECK(value.value()->dtype() == self.dtype(), domain, "[", operation, "] values of dtype ",
               value.value()->dtype().name(), " do not match a tensor of dtype ", self.dtype().name());
  return *value.value();
}

/// scatter() and its relatives: index and values have the rank of `self`. The index is padded with -1, which goes
/// nowhere, to the sizes of `self`.
Value scattered(const Value& self, std::int64_t axis, const Value& index, const Operand& value, const Combine& combine,
                const char* operation) {
  const Value source = source_of(self, value, operation);
  if (self.ndim() == 0)
    return scattered(self.reshape({1}), axis, index.atleast_1d(), source.atleast_1d(), combine, operation).reshape({});
  const bool is_number = source.ndim() == 0;
  const std::int64_t a = axis_of(axis, self.ndim(), operation);
  STRATA_CHECK(index.ndim() == self.ndim() && (is_number || source.ndim() == self.ndim()), shape, "[", operation,
               "] indices of shape ", render(index.shape()), " and values of shape ", render(source.shape()),
               " do not have the rank of a tensor of shape ", render(self.shape()));
  Mask taken;
  Padding around;
  for (std::int64_t k = 0; k < self.ndim(); ++k) {
    const Int& count = index.size(k);
    STRATA_CHECK(
        (k == a || known(is_at_most(count, self.size(k)))) && (is_number || known(is_at_most(count, source.size(k)))),
        shape, "[", operation, "] indices of shape ", render(index.shape()), " reach beyond values of shape ",
        render(source.shape()), " or a tensor of shape ", render(self.shape()), " in dimension ", k);
    taken.push_back({0, count});
    around.push_back({0, k == a ? Int(0) : self.size(k) - count});
  }
  const Value places = wrapped(index, number_of(self.size(a), operation), operation);
  const Value values = is_number ? source.reshape(Ints(taken.size(), 1)) : source.shrink(taken).pad(around);
  const Value out = put_at(with_last(self, a), with_last(places.pad(around, PadMode::constant, -1), a),
                           with_last(values, a), combine);
  return out.movedim({-1}, {a});
}

/// index_copy() and its relatives: the index has one dimension, and its entries place whole slices of `source`.
Value put_slices(const Value& self, std::int64_t axis, const Value& index, const Value& source, const Combine& combine,
                 const char* operation) {
  if (self.ndim() == 0)
    return put_slices(self.reshape({1}), axis, index, source.reshape({-1}), combine, operation).reshape({});
  const std::int64_t a = axis_of(axis, self.ndim(), operation);
  const Value places = wrapped(index.atleast_1d(), number_of(self.size(a), operation), operation);
  STRATA_CHECK(places.ndim() == 1, shape, "[", operation, "] indices have one dimension, not shape ",
               render(index.shape()));
  Ints sizes = self.shape();
  sizes[static_cast<std::size_t>(a)] = places.size(0);
  const bool is_number = source.ndim() == 0 && self.ndim() > 0;
  STRATA_CHECK(is_number || source.shape() == sizes, shape, "[", operation, "] values of shape ",
               render(source.shape()), " do not fill shape ", render(sizes));
  const Value values = is_number ? source.reshape(Ints(sizes.size(), 1)) : source;
  return put_at(with_last(self, a), places, with_last(values, a), combine).movedim({-1}, {a});
}

Value mask_beside(const Value& mask, const Ints& shape, const char* operation) {
  STRATA_CHECK(mask.dtype().is_bool(), domain, "[", operation, "] the mask has dtype ", mask.dtype().name(),
               ", not bool");
  return mask.broadcast_to(shape);
}

}  // namespace

Value put_at(const Value& target, const Value& index, const Value& source, const Combine& combine) {
  const bool adds_up = combine.how && *combine.how != Reduce::amax && *combine.how != Reduce::amin;
  if (adds_up && target.dtype().is_float() && target.itemsize() == 2)  // in f32: the result is rounded once
    return put_at(target.cast(dtypes::float32), index, source.cast(dtypes::float32), combine).cast(target.dtype());
  const Value rows = counting(target.size(-1)).unsqueeze(1);
  const Value goes = index.unsqueeze(-2).eq(rows);  // (..., n, k)
  const Puts p{target, goes, source.unsqueeze(-2), index};
  if (!combine.how) return assigned(p);
  switch (*combine.how) {
    case Reduce::sum: return p.before(combine) + summed(p);
    case Reduce::prod: {
      const Value factors = goes.where(p.source, identity(*combine.how, target));
      return p.before(combine) * reduced(Ops::PROD, factors);
    }
    case Reduce::mean: return averaged(p, combine);
    case Reduce::amax:
    case Reduce::amin: return extreme(p, combine);
  }
  throw Error(ErrorKind::domain, "[scatter_reduce] there is no such reduction");
}

Value Value::scatter(std::int64_t axis, const Value& index, const Operand& value) const {
  return scattered(*this, axis, index, value, {}, "scatter");
}
Value Value::scatter_add(std::int64_t axis, const Value& index, const Operand& value) const {
  return scattered(*this, axis, index, value, {Reduce::sum}, "scatter_add");
}
Value Value::scatter_reduce(std::int64_t axis, const Value& index, const Operand& value, Reduce reduce,
                            bool include_self) const {
  return scattered(*this, axis, index, value, {reduce, include_self}, "scatter_reduce");
}

Value Value::index_copy(std::int64_t axis, const Value& index, const Value& source) const {
  return put_slices(*this, axis, index, source_of(*this, source, "index_copy"), {}, "index_copy");
}
Value Value::index_add(std::int64_t axis, const Value& index, const Value& source, const Number& alpha) const {
  const Value values = source_of(*this, source, "index_add");
  const Value factor = source_of(*this, alpha, "index_add");
  return rounded_once_of(  // in f32, so that the product is not rounded to 16 bits
      [&](const Value& x, const Value& y, const Value& a) {
        return put_slices(x, axis, index, y * a, {Reduce::sum}, "index_add");
      },
      *this, values, factor);
}
Value Value::index_reduce(std::int64_t axis, const Value& index, const Value& source, Reduce reduce,
                          bool include_self) const {
  return put_slices(*this, axis, index, source_of(*this, source, "index_reduce"), {reduce, include_self},
                    "index_reduce");
}
Value Value::index_fill(std::int64_t axis, const Value& index, const Operand& value) const {
  const Value number = source_of(*this, value, "index_fill");
  STRATA_CHECK(number.ndim() == 0, shape, "[index_fill] the value has shape ", render(number.shape()),
               " and is not a scalar");
  return put_slices(*this, axis, index, number, {}, "index_fill");
}

Value Value::masked_scatter(const Value& mask, const Value& source) const {
  STRATA_CHECK(source.dtype() == dtype(), domain, "[masked_scatter] values of dtype ", source.dtype().name(),
               " do not match a tensor of dtype ", dtype().name());
  const Value holds = mask_beside(mask, shape(), "masked_scatter");
  const Value order = holds.flatten().cast(dtypes::int64).cumsum(0) - 1;
  return holds.where(picked(source.flatten(), order).reshape(shape()), *this);
}

}  // namespace strata::ops
