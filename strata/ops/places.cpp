// Tensors with other values in some places, and elements taken from places that strides name.

#include <algorithm>
#include <cmath>
#include <vector>

#include "strata/ops/meet.h"
#include "strata/ops/indexed.h"
#include "strata/ops/subscript.h"

namespace strata::ops {

namespace {

/// `self` with `source` where subscripts see just its shape.
Value put_where(const char* operation, const Value& self,
                 const std::vector<Subscript>& subscripts, const Value& source) {
  const Ints seen = index(self, subscripts).shape();
  STRATA_CHECK(source.shape() == seen, shape, "[", operation, "] a tensor of shape ",
               render(source.shape()), " into the shape ", render(seen));
  return index_put(self, subscripts, source.cast(self.dtype()), false);
}

/// All of the axes in front of one, which is seen through `last`.
std::vector<Subscript> up_to_axis(std::int64_t axis, const Subscript& last) {
  std::vector<Subscript> out;
  for (std::int64_t k = 0; k < axis; ++k) out.emplace_back(Slice{});
  out.push_back(last);
  return out;
}

std::int64_t axis_for(const char* operation, const Value& x, std::int64_t axis) {
  STRATA_CHECK(x.ndim() > 0, shape, "[", operation, "] a scalar has no axis ", axis);
  return axis_of(axis, x.ndim(), operation);
}

}  // namespace

Value Value::select_scatter(const Value& source, std::int64_t axis, std::int64_t index) const {
  const std::int64_t a = axis_for("select_scatter", *this, axis);
  return put_where("select_scatter", *this, up_to_axis(a, Int(index)), source);
}
Value Value::slice_scatter(const Value& source, std::int64_t axis, const Slice& slice) const {
  STRATA_CHECK(slice.step > 0, domain, "[slice_scatter] a step of ", slice.step);
  const std::int64_t a = axis_for("slice_scatter", *this, axis);
  return put_where("slice_scatter", *this, up_to_axis(a, slice), source);
}

/// What diag_embed() makes of the source, cut or padded to these matrices.
Value Value::diagonal_scatter(const Value& source, std::int64_t offset, std::int64_t axis1,
                                std::int64_t axis2) const {
  const Ints seen = diagonal(offset, axis1, axis2).shape();
  STRATA_CHECK(source.shape() == seen, shape, "[diagonal_scatter] a tensor of shape ",
               render(source.shape()), " into the shape ", render(seen));
  if (product(seen) == Int(0)) return *this;
  const std::int64_t a = axis_of(axis1, ndim(), "diagonal_scatter"),
                     b = axis_of(axis2, ndim(), "diagonal_scatter");
  const Value matrices = movedim({a, b}, {-2, -1});
  const Value square = source.cast(dtype()).diag_embed(offset);
  Padding around(shape().size(), {0, 0});
  around[around.size() - 2].second = matrices.size(-2) - square.size(-2);
  around[around.size() - 1].second = matrices.size(-1) - square.size(-1);
  const Value rows = counting(matrices.size(-2)).unsqueeze(1),
               columns = counting(matrices.size(-1));
  const Value out = (columns - rows).eq(offset).where(square.pad(around), matrices);
  return out.movedim({-2, -1}, {a, b});
}

Value Value::put(const Value& index, const Value& source, bool accumulate) const {
  STRATA_CHECK(index.numel() == source.numel(), shape, "[put] indices of shape ",
               render(index.shape()), " and values of shape ", render(source.shape()));
  STRATA_CHECK(source.dtype() == dtype(), domain, "[put] values of ", source.dtype().name(),
               " into a tensor of ", dtype().name());
  const Value places = wrapped(index, number_of(numel(), "put"), "put").flatten();
  const Combine combine{accumulate ? std::optional(Reduce::sum) : std::nullopt};
  if (numel() == Int(0) || index.numel() == Int(0)) return *this;
  return put_at(flatten(), places, source.flatten(), combine).reshape(shape());
}

Value Value::diagflat(std::int64_t offset) const {
  return flatten().diag(offset);
}

Value Value::as_strided(const Ints& to, const Ints& strides, const Int& offset) const {
  STRATA_CHECK(to.size() == strides.size(), shape, "[as_strided] ", strides.size(),
               " strides for shape ", render(to));
  Int least = offset, most = offset;
  Value places = new_full({}, 0).cast(dtypes::int64) + number_of(offset, "as_strided");
  for (std::size_t k = 0; k < to.size(); ++k) {
    const std::int64_t size = number_of(to[k], "as_strided"),
                       stride = number_of(strides[k], "as_strided");
    STRATA_CHECK(size >= 0, shape, "[as_strided] shape ", render(to));
    if (size > 0) (stride < 0 ? least : most) += Int(size - 1) * Int(stride);
    Ints along(to.size(), 1);
    along[k] = size;
    places = places + counting(size).reshape(along) * stride;
  }
  if (product(to) == Int(0)) return new_zeros(to);
  STRATA_CHECK(known(is_at_most(0, least)) && known(is_less(most, numel())), shape,
               "[as_strided] elements ", least.render(), " to ", most.render(), " of the ",
               numel().render(), " of shape ", render(shape()));
  return take(places);
}

// --- tensors made of numbers ---

Value Value::new_full(const Ints& to, Number value) const {
  return Value(LazyOp::constant(scalar_of(value, dtype()), to));
}
Value Value::new_zeros(const Ints& to) const { return new_full(to, 0); }
Value Value::new_ones(const Ints& to) const { return new_full(to, 1); }

Value Value::logspace(double begin, double end, std::int64_t steps, double base, DType dtype) {
  const Value powers =
      full({}, base, dtypes::float64).pow(linspace(begin, end, steps, dtypes::float64));
  const Value k = arange(steps);
  const Value to_last = k.lt(steps - 1).where(powers, std::pow(base, end));
  return k.lt(1).where(std::pow(base, begin), to_last).cast(dtype);
}

namespace {

/// Rows and columns of the places for which `holds`, whose number is known when the sizes are.
template <class F>
Value triangle_places(const char* operation, std::int64_t rows, std::int64_t columns, const F& range) {
  STRATA_CHECK(rows >= 0 && columns >= 0, shape, "[", operation, "] ", rows, " rows and ", columns,
               " columns");
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  std::vector<std::int64_t> row_of, column_of;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto [begin, end] = range(r);
    STRATA_CHECK(std::ssize(row_of) + std::max<std::int64_t>(end - begin, 0) + r <= kMost, budget,
                 "[", operation, "] more than ", kMost, " places");
    for (std::int64_t c = begin; c < end; ++c) row_of.push_back(r), column_of.push_back(c);
  }
  const std::int64_t count = std::ssize(row_of);
  row_of.insert(row_of.end(), column_of.begin(), column_of.end());
  return Value::from(row_of, {2, count});
}

/// The column behind the diagonal in a row.
std::int64_t behind_diagonal(std::int64_t row, std::int64_t offset, std::int64_t columns) {
  const std::int64_t near = std::clamp(offset, -(std::int64_t{1} << 61), std::int64_t{1} << 61);
  return std::clamp<std::int64_t>(row + near + 1, 0, columns);
}

}  // namespace

Value Value::tril_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset) {
  return triangle_places("tril_indices", rows, columns, [&](std::int64_t r) {
    return std::pair<std::int64_t, std::int64_t>(0, behind_diagonal(r, offset, columns));
  });
}
Value Value::triu_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset) {
  return triangle_places("triu_indices", rows, columns, [&](std::int64_t r) {
    return std::pair(behind_diagonal(r - 1, offset, columns), columns);
  });
}

}  // namespace strata::ops
