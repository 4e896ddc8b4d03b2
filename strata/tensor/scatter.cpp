// Values into places that tensors of integers name. For each place of the result all values are asked whether they go
// there.

#include <limits>

#include "strata/tensor/access.h"
#include "strata/tensor/indexed.h"

namespace strata {

namespace {

/// Over the last axis, which goes.
Tensor reduced(Ops op, const Tensor& x) {
  return TensorAccess::of(LazyOp::reduce(op, x.node(), {x.ndim() - 1}), x).squeeze(-1);
}

/// What changes nothing in a reduction.
Tensor identity(Tensor::Reduce how, const Tensor& like) {
  using enum Tensor::Reduce;
  const Ops op = how == prod   ? Ops::PROD
                 : how == amax ? Ops::REDUCE_MAX
                 : how == amin ? Ops::REDUCE_MIN
                               : Ops::SUM;
  return TensorAccess::of(LazyOp::constant(identity_of(op, like.dtype()), Ints{}), like);
}

/// Values (..., 1, k), places (..., n, k) where they go, and what is there, (..., n).
struct Puts {
  Tensor target, goes, source, index;
  Tensor hit() const { return reduced(Ops::REDUCE_MAX, goes); }
  /// What the values meet.
  Tensor before(const Combine& combine) const {
    return combine.include_self ? target : hit().where(identity(*combine.how, target), target);
  }
};

/// Of several the last. One value needs no order.
Tensor assigned(const Puts& p) {
  if (p.source.size(-1) == Int(1)) return p.hit().where(p.source.squeeze(-1), p.target);
  const Tensor order = counting(p.goes.size(-1), p.target);
  const Tensor last = reduced(Ops::REDUCE_MAX, p.goes.where(order, -1));
  return last.ge(0).where(picked(p.source, last), p.target);
}

Tensor summed(const Puts& p) {
  const std::int64_t last = p.target.ndim() - 1;
  Ints rows = p.target.shape();
  rows.pop_back();
  if (!is_sum_by_order(rows, p.index.shape(), p.target.size(last)))
    return reduced(Ops::SUM, p.goes.where(p.source, false));
  Ints values = p.source.squeeze(-2).shape();
  values.back() = p.index.size(-1);
  return summed_by_index(p.source.squeeze(-2).broadcast_to(values), p.index,
                         p.target.size(last).value());
}

Tensor averaged(const Puts& p, const Combine& combine) {
  const Tensor count = reduced(Ops::SUM, p.goes.cast(dtypes::int64)) + (combine.include_self ? 1 : 0);
  const Tensor total = p.before(combine) + summed(p), safe = count.maximum(1);
  return p.target.dtype().is_float() ? total / safe.cast(total.dtype())
                                     : total.floor_divide(safe).cast(total.dtype());
}

/// What is there is one more value, so that a gradient goes to equal ones in equal parts.
Tensor extreme(const Puts& p, const Combine& combine) {
  const bool is_most = *combine.how == Tensor::Reduce::amax;
  const Tensor none = identity(*combine.how, p.target);
  const Tensor values = p.goes.where(p.source, none);
  const Tensor self = combine.include_self ? p.target : p.hit().where(none, p.target);
  const Tensor both[] = {values, self.unsqueeze(-1)};
  return reduced(is_most ? Ops::REDUCE_MAX : Ops::REDUCE_MIN, Tensor::cat(both, -1));
}

/// The value beside this tensor, of its dtype; numbers as scalars.
Tensor source_of(const Tensor& self, const Operand& value, const char* operation) {
  if (value.tensor() == nullptr) {
    const Scalar number = scalar_of(value.number(), self.dtype());
    return TensorAccess::of(LazyOp::constant(number, Ints{}), self);
  }
  STRATA_CHECK(value.tensor()->dtype() == self.dtype(), domain, "[", operation, "] values of ",
               value.tensor()->dtype().name(), " into a tensor of ", self.dtype().name());
  return *value.tensor();
}

/// Index and values have the rank of `self`; indices that are padded go nowhere.
Tensor scattered(const Tensor& self, std::int64_t axis, const Tensor& index, const Operand& value,
                 const Combine& combine, const char* operation) {
  const Tensor source = source_of(self, value, operation);
  if (self.ndim() == 0)
    return scattered(self.reshape({1}), axis, index.atleast_1d(), source.atleast_1d(), combine, operation)
        .reshape({});
  const bool is_number = source.ndim() == 0;
  const std::int64_t a = axis_of(axis, self.ndim(), operation);
  STRATA_CHECK(index.ndim() == self.ndim() && (is_number || source.ndim() == self.ndim()), shape,
               "[", operation, "] indices of shape ", render(index.shape()), " and values of shape ",
               render(source.shape()), " into a tensor of shape ", render(self.shape()));
  Mask taken;
  Padding around;
  for (std::int64_t k = 0; k < self.ndim(); ++k) {
    const Int& count = index.size(k);
    STRATA_CHECK((k == a || known(is_at_most(count, self.size(k)))) &&
                     (is_number || known(is_at_most(count, source.size(k)))),
                 shape, "[", operation, "] indices of shape ", render(index.shape()),
                 " reach beyond values of shape ", render(source.shape()), " or a tensor of shape ",
                 render(self.shape()), " in dimension ", k);
    taken.push_back({0, count});
    around.push_back({0, k == a ? Int(0) : self.size(k) - count});
  }
  const Tensor places = wrapped(index, number_of(self.size(a), operation), operation);
  const Tensor values =
      is_number ? source.reshape(Ints(taken.size(), 1)) : source.shrink(taken).pad(around);
  const Tensor out =
      put_at(with_last(self, a), with_last(places.pad(around, Tensor::PadMode::constant, -1), a),
             with_last(values, a), combine);
  return out.movedim({-1}, {a});
}

/// Indices of one dimension, whose values are slices of `source`.
Tensor put_slices(const Tensor& self, std::int64_t axis, const Tensor& index, const Tensor& source,
                  const Combine& combine, const char* operation) {
  if (self.ndim() == 0)
    return put_slices(self.reshape({1}), axis, index, source.reshape({-1}), combine, operation).reshape({});
  const std::int64_t a = axis_of(axis, self.ndim(), operation);
  const Tensor places = wrapped(index.atleast_1d(), number_of(self.size(a), operation), operation);
  STRATA_CHECK(places.ndim() == 1, shape, "[", operation,
               "] indices have one dimension, not shape ", render(index.shape()));
  Ints sizes = self.shape();
  sizes[static_cast<std::size_t>(a)] = places.size(0);
  const bool is_number = source.ndim() == 0 && self.ndim() > 0;
  STRATA_CHECK(is_number || source.shape() == sizes, shape, "[", operation, "] values of shape ",
               render(source.shape()), " do not fill shape ", render(sizes));
  const Tensor values = is_number ? source.reshape(Ints(sizes.size(), 1)) : source;
  return put_at(with_last(self, a), places, with_last(values, a), combine).movedim({-1}, {a});
}

}  // namespace

Tensor put_at(const Tensor& target, const Tensor& index, const Tensor& source, const Combine& combine) {
  const bool adds_up =
      combine.how && *combine.how != Tensor::Reduce::amax && *combine.how != Tensor::Reduce::amin;
  if (adds_up && target.dtype().is_float() && target.itemsize() == 2)  // with what is there rounded once
    return put_at(target.cast(dtypes::float32), index, source.cast(dtypes::float32), combine)
        .cast(target.dtype());
  const Tensor rows = counting(target.size(-1), target).unsqueeze(1);
  const Tensor goes = index.unsqueeze(-2).eq(rows);  // (..., n, k)
  const Puts p{target, goes, source.unsqueeze(-2), index};
  if (!combine.how) return assigned(p);
  switch (*combine.how) {
    case Tensor::Reduce::sum: return p.before(combine) + summed(p);
    case Tensor::Reduce::prod: {
      const Tensor factors = goes.where(p.source, identity(*combine.how, target));
      return p.before(combine) * reduced(Ops::PROD, factors);
    }
    case Tensor::Reduce::mean: return averaged(p, combine);
    case Tensor::Reduce::amax:
    case Tensor::Reduce::amin: return extreme(p, combine);
  }
  throw Error(ErrorKind::domain, "[scatter_reduce] there is no such reduction");
}

Tensor Tensor::scatter(std::int64_t axis, const Tensor& index, const Operand& value) const {
  const OriginScope scope("scatter", value.at());
  return scattered(*this, axis, index, value, {}, "scatter");
}
Tensor Tensor::scatter_add(std::int64_t axis, const Tensor& index, const Operand& value) const {
  const OriginScope scope("scatter_add", value.at());
  return scattered(*this, axis, index, value, {Reduce::sum}, "scatter_add");
}
Tensor Tensor::scatter_reduce(std::int64_t axis, const Tensor& index, const Operand& value,
                              Reduce reduce, bool include_self) const {
  const OriginScope scope("scatter_reduce", value.at());
  return scattered(*this, axis, index, value, {reduce, include_self}, "scatter_reduce");
}

Tensor Tensor::index_copy(std::int64_t axis, const Tensor& index, const Tensor& source, At at) const {
  const OriginScope scope("index_copy", at);
  return put_slices(*this, axis, index, source_of(*this, source, "index_copy"), {}, "index_copy");
}
Tensor Tensor::index_add(std::int64_t axis, const Tensor& index, const Tensor& source,
                         const Number& alpha, At at) const {
  const OriginScope scope("index_add", at);
  const Tensor values = source_of(*this, source, "index_add");
  const Tensor factor = source_of(*this, alpha, "index_add");
  return rounded_once_of(  // the product is not rounded, either
      [&](const Tensor& x, const Tensor& y, const Tensor& a) {
        return put_slices(x, axis, index, y * a, {Reduce::sum}, "index_add");
      },
      *this, values, factor);
}
Tensor Tensor::index_reduce(std::int64_t axis, const Tensor& index, const Tensor& source,
                            Reduce reduce, bool include_self, At at) const {
  const OriginScope scope("index_reduce", at);
  return put_slices(*this, axis, index, source_of(*this, source, "index_reduce"),
                    {reduce, include_self}, "index_reduce");
}
Tensor Tensor::index_fill(std::int64_t axis, const Tensor& index, const Operand& value) const {
  const OriginScope scope("index_fill", value.at());
  const Tensor number = source_of(*this, value, "index_fill");
  STRATA_CHECK(number.ndim() == 0, shape, "[index_fill] the value has shape ",
               render(number.shape()), ", it is no scalar");
  return put_slices(*this, axis, index, number, {}, "index_fill");
}

}  // namespace strata
