// Tensors with other values in some places, and elements taken from places that strides name.

#include <algorithm>
#include <cmath>
#include <vector>

#include "strata/tensor/access.h"
#include "strata/tensor/indexed.h"

namespace strata {

namespace {

/// `self` with `source` where subscripts see just its shape.
Tensor put_where(const char* operation, const Tensor& self,
                 const std::vector<Subscript>& subscripts, const Tensor& source) {
  const Ints seen = self.index(subscripts).shape();
  STRATA_CHECK(source.shape() == seen, shape, "[", operation, "] a tensor of shape ",
               render(source.shape()), " into the shape ", render(seen));
  return self.index_put(std::span<const Subscript>(subscripts), source);
}

/// All of the axes in front of one, which is seen through `last`.
std::vector<Subscript> up_to_axis(std::int64_t axis, const Subscript& last) {
  std::vector<Subscript> out;
  for (std::int64_t k = 0; k < axis; ++k) out.emplace_back(Slice{});
  out.push_back(last);
  return out;
}

std::int64_t axis_for(const char* operation, const Tensor& x, std::int64_t axis) {
  STRATA_CHECK(x.ndim() > 0, shape, "[", operation, "] a scalar has no axis ", axis);
  return axis_of(axis, x.ndim(), operation);
}

}  // namespace

Tensor Tensor::select_scatter(const Tensor& source, std::int64_t axis, std::int64_t index, At at) const {
  const OriginScope scope("select_scatter", at);
  const std::int64_t a = axis_for("select_scatter", *this, axis);
  return put_where("select_scatter", *this, up_to_axis(a, index), source);
}
Tensor Tensor::slice_scatter(const Tensor& source, std::int64_t axis, const Slice& slice, At at) const {
  const OriginScope scope("slice_scatter", at);
  STRATA_CHECK(slice.step > 0, domain, "[slice_scatter] a step of ", slice.step);
  const std::int64_t a = axis_for("slice_scatter", *this, axis);
  return put_where("slice_scatter", *this, up_to_axis(a, slice), source);
}

/// What diag_embed() makes of the source, cut or padded to these matrices.
Tensor Tensor::diagonal_scatter(const Tensor& source, std::int64_t offset, std::int64_t axis1,
                                std::int64_t axis2, At at) const {
  const OriginScope scope("diagonal_scatter", at);
  const Ints seen = diagonal(offset, axis1, axis2).shape();
  STRATA_CHECK(source.shape() == seen, shape, "[diagonal_scatter] a tensor of shape ",
               render(source.shape()), " into the shape ", render(seen));
  if (product(seen) == Int(0)) return own(*this);
  const std::int64_t a = axis_of(axis1, ndim(), "diagonal_scatter"),
                     b = axis_of(axis2, ndim(), "diagonal_scatter");
  const Tensor matrices = movedim({a, b}, {-2, -1});
  const Tensor square = source.cast(dtype()).diag_embed(offset);
  Padding around(shape().size(), {0, 0});
  around[around.size() - 2].second = matrices.size(-2) - square.size(-2);
  around[around.size() - 1].second = matrices.size(-1) - square.size(-1);
  const Tensor rows = counting(matrices.size(-2), *this).unsqueeze(1),
               columns = counting(matrices.size(-1), *this);
  const Tensor out = (columns - rows).eq(offset).where(square.pad(around), matrices);
  return out.movedim({-2, -1}, {a, b});
}

Tensor Tensor::put(const Tensor& index, const Tensor& source, bool accumulate, At at) const {
  const OriginScope scope("put", at);
  STRATA_CHECK(index.numel() == source.numel(), shape, "[put] indices of shape ",
               render(index.shape()), " and values of shape ", render(source.shape()));
  STRATA_CHECK(source.dtype() == dtype(), domain, "[put] values of ", source.dtype().name(),
               " into a tensor of ", dtype().name());
  const Tensor places = wrapped(index, number_of(numel(), "put"), "put").flatten();
  const Combine combine{accumulate ? std::optional(Reduce::sum) : std::nullopt};
  if (numel() == Int(0) || index.numel() == Int(0)) return own(*this);
  return put_at(flatten(), places, source.flatten(), combine).reshape(shape());
}

Tensor Tensor::diagflat(std::int64_t offset, At at) const {
  const OriginScope scope("diagflat", at);
  return flatten().diag(offset);
}

Tensor Tensor::as_strided(const Ints& to, const Ints& strides, const Int& offset, At at) const {
  const OriginScope scope("as_strided", at);
  STRATA_CHECK(to.size() == strides.size(), shape, "[as_strided] ", strides.size(),
               " strides for shape ", render(to));
  Int least = offset, most = offset;
  Tensor places = new_full({}, 0).cast(dtypes::int64) + number_of(offset, "as_strided");
  for (std::size_t k = 0; k < to.size(); ++k) {
    const std::int64_t size = number_of(to[k], "as_strided"),
                       stride = number_of(strides[k], "as_strided");
    STRATA_CHECK(size >= 0, shape, "[as_strided] shape ", render(to));
    if (size > 0) (stride < 0 ? least : most) += Int(size - 1) * Int(stride);
    Ints along(to.size(), 1);
    along[k] = size;
    places = places + counting(size, *this).reshape(along) * stride;
  }
  if (product(to) == Int(0)) return new_zeros(to);
  STRATA_CHECK(known(is_at_most(0, least)) && known(is_less(most, numel())), shape,
               "[as_strided] elements ", least.render(), " to ", most.render(), " of the ",
               numel().render(), " of shape ", render(shape()));
  return take(places);
}

// --- tensors made of numbers ---

Tensor Tensor::new_full(const Ints& to, Number value, At at) const {
  const OriginScope scope("new_full", at);
  return TensorAccess::of(LazyOp::constant(scalar_of(value, dtype()), to), *this);
}
Tensor Tensor::new_zeros(const Ints& to, At at) const { return new_full(to, 0, at); }
Tensor Tensor::new_ones(const Ints& to, At at) const { return new_full(to, 1, at); }
Tensor Tensor::new_empty(const Ints& to, At at) const {
  const OriginScope scope("new_empty", at);
  return TensorAccess::of(LazyOp::empty(dtype(), to), *this);
}

Tensor Tensor::logspace(double begin, double end, std::int64_t steps, double base, DType dtype, At at) {
  const OriginScope scope("logspace", at);
  const Tensor powers =
      full({}, base, dtypes::float64).pow(linspace(begin, end, steps, dtypes::float64));
  const Tensor k = arange(steps);
  const Tensor to_last = k.lt(steps - 1).where(powers, std::pow(base, end));
  return k.lt(1).where(std::pow(base, begin), to_last).cast(dtype);
}

namespace {

/// Rows and columns of the places for which `holds`, whose number is known when the sizes are.
template <class F>
Tensor triangle_places(const char* operation, std::int64_t rows, std::int64_t columns, const F& range) {
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
  return Tensor::from(row_of, {2, count});
}

/// The column behind the diagonal in a row.
std::int64_t behind_diagonal(std::int64_t row, std::int64_t offset, std::int64_t columns) {
  const std::int64_t near = std::clamp(offset, -(std::int64_t{1} << 61), std::int64_t{1} << 61);
  return std::clamp<std::int64_t>(row + near + 1, 0, columns);
}

}  // namespace

Tensor Tensor::tril_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset, At at) {
  const OriginScope scope("tril_indices", at);
  return triangle_places("tril_indices", rows, columns, [&](std::int64_t r) {
    return std::pair<std::int64_t, std::int64_t>(0, behind_diagonal(r, offset, columns));
  });
}
Tensor Tensor::triu_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset, At at) {
  const OriginScope scope("triu_indices", at);
  return triangle_places("triu_indices", rows, columns, [&](std::int64_t r) {
    return std::pair(behind_diagonal(r - 1, offset, columns), columns);
  });
}

}  // namespace strata
