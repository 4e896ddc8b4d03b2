// Scattering: values combined into places that index tensors name. A SCATTER goes along the values one after another:
// the time is linear, and the order of sums that of the values, or of parts of a long row (summed()).

#include <algorithm>
#include <array>
#include <limits>

#include "strata/ops/at_hand.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

constexpr std::int64_t kTables = 8, kMostInTables = 2048, kFewestForTables = 4096;
// Parts of a row that threads share, each with tables of its own; a part has many more values than its tables places.
constexpr std::int64_t kMostShares = 8, kFewestForShares = 1 << 17, kValuesOfAPlace = 128;

/// A reduction over the last axis, which is removed.
Value reduced(Ops op, const Value& x) { return Value(LazyOp::reduce(op, x.node(), {x.ndim() - 1})).squeeze(-1); }

Ops reduction_of(Reduce how) {
  using enum Reduce;
  return how == prod ? Ops::PROD : how == amax ? Ops::REDUCE_MAX : how == amin ? Ops::REDUCE_MIN : Ops::SUM;
}

/// The identity of the reduction `how`, a scalar in the dtype of `like`.
Value identity(Reduce how, const Value& like) {
  return Value(LazyOp::constant(identity_of(reduction_of(how), like.dtype()), Ints{}));
}

Value scatter(Ops op, const Value& target, const Value& index, const Value& values, std::int64_t axis) {
  return Value(LazyOp::scatter(op, target.node(), index.node(), values.node(), axis));
}
/// The elements of `values` along the axis that the index says; 0 where it is outside.
Value picked_along(const Value& values, const Value& index, std::int64_t axis) {
  return picked(with_last(values, axis).unsqueeze(-2), with_last(index, axis)).movedim({-1}, {axis});
}
/// 0, 1, 2, ... along the axis of `like`, i64.
Value places_along(const Value& like, std::int64_t axis) {
  Ints along(like.shape().size(), 1);
  along[static_cast<std::size_t>(axis)] = like.size(axis);
  return counting(like.size(axis)).reshape(along).broadcast_to(like.shape());
}

/// The operands of put_at(), in the shapes of LazyOp::scatter().
struct Puts {
  Value target, index, source;
  std::int64_t axis;

  Value put(Ops op, const Value& into, const Value& values) const { return scatter(op, into, index, values, axis); }
  /// Whether any value goes to the place.
  Value hit() const {
    return put(Ops::NOOP, target.full_like(0).cast(dtypes::boolean), index.full_like(1).cast(dtypes::boolean));
  }
  /// What the values are combined with: the target; without include_self the identity at places that are hit.
  Value before(const Combine& combine) const {
    return combine.include_self ? target : hit().where(identity(*combine.how, target), target);
  }
};

/// The parts of a row of `count` values that are summed into `places` places.
std::int64_t parts_of(std::int64_t count, std::int64_t places) {
  if (count < kFewestForShares) return 1;
  return std::clamp<std::int64_t>(count / kValuesOfAPlace / std::max<std::int64_t>(places, 1), 1, kMostShares);
}

/// A long row of sums into few places goes to several tables in turn, and these are added up: an element that is hot
/// waits for itself otherwise. The parts of a very long row have tables of their own, so that threads share the row.
Value summed(const Puts& p, const Value& before) {
  const Int& count = p.index.size(p.axis);
  const bool is_row = p.target.ndim() == 1 && count.is_number() && p.target.numel().value() <= kMostInTables &&
                      count.value() >= kFewestForTables;
  const std::int64_t parts = is_row ? parts_of(count.value(), p.target.numel().value()) : 1;
  if (!is_row || (parts == 1 && !p.target.dtype().is_float())) return p.put(Ops::SUM, before, p.source);
  const std::int64_t each = (count.value() + parts * kTables - 1) / (parts * kTables);
  const Padding rest = {{0, parts * kTables * each - count}};
  const Ints rows = {parts, kTables, each}, tables = {parts, kTables, before.size(0)};
  const Value index = p.index.pad(rest, PadMode::constant, -1).reshape(rows), values = p.source.pad(rest).reshape(rows);
  const Value zeros = Value(LazyOp::constant(Scalar::of(before.dtype(), std::int64_t{0}), tables));
  return before + scatter(Ops::SUM, zeros, index, values, 2).sum(Axes{0, 1}).cast(before.dtype());
}

Value averaged(const Puts& p, const Combine& combine) {
  const Value one = p.index.full_like(1).cast(dtypes::int64);
  const Value none = p.target.full_like(combine.include_self ? 1 : 0).cast(dtypes::int64);
  const Value count = p.put(Ops::SUM, none, one), total = summed(p, p.before(combine)), safe = count.maximum(1);
  return p.target.dtype().is_float() ? total / safe.cast(total.dtype()) : total.floor_divide(safe).cast(total.dtype());
}

/// Tracked products, by comparing each place with each value: the gradient and its gradients are right at zeros, too.
Value multiplied_by_pairs(const Puts& p, const Combine& combine) {
  const Value index = with_last(p.index, p.axis), target = with_last(p.before(combine), p.axis);
  const Value goes = index.unsqueeze(-2).eq(counting(target.size(-1)).unsqueeze(1));
  const Value factors = goes.where(with_last(p.source, p.axis).unsqueeze(-2), identity(Reduce::prod, p.target));
  return (target * reduced(Ops::PROD, factors)).movedim({-1}, {p.axis});
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
  const Value places = wrapped(index, self.size(a), operation);
  const Value values = is_number ? source.reshape(Ints(taken.size(), 1)) : source.shrink(taken).pad(around);
  return put_at(self, a, places.pad(around, PadMode::constant, -1), values, combine);
}

/// index_copy() and its relatives: the index has one dimension, and its entries place whole slices of `source`.
Value put_slices(const Value& self, std::int64_t axis, const Value& index, const Value& source, const Combine& combine,
                 const char* operation) {
  if (self.ndim() == 0)
    return put_slices(self.reshape({1}), axis, index, source.reshape({-1}), combine, operation).reshape({});
  const std::int64_t a = axis_of(axis, self.ndim(), operation);
  const Value places = wrapped(index.atleast_1d(), self.size(a), operation);
  STRATA_CHECK(places.ndim() == 1, shape, "[", operation, "] indices have one dimension, not shape ",
               render(index.shape()));
  Ints sizes = self.shape();
  sizes[static_cast<std::size_t>(a)] = places.size(0);
  const bool is_number = source.ndim() == 0 && self.ndim() > 0;
  STRATA_CHECK(is_number || source.shape() == sizes, shape, "[", operation, "] values of shape ",
               render(source.shape()), " do not fill shape ", render(sizes));
  const Value values = is_number ? source.reshape(Ints(sizes.size(), 1)) : source;
  Ints along(sizes.size(), 1);
  along[static_cast<std::size_t>(a)] = places.size(0);
  return put_at(self, a, places.reshape(along), values, combine);
}

Value mask_beside(const Value& mask, const Ints& shape, const char* operation) {
  STRATA_CHECK(mask.dtype().is_bool(), domain, "[", operation, "] the mask has dtype ", mask.dtype().name(),
               ", not bool");
  return mask.broadcast_to(shape);
}

}  // namespace

Value put_at(const Value& target, std::int64_t axis, const Value& index, const Value& source, const Combine& combine) {
  const bool adds_up = combine.how && *combine.how != Reduce::amax && *combine.how != Reduce::amin;
  if (adds_up && target.dtype().is_float() && target.itemsize() == 2)  // in f32: the result is rounded once
    return put_at(target.cast(dtypes::float32), axis, index, source.cast(dtypes::float32), combine)
        .cast(target.dtype());
  const std::int64_t a = axis < 0 ? axis + target.ndim() : axis;
  if (!target.size(a).is_number())
    return put_at(with_largest(target, a), a, index, source, combine).narrow(a, 0, target.size(a));
  Ints shape = target.shape();
  shape[static_cast<std::size_t>(a)] = index.size(a - target.ndim());
  const Puts p{target, index.broadcast_to(shape), source.broadcast_to(shape), a};
  if (!combine.how) return p.put(Ops::NOOP, target, p.source);
  switch (*combine.how) {
    case Reduce::sum: return summed(p, p.before(combine));
    case Reduce::mean: return averaged(p, combine);
    case Reduce::prod:
      if (p.target.is_tracked() || p.source.is_tracked()) return multiplied_by_pairs(p, combine);
      [[fallthrough]];
    case Reduce::amax:
    case Reduce::amin: return p.put(reduction_of(*combine.how), p.before(combine), p.source);
  }
  throw Error(ErrorKind::domain, "[scatter_reduce] there is no such reduction");
}

std::vector<std::optional<LazyOp>> scatter_gradients(const LazyOp& y, const LazyOp& dy) {
  const auto [op, axis] = std::get<AxisArg>(y.arg());
  const Value before(y.src(0)), index(y.src(1)), values(y.src(2)), by_y(dy);
  switch (op) {
    case Ops::SUM: return {dy, std::nullopt, picked_along(by_y, index, axis).node()};
    case Ops::NOOP: {  // to the last value of each place, or to the target where there is none
      const Value at = places_along(index, axis), none = before.full_like(-1).cast(dtypes::int64);
      const Value last = scatter(op, none, index, at, axis);
      const Value is_last =
          picked_along(last, index, axis).eq(at) & is_within(index, y.shape()[static_cast<std::size_t>(axis)].value());
      return {last.lt(0).where(by_y, 0).node(), std::nullopt, is_last.where(picked_along(by_y, index, axis), 0).node()};
    }
    case Ops::PROD:
      throw Error(ErrorKind::domain,
                  "[gradient] a SCATTER of products has none: put_at() multiplies tracked values otherwise");
    default: {  // in equal parts to all that equal the result
      const Value result = Value(y).detach(), chosen = picked_along(result, index, axis);
      const Value is_self = before.detach().eq(result);
      const Value is_value =
          values.detach().eq(chosen) & is_within(index, y.shape()[static_cast<std::size_t>(axis)].value());
      const DType wide = dy.dtype().itemsize() == 2 ? dtypes::float32 : dy.dtype();
      const Value count = scatter(Ops::SUM, is_self.cast(wide), index, is_value.cast(wide), axis);
      const Value share = (by_y.cast(wide) / count.maximum(1)).cast(dy.dtype());
      return {is_self.where(share, 0).node(), std::nullopt, is_value.where(picked_along(share, index, axis), 0).node()};
    }
  }
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
