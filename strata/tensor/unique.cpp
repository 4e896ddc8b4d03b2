// unique() and unique_consecutive() of elements or slices.

#include "strata/ops/indexed.h"
#include "strata/tensor/front.h"
#include "strata/tensor/nonzero.h"

namespace strata {

namespace {

using front::Value, ops::number_of;

/// (n): the permutation that sorts the rows of (n, m) lexicographically. Each row counts the rows in front of it (all
/// pairs are compared).
Value order_of_rows(const Value& rows) {
  const Value keys = ops::order_keys(rows, false);
  const Value own = keys.unsqueeze(1), other = keys.unsqueeze(0);  // (n, n, m)
  const Int& m = keys.size(1);
  const Value column = ops::counting(m);
  const Value first = own.ne(other).where(column, m.value()).min(-1, true);
  const Value is_less = (other.lt(own) & column.eq(first)).any(-1), is_same = first.squeeze(-1).eq(m.value());
  const Value place = ops::counting(keys.size(0));
  const Value rank = (is_less | (is_same & place.lt(place.unsqueeze(1)))).sum(-1);
  return place.scatter(0, rank, place);
}

/// Groups of equal neighbouring rows (n, m). `order`: the original position of each row, in each group in increasing
/// order; none: the rows are in their original order.
Tensor::Unique groups_of(const Tensor& rows, const std::optional<Tensor>& order) {
  const std::int64_t n = number_of(rows.size(0), "unique");
  if (n == 0) {
    const Tensor none = Tensor::arange(0).to(rows.device());
    return {rows, none, none, none};
  }
  const Tensor differs = rows.narrow(0, 1, n - 1).ne(rows.narrow(0, 0, n - 1)).any(1);
  const Tensor is_new = differs.pad({{1, 0}}, Tensor::PadMode::constant, true);
  const Tensor begins = nonzero_indices(is_new);
  const Tensor group = is_new.cast(dtypes::int64).cumsum(0) - 1;
  const Tensor ends = begins.narrow(0, 1, begins.size(0) - Int(1)).pad({{0, 1}}, Tensor::PadMode::constant, n);
  return {rows.index_select(0, begins), order ? group.scatter(0, *order, group) : group, ends - begins,
          order ? order->index_select(0, begins) : begins};
}

void check_numbers(const Tensor& x, const char* operation) {
  for (const Int& size : x.shape()) number_of(size, operation);
}

/// Slices along an axis as rows (n, m), and back.
Tensor slices_of(const Tensor& x, std::int64_t axis) {
  const Tensor first = x.movedim({axis}, {0});
  Ints rest = first.shape();
  rest.erase_at(0);
  return first.reshape({first.size(0), product(rest)});
}
Tensor from_slices(const Tensor& rows, const Tensor& like, std::int64_t axis) {
  Ints sizes = like.movedim({axis}, {0}).shape();
  sizes[0] = rows.size(0);
  return rows.reshape(sizes).movedim({0}, {axis});
}

}  // namespace

Tensor::Unique Tensor::unique(std::optional<std::int64_t> axis, At at) const {
  const OriginScope scope("unique", at);
  check_numbers(*this, "unique");
  if (!axis) {
    const auto [values, order] = detach().flatten().sort(0);
    const Unique u = groups_of(values.unsqueeze(1), order);
    return {u.values.squeeze(1), u.inverse.reshape(shape()), u.counts, u.first};
  }
  STRATA_CHECK(ndim() > 0, shape, "[unique] a scalar has no axis ", *axis);
  const std::int64_t a = axis_of(*axis, ndim(), "unique");
  const Tensor rows = slices_of(detach(), a), order = front::on_values("unique", at, order_of_rows, rows);
  const Unique u = groups_of(rows.index_select(0, order), order);
  return {from_slices(u.values, *this, a), u.inverse, u.counts, u.first};
}

Tensor::Unique Tensor::unique_consecutive(std::optional<std::int64_t> axis, At at) const {
  const OriginScope scope("unique_consecutive", at);
  check_numbers(*this, "unique_consecutive");
  if (!axis) {
    const Unique u = groups_of(detach().flatten().unsqueeze(1), {});
    return {u.values.squeeze(1), u.inverse.reshape(shape()), u.counts, u.first};
  }
  STRATA_CHECK(ndim() > 0, shape, "[unique_consecutive] a scalar has no axis ", *axis);
  const std::int64_t a = axis_of(*axis, ndim(), "unique_consecutive");
  const Unique u = groups_of(slices_of(detach(), a), {});
  return {from_slices(u.values, *this, a), u.inverse, u.counts, u.first};
}

}  // namespace strata
