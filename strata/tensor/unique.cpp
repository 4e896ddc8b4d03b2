// unique() and unique_consecutive() of elements or slices.

#include "strata/ops/indexed.h"
#include "strata/tensor/front.h"
#include "strata/tensor/nonzero.h"

namespace strata {

namespace {

using front::Value, ops::number_of;

/// (n, m): the rank of each element in its column, where equal elements have one rank.
Value ranks_of_columns(const Value& keys) {
  const Value places = keys.argsort(0), sorted = keys.gather(0, places);
  const Value row = ops::counting(keys.size(0)).unsqueeze(1);
  const Value is_new = row.gt(0) & sorted.ne(sorted.roll({1}, {0}));
  const Value ranks = is_new.cast(dtypes::int64).cumsum(0);
  return ranks.scatter(0, places, ranks);
}

/// (n): the permutation that sorts the rows of (n, m) lexicographically. The ranks of two columns beside each other
/// make a column of keys, until one column is left.
Value order_of_rows(const Value& rows) {
  Value keys = ops::order_keys(rows, false);
  const std::int64_t n = keys.size(0).value();
  if (n == 0 || keys.size(1) == Int(0)) return ops::counting(keys.size(0));
  for (std::int64_t m = keys.size(1).value(); m > 1; m = (m + 1) / 2) {
    const Value ranks = ranks_of_columns(keys).pad({{0, 0}, {0, m % 2}}).unflatten(1, {(m + 1) / 2, 2});
    keys = ranks.select(2, 0).mul(n).add(ranks.select(2, 1)).contiguous();
  }
  return keys.squeeze(1).argsort(0);
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
    values.realize();  // for the mask of what is new, and for the elements
    const Unique u = groups_of(values.unsqueeze(1), order);
    return {u.values.squeeze(1), u.inverse.reshape(shape()), u.counts, u.first};
  }
  STRATA_CHECK(ndim() > 0, shape, "[unique] a scalar has no axis ", *axis);
  const std::int64_t a = axis_of(*axis, ndim(), "unique");
  const Tensor rows = slices_of(detach(), a), order = front::on_values("unique", at, order_of_rows, rows);
  order.realize();
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
